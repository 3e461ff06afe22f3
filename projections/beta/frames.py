"""The frames that the beta called otherwise, beside those of projections/realtime that it already had."""

from __future__ import annotations

from antiphon.projections.realtime import frames as today
from antiphon.projections.realtime.frames import Frame, Json


class ItemCreated(Frame, frozen=True, kw_only=True, tag="conversation.item.created"):
    previous_item_id: str | None
    item: Json


class AudioDelta(today.AudioDelta, frozen=True, kw_only=True, tag="response.audio.delta"):
    pass


class AudioDone(today.AudioDone, frozen=True, kw_only=True, tag="response.audio.done"):
    pass


class TranscriptDelta(
    today.TranscriptDelta, frozen=True, kw_only=True, tag="response.audio_transcript.delta"
):
    pass


class TranscriptDone(today.TranscriptDone, frozen=True, kw_only=True, tag="response.audio_transcript.done"):
    pass


class TextDelta(today.TextDelta, frozen=True, kw_only=True, tag="response.text.delta"):
    pass


class TextDone(today.TextDone, frozen=True, kw_only=True, tag="response.text.done"):
    pass
