"""Frames projected again are the frames that were sent, and where they are not, that is noticed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest
from msgspec.structs import replace

from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import Seq
from antiphon.events.memory import MemoryLog
from antiphon.events.store import Expect
from antiphon.events.vocabulary import ClientAttached, Event, FramesSent, SessionOpened, TextSpoken
from antiphon.projections.base import Digest, frame_number
from antiphon.projections.realtime.projection import RealtimeProjection
from antiphon.replay import sources
from antiphon.replay.verify import Verdict, verify
from tests.golden.corpus import GOLDEN

CALL = sources.of_recording(GOLDEN / "0.2.0" / "scripted.antiphon.zip")


def as_if_sent_today(events: Iterable[Stored]) -> Iterator[Stored]:
    """A recorded call of one attachment, with the digests of the frames that the present version makes."""
    projection, digest = RealtimeProjection(), Digest()
    view, waiting = projection.begin(1), deque[tuple[int, bytes, bytes]]()
    for stored in events:
        event = stored.event
        if isinstance(event, FramesSent):
            while waiting and waiting[0][0] <= event.through:
                number, *frame = waiting.popleft()
                if number not in event.withheld:
                    digest.add(*frame)
            sent = {"digest": digest.of_bytes(), "meaning": digest.of_meaning()}
            stored = replace(stored, event=replace(event, projection=projection.version, **sent))
        view, frames = projection.step(view, stored)
        for k, frame in enumerate(frames):
            encoded = projection.encode(frame), projection.meaning(frame, stored)
            waiting.append((frame_number(stored.seq, k), *encoded))
        yield stored


EVENTS = list(as_if_sent_today(CALL.log.read(CALL.session)))

Change = Callable[[Event], Event]


def verified(events: Sequence[Stored], change: Change = lambda event: event) -> Verdict:
    """The verdict on a log of these events, each changed as told. Audio counts by its checksum only."""
    log = MemoryLog()
    lease, _ = log.open(CALL.session, expect=Expect.NEW, owner="test")
    payload = {one.seq: CALL.log.read_blob(CALL.session, one.blob) for one in events if one.blob}
    for one in events:
        draft = Draft(change(one.event), one.at, payload.get(one.seq), one.cause)
        log.append(lease, Seq(one.seq), [draft]).result()
    return verify(log, CALL.session)


def reworded(event: Event) -> Event:
    return replace(event, text="Something else.") if isinstance(event, TextSpoken) else event


def reconfigured(event: Event) -> Event:
    """Shown to the client, and yet nothing that was said."""
    if isinstance(event, SessionOpened):
        return replace(event, config=replace(event.config, voice="another"))
    return event


def from_another_version(event: Event) -> Event:
    return replace(event, projection=99) if isinstance(event, FramesSent) else event


def test_what_was_sent_is_projected_again() -> None:
    verdict = verified(EVENTS)
    assert verdict.same
    assert verdict.frames > 50
    assert (verdict.weaker, verdict.unreported) == (0, 0)


@pytest.mark.parametrize("cut", range(len(EVENTS) + 1))
def test_a_log_that_ends_anywhere_is_the_same_as_far_as_it_goes(cut: int) -> None:
    assert verified(EVENTS[:cut]).same


def test_other_words_are_noticed_in_the_first_report_that_covers_them() -> None:
    difference = verified(EVENTS, reworded).difference
    assert difference is not None
    assert difference.what == "meaning"
    spoken = next(one.seq for one in EVENTS if isinstance(one.event, TextSpoken))
    reported = next(one.seq for one in EVENTS if isinstance(one.event, FramesSent) and one.seq > spoken)
    assert difference.seq == reported
    assert any(b"Something else." in frame for frame in difference.frames)


def test_other_bytes_with_the_same_meaning_are_noticed() -> None:
    difference = verified(EVENTS, reconfigured).difference
    assert difference is not None
    assert difference.what == "bytes"
    assert b'"another"' in difference.frames[0]


def test_of_another_version_only_the_meaning_counts() -> None:
    verdict = verified(EVENTS, lambda event: from_another_version(reconfigured(event)))
    assert verdict.same
    assert verdict.weaker == verdict.reports > 0
    worse = verified(EVENTS, lambda event: from_another_version(reworded(event))).difference
    assert worse is not None
    assert worse.what == "meaning"


def test_a_frame_that_was_taken_back_and_is_not_named_is_noticed() -> None:
    def forgetful(event: Event) -> Event:
        return replace(event, withheld=(event.through,)) if isinstance(event, FramesSent) else event

    assert not verified(EVENTS, forgetful).same


def test_a_dialect_that_nobody_knows_is_not_called_the_same() -> None:
    def foreign(event: Event) -> Event:
        return replace(event, dialect="klingon") if isinstance(event, ClientAttached) else event

    verdict = verified(EVENTS, foreign)
    assert verdict.unknown == ("klingon",)
    assert not verdict.same
