"""What holds of every sequence of frames that the client of a half-duplex call is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LAST = ("stopped", "timeout")


def check(frames: Sequence[dict[str, Any]]) -> None:
    """The laws of a call."""
    speaking = answering = prepared = False
    chunks = turns = 0
    words = ""
    for place, frame in enumerate(frames):
        match frame["type"]:
            case "prepared":
                assert not answering
                prepared, turns = True, 0
            case "vad_state":
                assert prepared
                assert frame["speaking"] != speaking, "said on edges only"
                speaking = not speaking
            case "generating":
                assert prepared
                assert not answering
                answering, chunks, words = True, 0, ""
                assert frame["speech_duration_ms"] > 0
            case "chunk":
                assert answering
                assert frame["chunk_index"] == chunks
                chunks += 1
                words += frame["text_delta"] or ""
                answering = not frame["is_final"]
                assert answering or (frame["text_delta"], frame["audio_data"]) == (None, None)
            case "turn_done":
                assert not answering
                assert frames[place - 1]["is_final"]
                turns += 1
                assert (frame["turn_index"], frame["text"]) == (turns, words)
            case "timeout" | "stopped":
                assert not answering
                assert place == len(frames) - 1
            case kind:
                assert kind == "error"
                assert frame["code"]
