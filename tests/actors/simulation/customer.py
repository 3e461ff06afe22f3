"""A client that talks, interrupts, asks for things in time and too late, and now and then asks for nonsense."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from antiphon.actors.runtime import Published, Retrieved
from antiphon.actors.session import commands as c
from antiphon.events import vocabulary as v
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.units import Samples

from .far_end import LOUD, SCORED


class Attendance:
    """One connection: what it was shown (a Sink), what its socket takes, what it is about to send."""

    def __init__(self, number_of_life: int) -> None:
        self.life = number_of_life
        self.seen: list[Published] = []
        self.unsent: deque[tuple[int, ResponseId, Samples]] = deque()
        """Audio that the socket has not accepted yet."""
        self.outgoing: deque[c.Command] = deque()
        self.answers: list[Retrieved] = []
        self.refused: list[str | None] = []
        """Client event ids of refusals that no log holds."""
        self.aborted: str | None = None
        self.known = lambda: 0
        """Up to where the log is known to hold what was stored: asked at every publication."""

    @property
    def over(self) -> bool:
        return any(isinstance(one.stored.event, v.SessionClosed | v.SessionFailed) for one in self.seen[-12:])

    def publish(self, batch: Sequence[Published]) -> None:
        for one in batch:
            seq, event = one.stored.seq, one.stored.event
            assert seq == len(self.seen), f"shown {seq} after {len(self.seen) - 1}"
            assert seq < self.known(), f"shown {seq} before the log acknowledged it"
            assert (one.payload is None) == (one.stored.blob is None), "audio without its sound"
            assert self.aborted is None, "shown after the abort"
            self.seen.append(one)
            if isinstance(event, v.AudioSpoken):
                self.unsent.append((seq, event.response, event.until_sample))
            elif isinstance(event, v.EpochAdvanced):
                self.unsent.clear()

    def answer(self, answer: Retrieved) -> None:
        self.answers.append(answer)

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        self.refused.append(client_event)

    def abort(self, code: str, message: str) -> None:
        assert self.aborted is None, "aborted twice"
        self.aborted = code


class Customer:
    """Decides what the client sends next. Lives through crashes; its connections do not."""

    def __init__(self, rng: random.Random, *, detection: bool, duplex: bool = False) -> None:
        self._rng, self._detection, self._duplex = rng, detection, duplex
        self._loud = False
        self._named = 0
        self.tags = 0
        """Pieces of audio, each marked by its first sample."""

    def speak(self, attendance: Attendance) -> None:
        """Put one or a few frames on the wire."""
        if self._rng.random() < 0.7:
            self._sound(attendance)
        else:
            attendance.outgoing.append(self._wish(attendance))

    def _sound(self, attendance: Attendance) -> None:
        if self._rng.random() < 0.3:
            self._loud = not self._loud
        for _ in range(self._rng.randint(1, 4)):
            self.tags += 1
            windows = self._rng.randint(1, 4)
            value = (LOUD if self._loud else 0).to_bytes(2, "little")
            pcm = self.tags.to_bytes(2, "little") + value * (SCORED * windows - 1)
            attendance.outgoing.append(c.AppendAudio(client_event=f"audio-{self.tags}", pcm=pcm))

    def _wish(self, attendance: Attendance) -> c.Command:
        self._named += 1
        name = f"wish-{self._named}"
        events = [one.stored.event for one in attendance.seen]
        responses = [event for event in events if isinstance(event, v.ResponseCreated)]
        chosen = self._rng.choice(responses) if responses else None
        response = chosen.response if chosen else ResponseId("resp_none")
        item = chosen.item if chosen else ItemId("item_none")
        text = v.Item(id=ItemId(""), role="user", content=(v.Part(kind="input_text", text="written"),))
        named = {"client_event": name}
        wishes: list[tuple[int, c.Command]] = [
            (6, c.CreateResponse(**named, metadata={"name": name})),
            (1, c.CreateResponse(**named, metadata={"name": name}, modalities=("text",))),
            (4, c.CancelResponse(**named)),
            (1, c.CancelResponse(**named, response=response)),
            (3, c.TruncateItem(**named, item=item, audio_end_ms=self._rng.randrange(2_000))),
            (2, c.AcknowledgePlayback(**named, response=response, heard_ms=self._rng.randrange(2_000))),
            (4 if not self._detection else 1, c.CommitInput(**named)),
            (1, c.ClearInput(**named)),
            (2, c.AddItem(**named, item=text)),
            (1, c.AddItem(**named, item=text, previous=ItemId("item_none"))),
            (1, c.RemoveItem(**named, item=item)),
            (2, c.Configure(**named, instructions=f"be {name}")),
        ]
        if self._duplex:
            wishes += [
                (6, c.CommitInput(**named, any_length=True, respond=self._rng.choice((None, True, False)))),
                (2, c.BargeIn(**named)),
                (1, c.CancelInput(**named)),
                (2, c.Configure(**named, voice=name)),
                (1, c.Configure(**named, auto_response=self._rng.random() < 0.5)),
            ]
        return self._rng.choices([wish for _, wish in wishes], [weight for weight, _ in wishes])[0]
