"""The dialects there are, by the name that ClientAttached records."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Projection
from .beta.projection import BetaProjection
from .duplex.projection import DuplexProjection
from .half_duplex.projection import HalfDuplexProjection
from .joyvl.projection import JoyvlProjection
from .native.projection import NativeProjection
from .personaplex.projection import AudioDuplexProjection, PersonaPlexProjection
from .realtime.projection import RealtimeProjection
from .video.projection import VideoProjection

DIALECTS: Mapping[str, Projection] = {
    "realtime": RealtimeProjection(),
    "realtime_beta": BetaProjection(),
    "duplex": DuplexProjection(),
    "native": NativeProjection(),
    "half_duplex": HalfDuplexProjection(),
    "personaplex": PersonaPlexProjection(),
    "audio_duplex": AudioDuplexProjection(),
    "video": VideoProjection(),
    "joyvl": JoyvlProjection(),
}


def versions() -> dict[str, int]:
    """What WriterOpened records: the version of each dialect's projection."""
    return {name: projection.version for name, projection in DIALECTS.items()}
