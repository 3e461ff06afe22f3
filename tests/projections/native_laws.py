"""What holds of every sequence of frames that a native client is shown. Reads frames, folds nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .duplex_laws import numbers_rise

ENDS = {"response.done", "audio.cancelled"}
AFTERWARDS = {"output_audio_buffer.cleared", "playback.acknowledged"}
"""What may still be said of a response that has ended."""
CONTENT = {"response.speak", "response.output_audio.delta", "response.text.delta"}
LAST = {"session.closed", "session.expired"}


def check(frames: Sequence[dict[str, Any]]) -> None:
    """The laws of a native connection."""
    numbers_rise(frames)
    _the_session_begins_and_ends(frames)
    _items_are_known_before_others_follow_them(frames)
    responses: dict[str, Response] = {}
    epoch = 0
    for frame in frames:
        epoch = max(epoch, frame.get("epoch", epoch))
        name = frame.get("response_id")
        if frame["type"] == "response.created":
            assert name not in responses, "an id is used twice"
            assert not any(one.is_open for one in responses.values()), "two responses at a time"
            responses[name] = Response(frame)
        elif name is not None and frame["type"] not in AFTERWARDS:
            responses[name].take(frame, epoch)
    if frames[-1]["type"] in LAST:
        assert not any(one.is_open for one in responses.values()), "a response without an end"


def _the_session_begins_and_ends(frames: Sequence[dict[str, Any]]) -> None:
    kinds = [frame["type"] for frame in frames]
    assert kinds[0] == "session.created"
    assert kinds.count("session.created") == 1
    assert not LAST & set(kinds[:-1]), "something comes after the end"


def _items_are_known_before_others_follow_them(frames: Sequence[dict[str, Any]]) -> None:
    known: set[str | None] = {None}
    for frame in frames:
        if "previous_item_id" in frame and "empty" not in frame:
            assert frame["previous_item_id"] in known
        match frame["type"]:
            case "conversation.item.created":
                known.add(frame["item"]["id"])
            case "input.committed":
                known.add(frame.get("realtime_item_id"))
            case "response.created" | "function_call.done":
                known.add(frame["item_id"])


class Response:
    """One response, as its frames come."""

    def __init__(self, created: dict[str, Any]) -> None:
        self.id, self.item = created["response_id"], created["item_id"]
        self.epoch, self.turn = created["epoch"], created["turn_id"]
        self.is_open, self.said, self.audio_ms = True, "", 0
        self.kept: str | None = None
        self.spoke = False

    def take(self, frame: dict[str, Any], epoch: int) -> None:
        kind = frame["type"]
        assert self.is_open, f"{kind} after the end of {self.id}"
        if kind != "response.listen":
            assert frame["turn_id"] == self.turn
            assert frame.get("cancelled_epoch", frame["epoch"]) == self.epoch
        if kind in CONTENT:
            assert self.kept is None, f"{kind} of an item that is done"
            assert epoch == self.epoch, f"{kind} of an epoch that is over"
            assert frame["item_id"] == self.item
            self._content(kind, frame)
        elif kind == "response.output_item.done":
            self._item_done(frame)
        elif kind in ENDS:
            self._end(frame)

    def _content(self, kind: str, frame: dict[str, Any]) -> None:
        if kind == "response.speak":
            assert not self.spoke
            self.spoke = True
            return
        self.said += frame["delta"] if kind == "response.text.delta" else frame["text"]
        if kind == "response.output_audio.delta":
            assert self.spoke
            assert not frame["text"] or frame["audio_duration_ms"] == self.audio_ms, "words are no audio"
            assert frame["audio_duration_ms"] == frame["playback"]["generated_ms"] >= self.audio_ms
            self.audio_ms = frame["audio_duration_ms"]

    def _item_done(self, frame: dict[str, Any]) -> None:
        assert self.kept is None
        assert frame["text"] == self.said, "the deltas, joined, are not the text"
        assert frame["item"]["id"] == frame["item_id"] == self.item
        [part] = frame["item"]["content"]
        self.kept = str(part.get("transcript", part.get("text")))
        assert self.said.startswith(self.kept), "an item says what was not said"

    def _end(self, frame: dict[str, Any]) -> None:
        self.is_open = False
        assert self.kept is not None, "it ends before its item"
        assert frame["item_id"] == self.item
        if frame["type"] == "audio.cancelled":
            assert frame["epoch"] >= frame["cancelled_epoch"]
            assert frame["committed_ms"] == frame["playback"]["committed_ms"]
            return
        assert frame["status"] in ("completed", "incomplete", "failed")
        if frame["status"] == "completed":
            assert self.kept == self.said
