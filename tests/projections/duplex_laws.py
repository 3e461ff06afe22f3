"""What holds of every sequence of frames that a duplex client is shown. Reads frames, folds nothing of ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from antiphon.events.envelope import Stored
from antiphon.projections.base import Projection
from antiphon.projections.duplex.projection import DuplexProjection

BEGINS = [
    "response.created",
    "conversation.item.added",
    "conversation.item.created",
    "response.output_item.added",
    "response.content_part.added",
]
CONTENT = {
    "response.speak",
    "response.output_audio.delta",
    "response.output_audio_transcript.delta",
    "response.output_text.delta",
}
ONCE = {
    "response.speak",
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.output_text.done",
    "response.content_part.done",
    "response.done",
}
DUPLEX = DuplexProjection()


def frames_of(log: Iterable[Stored], projection: Projection = DUPLEX) -> list[dict[str, Any]]:
    """What attachment 1 is shown of these events, as it reads it."""
    return continued(projection.begin(1), log, projection)[1]


def continued(view: Any, log: Iterable[Stored], projection: Projection) -> tuple[Any, list[dict[str, Any]]]:
    """The view after these events, and what is shown of them."""
    shown: list[dict[str, Any]] = []
    for stored in log:
        view, frames = projection.step(view, stored)
        shown += [wire(frame) for frame in frames]
    return view, shown


def wire(frame: Any) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(frame))
    return read


def check(frames: Sequence[dict[str, Any]]) -> None:
    """The laws of a duplex connection."""
    numbers_rise(frames)
    _the_session_begins_and_ends(frames)
    _items_come_before_what_is_said_of_them(frames)
    _commits_fan_out_in_order(frames)
    responses: dict[str, Response] = {}
    epoch = 0
    for at, frame in enumerate(frames):
        epoch = max(epoch, frame.get("epoch", epoch))
        name = frame.get("response_id")
        if frame["type"] == "response.created":
            assert name not in responses, "an id is used twice"
            assert not any(one.open for one in responses.values()), "two responses at a time"
            responses[name] = Response(frames[at : at + len(BEGINS)])
        elif name is not None and frame["type"] != "output_audio_buffer.cleared":
            responses[name].take(frame, epoch)
        if frame["type"] == "response.done":
            assert frames[at + 1]["type"] == "rate_limits.updated"
        elif frame["type"] == "response.output_audio.delta":
            after = frames[at + 1]
            assert after["type"] == "response.output_audio_transcript.delta"
            assert after["response_id"] == name
        elif frame["type"] == "rate_limits.updated":
            assert frames[at - 1]["type"] == "response.done"


def numbers_rise(frames: Sequence[dict[str, Any]]) -> None:
    numbers = [frame["server_event_seq"] for frame in frames]
    assert numbers == sorted(set(numbers)), "numbers do not strictly rise"
    assert [frame["event_id"] for frame in frames] == [f"event_{number}" for number in numbers]


def _the_session_begins_and_ends(frames: Sequence[dict[str, Any]]) -> None:
    kinds = [frame["type"] for frame in frames]
    assert kinds[:2] == ["session.created", "session.updated"]
    assert kinds.count("session.created") == 1
    if "session.closed" in kinds:
        assert kinds.index("session.closed") == len(kinds) - 1, "something comes after the end"


def _items_come_before_what_is_said_of_them(frames: Sequence[dict[str, Any]]) -> None:
    added: set[str] = set()
    for at, frame in enumerate(frames):
        if frame["type"] == "conversation.item.added":
            assert frame["previous_item_id"] is None or frame["previous_item_id"] in added
            assert frames[at + 1]["type"] == "conversation.item.created"
            assert frames[at + 1]["item"] == frame["item"]
            added.add(frame["item"]["id"])
        elif frame["type"] in ("conversation.item.created", "conversation.item.done"):
            assert frame["item"]["id"] in added


def _commits_fan_out_in_order(frames: Sequence[dict[str, Any]]) -> None:
    for at, frame in enumerate(frames):
        if frame["type"] != "input_audio_buffer.committed":
            continue
        if not frame["event"].get("overlap_ack") and frame["event"]["is_speech"]:
            around = [one["type"].removeprefix("conversation.item.") for one in frames[at - 2 : at + 2]]
            assert around == ["added", "created", "input_audio_buffer.committed", "done"]
        elif "empty" not in frame["event"]:
            assert frames[at + 1]["type"] == "response.listen"
            assert frames[at + 1]["response"]["metadata"]["reason"] == "silence_or_noise"


class Response:
    """One response, as its frames come."""

    def __init__(self, begins: Sequence[dict[str, Any]]) -> None:
        created = begins[0]
        assert [frame["type"] for frame in begins] == BEGINS
        assert created["response"]["status"] == "in_progress"
        self.id, self.epoch, self.turn = created["response_id"], created["epoch"], created["turn_id"]
        self.item = begins[1]["item"]["id"]
        self.open, self.said, self.audio_ms = True, "", 0
        self.seen: list[str] = []
        self.calls: list[str] = []

    def take(self, frame: dict[str, Any], epoch: int) -> None:
        kind = frame["type"]
        assert self.open, f"{kind} after the end of {self.id}"
        assert (frame["epoch"], frame["turn_id"]) == (self.epoch, self.turn)
        if kind in ONCE:
            assert kind not in self.seen, f"{kind} twice"
        if kind in CONTENT:
            assert epoch == self.epoch, f"{kind} of an epoch that is over"
            self._content(kind, frame)
        elif kind.endswith("_transcript.done"):
            assert frame["transcript"] == self.said
            assert self.said
        elif kind == "response.output_text.done":
            assert frame["text"] == self.said
        elif kind == "response.output_audio.done":
            assert self.said or self.audio_ms
        elif kind == "response.done":
            self._done(frame)
        self.seen.append(kind)

    def _content(self, kind: str, frame: dict[str, Any]) -> None:
        assert frame["item_id"] == self.item
        if kind.endswith("text.delta") or kind.endswith("transcript.delta"):
            self.said += frame["delta"]
        if kind == "response.output_audio.delta":
            assert "response.speak" in self.seen
            assert frame["metadata"]["audio_duration_ms"] >= self.audio_ms
            assert frame["metadata"]["playback"]["generated_ms"] == frame["metadata"]["audio_duration_ms"]
            self.audio_ms = frame["metadata"]["audio_duration_ms"]

    def _done(self, frame: dict[str, Any]) -> None:
        self.open = False
        response = frame["response"]
        assert response["id"] == self.id
        assert response["status"] in ("completed", "cancelled", "failed", "incomplete")
        message = response["output"][0]
        assert message["id"] == self.item
        [part] = message["content"]
        kept = part.get("transcript", part.get("text"))
        assert self.said.startswith(kept), "an item says what was not said"
        if response["status"] == "completed":
            assert kept == self.said
