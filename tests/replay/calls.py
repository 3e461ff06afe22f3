"""Calls written into a log by hand: every moment and every sample is the test's own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from antiphon.events.envelope import Draft
from antiphon.events.ids import Fence, ItemId, Operation, ResponseId, Seq, SessionId
from antiphon.events.store import Expect, Lease, Log
from antiphon.events.units import SAMPLE_RATE, Millis, Moment, Samples
from antiphon.events.vocabulary import (
    Abilities,
    AudioSent,
    AudioSpoken,
    Config,
    Event,
    FramesSent,
    InputAppended,
    ItemTruncated,
    Outcome,
    PlaybackAcknowledged,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionOpened,
    WriterOpened,
)

MS = 1_000_000
BEGAN_NS = 5_000 * MS
WALL_NS = 1_790_000_000 * 1_000_000_000
"""What the wall's clock shows when the monotonic one shows 0."""


def tone(samples: int, hz: int = 440) -> bytes:
    """A sine of 16-bit PCM that is nowhere 0 for long."""
    wave = 8_000 * np.sin(2 * np.pi * hz * (np.arange(samples) + 0.5) / SAMPLE_RATE)
    return wave.astype("<i2").tobytes()


def samples_of(pcm: bytes) -> NDArray[np.int16]:
    return np.frombuffer(pcm, "<i2").astype(np.int16)


class Call:
    """One session of a log. Times are ms since it began."""

    def __init__(self, log: Log, session: str = "sess_call", *, boot: str = "boot") -> None:
        self.log, self.session = log, SessionId(session)
        self.lease: Lease
        self._next = 0
        self._heard = 0
        self._generated: dict[str, int] = {}
        self.open(Expect.NEW, boot=boot)
        abilities = Abilities(stage="test", hears="utterances")
        self.say(
            0,
            SessionOpened(
                session=self.session,
                incarnation=self.lease.incarnation,
                mode="duplex",
                abilities=abilities,
                config=Config(),
            ),
        )

    def open(self, expect: Expect, *, boot: str = "boot", at_ms: float = 0) -> None:
        self.lease, head = self.log.open(self.session, expect=expect, owner="the test")
        self._next = head.next_seq
        self.say(at_ms, WriterOpened(writer_epoch=self.lease.writer_epoch, code="0.0.test", boot=boot))

    def say(self, at_ms: float, event: Event, blob: bytes | None = None, cause: int | None = None) -> int:
        """Append one event; its seq."""
        mono_ns = BEGAN_NS + round(at_ms * MS)
        led_by = None if cause is None else Seq(cause)
        draft = Draft(event, Moment(mono_ns, WALL_NS + mono_ns), blob, led_by)
        self.log.append(self.lease, Seq(self._next), [draft]).result()
        self._next += 1
        return self._next - 1

    def hear(self, at_ms: float, pcm: bytes) -> None:
        """The user's audio arrives."""
        self._heard += len(pcm) // 2
        self.say(at_ms, InputAppended(samples=Samples(len(pcm) // 2), until_sample=Samples(self._heard)), pcm)

    def answer(self, at_ms: float, response: str = "resp_1") -> None:
        fence = Fence(self.session, self.lease.incarnation, 0, 1, ResponseId(response))
        item = ItemId(response.replace("resp", "item"))
        self.say(at_ms, ResponseCreated(response=ResponseId(response), item=item, fence=fence))

    def speak(self, at_ms: float, pcm: bytes, response: str = "resp_1") -> None:
        """The model makes audio."""
        until = self._generated.get(response, 0) + len(pcm) // 2
        self._generated[response] = until
        event = AudioSpoken(
            response=ResponseId(response),
            samples=Samples(len(pcm) // 2),
            until_sample=Samples(until),
            operation=Operation(0),
            index=0,
        )
        self.say(at_ms, event, pcm)

    def sent(self, at_ms: float, until: int, *, first_ms: float, response: str = "resp_1") -> None:
        """The client's socket has taken audio, the first of it at `first_ms`."""
        first = BEGAN_NS + round(first_ms * MS)
        audio = AudioSent(ResponseId(response), Samples(until), first)
        self.say(at_ms, FramesSent(attachment=1, audio=(audio,)))

    def heard(self, at_ms: float, ms: int, response: str = "resp_1") -> None:
        self.say(at_ms, PlaybackAcknowledged(response=ResponseId(response), heard_ms=Millis(ms)))

    def truncate(self, at_ms: float, ms: int, response: str = "resp_1") -> None:
        item = ItemId(response.replace("resp", "item"))
        self.say(at_ms, ItemTruncated(item=item, response=ResponseId(response), audio_end_ms=Millis(ms)))

    def end_answer(
        self,
        at_ms: float,
        response: str = "resp_1",
        outcome: Outcome = "completed",
        reason: str | None = None,
    ) -> None:
        self.say(at_ms, ResponseEnded(response=ResponseId(response), outcome=outcome, reason=reason))

    def hang_up(self, at_ms: float) -> None:
        self.say(at_ms, SessionClosed(reason="client"))
        self.log.seal(self.lease, "ended")
