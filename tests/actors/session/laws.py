"""What holds of every log and of every sequence of frames, whatever happened. Reads facts, folds nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from antiphon.events import vocabulary as v
from antiphon.events.envelope import Stored
from antiphon.projections.duplex.projection import DuplexProjection
from antiphon.projections.realtime import frames as f
from antiphon.projections.realtime.step import View, step

OF_A_RESPONSE = (v.TextSpoken, v.AudioSpoken, v.AnswerRouted, v.ToolCalled, v.ResponseEnded)

AFTER_THE_END = (
    v.ClientDetached, v.FramesSent, v.WriterOpened, v.StageOpened, v.StageReleased, v.StageRefused, v.StageLost,
    v.StageAway,
)  # fmt: skip


def check_events(log: Sequence[Stored]) -> None:
    """The laws of a log."""
    assert [stored.seq for stored in log] == list(range(len(log)))
    _time_and_fence_never_fall(log)
    _responses_have_one_end(log)
    _audio_runs_on(log)
    _void_epochs_are_silent(log)
    _nothing_is_said_twice(log)
    _nothing_follows_the_end(log)
    _updates_are_settled_in_order(log)
    _overlaps_are_decided_where_asked_for(log)
    check_units(log)


def _time_and_fence_never_fall(log: Sequence[Stored]) -> None:
    walls = [stored.at.wall_ns for stored in log]
    assert walls == sorted(walls)
    boot, mono, epoch, turn = "", 0, 0, 0
    for stored in log:
        event = stored.event
        if isinstance(event, v.WriterOpened) and event.boot != boot:
            boot, mono = event.boot, 0
        assert stored.at.mono_ns >= mono
        mono = stored.at.mono_ns
        if isinstance(event, v.EpochAdvanced):
            assert event.cancelled.epoch == epoch
            assert event.next.epoch == epoch + 1
            epoch = event.next.epoch
        if isinstance(event, v.ResponseCreated):
            assert event.fence.epoch == epoch
            assert event.fence.turn == turn + 1
            turn = event.fence.turn


def _responses_have_one_end(log: Sequence[Stored]) -> None:
    live: str | None = None
    seen: set[str] = set()
    over = False
    for event in (stored.event for stored in log):
        if isinstance(event, v.ResponseCreated):
            assert live is None, "two responses at a time"
            assert event.response not in seen
            live = event.response
            seen.add(live)
        elif isinstance(event, OF_A_RESPONSE):
            assert event.response == live, f"{event} of a response that is not under way"
            if isinstance(event, v.ResponseEnded):
                live = None
        elif isinstance(event, v.SessionClosed | v.SessionExpired | v.SessionFailed):
            assert live is None, "the session ended before its answer"
            assert not over, "ended twice"
            over = True


def _audio_runs_on(log: Sequence[Stored]) -> None:
    ends: dict[str, int] = {}
    sent: dict[str, int] = {}
    appended = committed = 0
    reported: dict[int, int] = {}
    for event in (stored.event for stored in log):
        match event:
            case v.AudioSpoken(response=response, samples=samples, until_sample=until):
                assert until == ends.get(response, 0) + samples
                ends[response] = until
            case v.TextSpoken(response=response, from_sample=start):
                assert start == ends.get(response, 0)
            case v.FramesSent(attachment=number, through=through, audio=audio):
                assert through > reported.get(number, -1)
                reported[number] = through
                for one in audio:
                    assert sent.get(one.response, 0) < one.until_sample <= ends.get(one.response, 0)
                    sent[one.response] = one.until_sample
            case (
                v.PlaybackAcknowledged(response=response, heard_ms=ms)
                | v.PlaybackEstimated(response=response, heard_ms=ms)
            ):
                assert ms <= ends.get(response, 0) // 24
            case v.InputAppended(samples=samples, until_sample=until):
                assert until == appended + samples
                appended = until
            case v.InputCommitted(from_sample=start, until_sample=until):
                assert committed <= start < until <= appended
                committed = until
            case v.InputCleared(until_sample=until):
                committed = until


def _nothing_follows_the_end(log: Sequence[Stored]) -> None:
    over = False
    for event in (stored.event for stored in log):
        assert not over or isinstance(event, AFTER_THE_END), f"{event} after the end"
        over = over or isinstance(event, v.SessionClosed | v.SessionExpired | v.SessionFailed)


def _updates_are_settled_in_order(log: Sequence[Stored]) -> None:
    """A generation is the next, it was proposed if the stage had to agree, and a refused one changes nothing."""
    generation, waiting, able = 0, [], v.Abilities(stage="", hears="utterances")
    for event in (stored.event for stored in log):
        match event:
            case v.SessionOpened(abilities=abilities):
                able = abilities
            case v.ConfigProposed(generation=proposed):
                assert proposed == generation + len(waiting) + 1
                waiting.append(proposed)
            case v.SessionConfigured(generation=settled) if settled != generation:
                assert settled == generation + 1
                if able.confirms_config:
                    assert waiting.pop(0) == settled
                generation = settled
            case v.ConfigRefused(generation=refused) if refused is not None:
                waiting.remove(refused)


def _overlaps_are_decided_where_asked_for(log: Sequence[Stored]) -> None:
    """And whoever is let in has the word."""
    config = v.Config()
    for stored in log:
        event = stored.event
        if isinstance(event, v.SessionOpened | v.SessionConfigured):
            config = event.config
        if isinstance(event, v.OverlapDecided):
            assert config.overlap is not None
            following = log[stored.seq + 1].event if stored.seq + 1 < len(log) else None
            assert (event.action == "barge_in") <= isinstance(following, v.EpochAdvanced)


def check_units(log: Sequence[Stored]) -> None:
    """Whole units, in order, each once, none while another is under way (books.py), none after a failure."""
    size, last, broken, freed = 0, 0, False, -1
    refused: v.UnitSubmitted | None = None
    for seq, event in enumerate(stored.event for stored in log):
        match event:
            case v.SessionOpened(abilities=able):
                size = able.unit_ms * 24
            case v.UnitRefused(operation=operation):
                asked = log[operation].event
                if isinstance(asked, v.UnitSubmitted) and asked.work == "unit":
                    broken = event.code not in ("stale_fence", "stage_lost")
                    last = min(last, asked.from_sample)
                    had_input = asked.from_sample < asked.until_sample
                    refused = asked if had_input and freed < operation else None
            case v.InputAppended() | v.ResponseCreated():
                broken = False
            case (
                v.InputCleared()
                | v.ResponseEnded()
                | v.InputCommitted()
                | v.ItemRemoved()
                | v.SessionConfigured()
            ):
                freed, refused = seq, None  # what was rolled back need not be given any more
            case v.UnitSubmitted(work="unit", from_sample=start, until_sample=until, silence=silence):
                assert not broken, "a unit behind one that failed"
                assert start <= until
                assert until - start + silence == size
                assert start >= last or start == until
                last = max(last, until)
                if refused is not None and start < until:
                    assert start == refused.from_sample, "input was left out"
                    refused = None


def _void_epochs_are_silent(log: Sequence[Stored]) -> None:
    """Nothing of an earlier epoch after EpochAdvanced but what says that it was dropped."""
    epoch, created = 0, {}
    epochs = []
    for event in (stored.event for stored in log):
        epochs.append(epoch)
        if isinstance(event, v.ToolCalled | v.TurnEnded) or (
            isinstance(event, v.ModelListened) and event.operation is not None
        ):
            assert epochs[event.operation] == epoch, f"{event} of a void epoch"
        if isinstance(event, v.EpochAdvanced):
            epoch = event.next.epoch
        elif isinstance(event, v.ResponseCreated):
            created[event.response] = event.fence.epoch
        elif isinstance(event, v.AudioSpoken | v.TextSpoken):
            assert created[event.response] == epoch


def _nothing_is_said_twice(log: Sequence[Stored]) -> None:
    """(operation, index) removes duplicates: each stands in one batch, that is, at one moment of the log."""
    said: dict[tuple[int, int], int] = {}
    epoch = 0
    for stored in log:
        event = stored.event
        if isinstance(event, v.EpochAdvanced):
            epoch = event.next.epoch
        if isinstance(event, v.StageOutputDropped) and event.epoch == epoch:
            assert (event.operation, event.index) not in said, (
                "what the log holds is dropped as if it were void"
            )
        if isinstance(event, v.TextSpoken | v.AudioSpoken):
            key = (event.operation, event.index)
            last = said.get(key, stored.seq - 1)
            between = [log[seq].event for seq in range(last + 1, stored.seq)]
            assert all(
                isinstance(e, v.TextSpoken | v.AudioSpoken) and (e.operation, e.index) == key for e in between
            ), f"{key} is said twice"
            said[key] = stored.seq


# --- duplex frames ----------------------------------------------------------------------------------------


def check_duplex_frames(log: Sequence[Stored], cut: int) -> None:
    """The laws of a duplex connection that the core answers for: order, one end each, joined deltas. Whoever
    goes on from the view that was kept at the cut is shown the same."""
    frames = _duplex(log, cut)
    assert frames == _duplex(log, 0)
    numbers = [frame["server_event_seq"] for frame in frames]
    assert numbers == sorted(set(numbers))
    said: dict[str, str] = {}
    live: str | None = None
    seen: set[str] = set()
    for frame in frames:
        match frame["type"]:
            case "response.created":
                assert live is None
                live = frame["response_id"]
                assert live not in seen
                seen.add(live)
                said[live] = ""
            case "response.done":
                assert frame["response_id"] == live
                live = None
            case "response.output_audio_transcript.delta":
                assert frame["response_id"] == live
                said[live] += frame["delta"]
            case "response.output_audio_transcript.done":
                assert frame["transcript"] == said[frame["response_id"]]
            case "response.output_audio.delta":
                assert frame["response_id"] == live
            case "session.closed":
                assert frame is frames[-1]


def _duplex(log: Sequence[Stored], cut: int) -> list[dict[str, Any]]:
    projection, shown = DuplexProjection(), []
    view = projection.begin(1)
    for n, stored in enumerate(log):
        if n == cut:
            view = msgspec.msgpack.decode(msgspec.msgpack.encode(view), type=type(view))
        view, frames = projection.step(view, stored)
        shown += [wire(frame) for frame in frames]
    return shown


# --- frames -----------------------------------------------------------------------------------------------


def frames_of(log: Sequence[Stored], view: View | None = None) -> tuple[View, list[f.Frame]]:
    """What attachment 1 is shown of these events."""
    view, shown = view or View(attachment=1), []
    for stored in log:
        view, frames = step(view, stored)
        shown += frames
    return view, shown


def wire(frame: f.Frame) -> dict[str, Any]:
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(frame))
    return read


def check_frames(log: Sequence[Stored]) -> None:
    """The laws of a plain Realtime connection."""
    frames = [wire(frame) for frame in frames_of(log)[1]]
    numbers = [int(frame["event_id"].removeprefix("event_")) for frame in frames]
    assert numbers == sorted(set(numbers)), "event ids do not strictly increase"
    assert frames[0]["type"] == "session.created"
    known: set[str] = set()
    open_response: dict[str, Any] | None = None
    done: set[str] = set()
    for frame in frames:
        kind = frame["type"]
        if kind == "conversation.item.added":
            assert frame["previous_item_id"] is None or frame["previous_item_id"] in known
            assert frame["item"]["id"] not in known or frame["item"]["id"] == "own"
            known.add(frame["item"]["id"])
        if kind == "response.created":
            assert open_response is None
            open_response = {"id": frame["response"]["id"], "items": set(), "said": ""}
        elif kind == "response.done":
            assert open_response is not None
            assert open_response["id"] == frame["response"]["id"]
            done.add(open_response["id"])
            open_response = None
        elif kind.startswith("response."):
            assert open_response is not None, f"{kind} outside of a response"
            _of_response(frame, open_response, known)


def _of_response(frame: dict[str, Any], response: dict[str, Any], known: set[str]) -> None:
    kind = frame["type"]
    assert frame["response_id"] == response["id"]
    if kind == "response.output_item.added":
        response["items"].add(frame["item"]["id"])
        return
    item = frame["item"]["id"] if "item" in frame else frame["item_id"]
    assert item in response["items"], f"{kind} of an item that was not announced"
    assert item in known
    if kind in ("response.output_audio_transcript.delta", "response.output_text.delta"):
        response["said"] += frame["delta"]
    if kind == "response.output_audio_transcript.done":
        assert frame["transcript"] == response["said"]
    if kind == "response.output_text.done":
        assert frame["text"] == response["said"]
