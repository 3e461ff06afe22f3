"""`[joyvl]`: how the server's watchers watch, by the names that the reference's command line has for it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from msgspec import Meta, Struct

from antiphon.actors.modes.joyvl import delegating, summing
from antiphon.events.vocabulary import WatchOptions

Persona = Literal["default", "silent", "talkative"]
Count = Annotated[int, Meta(ge=1)]


class JoyVL(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[joyvl]`. The models are those of the stage: the one that answers watches."""

    main_model: str = "JoyAI-VL-Interaction-Preview"
    """What clients are told that the model is called."""
    persona: Persona = "default"
    """How a session behaves until its client says otherwise."""
    chunk_frames: Annotated[int, Meta(ge=1, le=256)] = 100
    """Frames that the model is shown at most, those of the present chunk; then they are summed up."""
    response_dedup_threshold: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """A reply that is so much like the one before, from 0 to 1, is silence."""
    max_tokens: Count = 128
    """Of a reply."""
    temperature: Annotated[float, Meta(ge=0, le=2)] = 0.8
    """Of replies and of summaries of frames."""
    memory: bool = True
    """Whether chunks that are over are summed up."""
    force_silence: bool = True
    """Whether the model is asked nothing before there has been a query."""
    delegation_kind: Literal["", "chat", "image", "edit", "router", "stub"] = ""
    """Who answers what is delegated; without it the endpoint `delegation`, where there is one."""
    max_pixels: Count = 262_144
    """To which the model's server is asked to reduce a frame."""
    session_timeout_seconds: Annotated[float, Meta(ge=0)] = 3_600.0
    """A session that nobody shows anything for so long is over; 0: never."""

    def options(self, endpoints: Collection[str]) -> WatchOptions:
        """`endpoints` are the further ones of the stage, by name."""
        kind = self.delegation_kind or ("chat" if delegating.ENDPOINTS["chat"] in endpoints else "")
        return WatchOptions(
            persona=self.persona,
            force_silence=self.force_silence,
            memory=self.memory,
            chunk_frames=self.chunk_frames,
            max_pixels=self.max_pixels,
            dedup_threshold=self.response_dedup_threshold,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            summarizer=summing.ENDPOINT in endpoints,
            delegation=kind or None,
            idle_s=self.session_timeout_seconds,
        )
