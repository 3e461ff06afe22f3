"""Given what happened, when something is asked, then these facts, or a refusal.

Every step is held to what always holds: the facts survive the codec, folding what was read back gives the
live state, and what is outstanding is what an independent account says it is (books.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pytest
from msgspec.structs import replace

from antiphon.actors.checkpoints import with_own
from antiphon.actors.session import commands as c
from antiphon.actors.session.absence import AWAY_S
from antiphon.actors.session.decide import decide, refused
from antiphon.actors.session.effects import Effect, outstanding
from antiphon.actors.session.evolve import refold
from antiphon.actors.session.history import content_of, conversation
from antiphon.actors.session.question import Line
from antiphon.actors.session.refusals import Refused
from antiphon.actors.session.state import Session
from antiphon.actors.session.timers import timers
from antiphon.actors.session.units import prepare
from antiphon.events.codec import decode, encode
from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import ItemId, Operation, ResponseId, SessionId
from antiphon.events.units import Moment, Samples, ms_to_samples, samples_to_ms
from antiphon.events.vocabulary import (
    Abilities,
    AudioSent,
    AudioSpoken,
    Config,
    Event,
    Terms,
    TurnDetection,
)

from .books import Books, named

E = TypeVar("E", bound=Event)

MOST_FACTS = 32
"""Of one step: a turn of an actor stays short, so that its neighbours get theirs."""
WINDOW = 768
"""Samples of one score: 32 ms."""
BOOT = "boot-1"
VAD = TurnDetection()
SPEECH, SILENCE, HESITATION = 900, 10, 450
"""Permille: surely speech, surely none, and inside the band where nothing changes sides."""


def pcm(ms: int) -> bytes:
    return b"\x01\x00" * ms_to_samples(ms)


class Talk:
    """One session under test. Time passes only when a test says so."""

    def __init__(
        self,
        *,
        detection: TurnDetection | None = VAD,
        hears: Any = "utterances",
        transcribes: bool = True,
        detects_voice: bool = True,
        must_not_repeat: bool = False,
        modalities: tuple[str, ...] = ("audio",),
        config: Config = Config(),
        able: dict[str, Any] | None = None,
        session: str = "sess_1",
        incarnation: int = 0,
        terms: Terms = Terms(),
        token: bytes = b"",
        mode: str = "duplex",
    ) -> None:
        self.state = Session(SessionId(session))
        self.stored: list[Stored] = []
        self.payloads: list[bytes | None] = []
        self.effects: list[Effect] = []
        """Of the latest step."""
        self.now_ms = 1_000
        self.boot = BOOT
        self._read = Session(SessionId(session))
        self._audio_end = 0
        self._books = Books()
        self._says = 0
        self.open_writer()
        abilities = Abilities(
            stage="scripted",
            hears=hears,
            detects_voice=detects_voice,
            transcribes=transcribes,
            must_not_repeat=must_not_repeat,
            **(able or {}),
        )
        config = replace(config, turn_detection=detection, output_modalities=modalities)
        self.do(
            c.OpenSession(
                incarnation=incarnation, mode=mode, abilities=abilities, config=config, terms=terms
            ),
            c.Attach(dialect="realtime", token=token),
            c.RecordStage(stage="model", what="opened", engine="scripted"),
        )
        if detects_voice:
            self.do(c.RecordStage(stage="voice", what="opened", engine="scripted"))

    # --- when ---------------------------------------------------------------------------------------------

    def do(self, *commands: c.Command) -> list[Event]:
        """Ask, one after another; the facts of all."""
        self.effects = []
        return [event for command in commands for event in self._step(command)]

    def asks(self, client: int, *commands: c.Command) -> list[Event]:
        """A connection asks."""
        self.effects = []
        return [event for command in commands for event in self._step(command, client)]

    def refuses(self, command: c.Command, attachment: int = 1) -> Refused:
        """Ask what is refused. Nothing but the record of the refusal may change."""
        with pytest.raises(Refused) as caught:
            decide(self.state, command, self.moment)
        self.effects = []
        before = self.state
        decision = refused(self.state, caught.value, attachment, command.client_event, self.moment)
        self._keep(decision.drafts, decision.state, list(decision.effects))
        assert self._but_for_the_record(self.state) == self._but_for_the_record(before)
        return caught.value

    def wait(self, ms: int) -> list[Event]:
        """Time passes, and timers that are due fire."""
        until, happened = self.now_ms + ms, []
        while due := [(at, name) for name, at in timers(self.state).items() if at <= until * 1_000_000]:
            at, name = min(due)
            self.now_ms = max(self.now_ms, -(-at // 1_000_000))
            happened += self.do(c.FireTimer(name=name))
        self.now_ms = until
        return happened

    def lose(self, stage: c.StageRole) -> list[Event]:
        """A stage's process goes, and does not come back."""
        gone = self.do(c.RecordStage(stage=stage, what="away", message="killed"))
        return [*gone, *self.wait(AWAY_S * 1_000)]

    def open_writer(self) -> list[Event]:
        """A new writer takes the log over, in this boot or (after `self.boot = …`) in another."""
        epoch = self.state.writer_epoch + 1
        return self.do(c.OpenWriter(writer_epoch=epoch, code="test", boot=self.boot, projections={}))

    # --- what users, stages and attachments do ------------------------------------------------------------

    def hear(self, ms: int, score: int = SPEECH) -> list[Event]:
        """Audio of at least `ms` arrives and is scored, window by window, as it comes."""
        happened: list[Event] = []
        for _ in range(-(-ms * 24 // WINDOW)):
            happened += self.do(c.AppendAudio(pcm=b"\x01\x00" * WINDOW))
            happened += self.score(score)
            self.now_ms += 32
        return happened

    def score(self, *permille: int) -> list[Event]:
        """Windows behind the last scored one."""
        until = self.state.voice.scored + WINDOW * len(permille)
        return self.do(c.RecordScores(until_sample=until, window=WINDOW, permille=permille))

    def utterance(self, text: str = "hello", ms: int = 400) -> list[Event]:
        """The user speaks, pauses, is understood, and falls silent: the turn ends."""
        happened = self.hear(ms) + self.hear(256, SILENCE)
        happened += self.understand(text)
        return happened + self.hear(400, SILENCE)

    def understand(self, text: str) -> list[Event]:
        """The recogniser answers whatever it was asked last."""
        waiting = [r.operation for r in self.state.input.recognitions if r.text is None]
        return self.do(*(c.RecordHeard(text=text, last=True, **self._word(op, 0)) for op in waiting))

    def say(self, text: str = "", ms: int = 0, *, index: int | None = None) -> list[Event]:
        """The stage says a piece of the answer under way."""
        active = self.active
        at = active.next_index if index is None else index
        assert active.operation is not None
        return self.do(c.RecordSpeech(text=text, pcm=pcm(ms), last=False, **self._word(active.operation, at)))

    def finish(self, why: Any = "done") -> list[Event]:
        active = self.active
        assert active.operation is not None
        word = self._word(active.operation, active.next_index)
        return self.do(c.RecordFinish(why=why, last=True, **word))

    def answer(self, text: str = "Good morning to you.", ms: int = 2_000) -> ResponseId:
        """A whole answer, asked for by the client; nothing of it is sent yet."""
        self.do(c.CreateResponse())
        response = self.active.response
        self.say(text, ms)
        self.finish()
        return response

    def send(self, ms: int, response: ResponseId | None = None) -> list[Event]:
        """The socket accepts the response's audio up to `ms`; the first of it is heard from now on."""
        response = response or self.state.played[-1].response
        played = self.state.playback(response)
        assert played is not None
        first = played.first_mono_ns or self.now_ms * 1_000_000
        return self.do(self.report(response, ms_to_samples(ms), first))

    def report(self, response: ResponseId, until_sample: int, first_mono_ns: int) -> c.ReportSent:
        """What the attachment says when its socket has accepted a response's audio; numbered as it grows."""
        order = [*(played.response for played in self.state.played), response].index(response)
        audio = (AudioSent(response, Samples(until_sample), first_mono_ns),)
        return c.ReportSent(
            attachment=self.state.attached.count, through=order * 10**9 + until_sample, audio=audio
        )

    def _word(self, operation: Operation, index: int) -> dict[str, Any]:
        return {"operation": operation, "index": index, "epoch": self.state.fence.epoch}

    # --- then ---------------------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        return Moment(self.now_ms * 1_000_000, 10**18 + self.now_ms * 1_000_000)

    @property
    def active(self) -> Any:
        assert self.state.turns.active is not None, "no response is being generated"
        return self.state.turns.active

    @property
    def events(self) -> list[Event]:
        return [stored.event for stored in self.stored]

    def all(self, kind: type[E]) -> list[E]:
        return only(kind, self.events)

    @property
    def conversation(self) -> list[tuple[str, str]]:
        return spoken(conversation(self.state))

    def text_of(self, item: ItemId) -> str | None:
        """What retrieving the item would show."""
        entry = self.state.entry(item)
        assert entry is not None
        return " ".join(part.text or "" for part in content_of(self.state, entry))

    def restarted(self) -> Session:
        """What another process finds: everything folded from the beginning."""
        state = Session(self.state.id)
        for stored in self.stored:
            state = refold(state, stored)
        return kept(state)

    # --- on each step -------------------------------------------------------------------------------------

    def _step(self, command: c.Command, by: int = 0) -> list[Event]:
        decision = decide(self.state, command, self.moment, by)
        return self._keep(decision.drafts, decision.state, list(decision.effects))

    def _keep(self, drafts: Sequence[Draft], state: Session, effects: list[Effect]) -> list[Event]:
        assert len(drafts) <= MOST_FACTS
        for draft in drafts:
            stored = self._written_and_read(draft)
            self.stored.append(stored)
            self.payloads.append(draft.blob)
            self._read = refold(self._read, stored)
            self._books.enter(stored)
        self.state = state
        self.effects += effects
        assert self._read == self.state
        assert named(outstanding(self.state), self._books) == self._books.open()
        assert self.state.units.broken == self._books.broken
        assert self.state.phase != "open" or prepare(self.state) is None, "what can be given is given"
        return [draft.event for draft in drafts]

    def _written_and_read(self, draft: Draft) -> Stored:
        encoded, ref = encode(draft, self._audio_end)
        self._audio_end += 0 if ref is None else ref.length
        read = decode(encoded, seq=len(self.stored), at=draft.at, critical=not draft.event.ancillary)
        assert (read.event, read.cause, read.blob) == (draft.event, draft.cause, ref)
        return read

    @staticmethod
    def _but_for_the_record(state: Session) -> Session:
        blank = Session(state.id)
        return replace(state, seq=blank.seq, at=blank.at, refusals=blank.refusals, accepted=blank.accepted)


def kept(state: Session) -> Session:
    """As a checkpoint gives it back."""
    encoded = msgspec.msgpack.encode((replace(state, own=None), state.own))
    return with_own(*msgspec.msgpack.decode(encoded, type=tuple[Session, msgspec.Raw]))


def spoken(lines: Sequence[Line]) -> list[tuple[str, str]]:
    """Who says what to the model."""
    return [(line.role, line.text) for line in lines]


def only(kind: type[E], events: Sequence[Event]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def names(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def ms_of(events: Sequence[Event]) -> int:
    """How much audio was spoken."""
    return samples_to_ms(sum(event.samples for event in only(AudioSpoken, events)))
