"""What a piece of input must be before an engine is given it."""

from __future__ import annotations

from antiphon.actors.stages.contract import Descriptor, Failed, Listen
from antiphon.events.units import BYTES_PER_SAMPLE, ms_to_samples

IMAGES_LIMIT = 8 * 1024 * 1024
"""Bytes of the images that come with one piece of input."""


def what_is_wrong(command: Listen, stage: Descriptor) -> Failed | None:
    """Why `stage` cannot be given this; None where nothing is wrong with it."""
    if command.images:
        if not stage.sees:
            return Failed("not_supported", f"stage {stage.name} takes no images")
        if sum(map(len, command.images)) > IMAGES_LIMIT:
            return Failed("too_large", f"images of more than {IMAGES_LIMIT} bytes with one piece of input")
    if stage.unit_ms and not command.whole:
        wanted = ms_to_samples(stage.unit_ms) * BYTES_PER_SAMPLE
        if len(command.pcm) != wanted:
            return Failed("bad_audio", f"a unit of {len(command.pcm)} bytes, this stage's have {wanted}")
    return None
