"""A session of the echo as its log would be after so many minutes, written in seconds.

The core decides on every piece as it does live, at the time when it would have come; only the sockets and
the stage are missing. Every 80 ms there is a piece of the user's audio and the model's answer to it, every
240 ms a report of what was sent, every TURN_S the turn ends. At the end the server has been stopped: the
session waits for its client.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from antiphon.actors.session import commands as c
from antiphon.actors.session.decide import decide
from antiphon.actors.session.effects import Effect, EndTurn, Hear
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Stored
from antiphon.events.ids import ResponseId, Seq, SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import Abilities, AudioSent, AudioSpoken, SessionParked, Terms
from antiphon.projections.base import Digest, frame_number
from antiphon.projections.dialects import DIALECTS, versions
from antiphon.web.attach import hashed
from antiphon.web.duplex.opening import usual_config
from antiphon.web.trails import LIMIT, Walker, checkpoints

PIECE_MS, PIECE_BYTES = 80, 3840
REPORT_EVERY = 3
"""Pieces."""
TURN_S = 8
ECHO = Abilities(stage="echo", hears="continuously", detects_voice=True)
GRACE_S = 3_600.0


class Left(Struct, frozen=True):
    """What its client has left to come back with."""

    session: SessionId
    token: str
    last: int
    """The number of the last frame that it was sent."""
    events: int


def write_session(
    data: Path,
    session: SessionId,
    minutes: float,
    *,
    turn_s: float | None = TURN_S,
    with_checkpoints: bool = True,
) -> Left:
    """`turn_s` None: all of it is one turn with one answer. Without checkpoints there is the log alone."""
    log = SegmentLog(data, deliver=lambda call: call(), slow_limit=1 << 30)
    try:
        call = _Call(log, session, round(minutes * 60_000))
        left = call.speak(turn_s)
        if with_checkpoints:
            call.keep()
        return left
    finally:
        log.close()


class _Call:
    def __init__(self, log: SegmentLog, session: SessionId, ms: int) -> None:
        self._log, self._token = log, f"token of {session}"
        self._lease, _ = log.open(session, expect=Expect.NEW, owner="bench")
        self._state = Session(session)
        self._pieces = ms // PIECE_MS
        self._ms, self._began_ns = 0, time.time_ns() - ms * 1_000_000
        self._projection, self._digest = DIALECTS["duplex"], Digest()
        self._view = self._projection.begin(1)
        self._through, self._sent = -1, dict[ResponseId, int]()
        self._checkpoints = checkpoints(log)
        self._walker = Walker(deque(maxlen=LIMIT), session, "duplex", self._checkpoints)

    def speak(self, turn_s: float | None) -> Left:
        self._begin()
        rng = random.Random(0)
        turn = None if turn_s is None else round(turn_s * 1000 / PIECE_MS)
        for n in range(1, self._pieces + 1):
            self._ms += PIECE_MS
            pcm = rng.randbytes(PIECE_BYTES)
            append = c.AppendAudio(pcm=pcm, client_event=f"evt_{n}", sent=self._report(n))
            for effect in self._do(append, by=1):
                if isinstance(effect, Hear) and effect.stage == "model":
                    operation, epoch = effect.operation, effect.fence.epoch
                    said = c.RecordSpeech(
                        operation=operation, index=0, epoch=epoch, last=True, text="", pcm=pcm
                    )
                    self._do(said)
            if turn is not None and n % turn == 0:
                self._end_turn(n)
        self._do(c.Park(reason="shutdown"))
        self._log.release(self._lease)
        return Left(self._state.id, self._token, self._through, self._state.seq)

    def keep(self) -> None:
        """As the server does when it stops."""
        self._checkpoints.keep_state(self._state)
        self._walker.keep()

    def _begin(self) -> None:
        config = usual_config(ECHO, "echo")
        self._do(c.OpenWriter(writer_epoch=1, code="bench", boot="bench", projections=versions()))
        self._do(
            c.OpenSession(
                incarnation=0,
                mode="duplex",
                abilities=ECHO,
                config=config,
                terms=Terms(disconnect_grace_s=GRACE_S),
            )
        )
        self._do(c.Attach(dialect="duplex", client="bench", token=hashed(self._token)))
        self._do(c.RecordStage(stage="model", what="opened", engine="bench"))
        self._do(c.RecordStage(stage="voice", what="opened", engine="bench"))

    def _end_turn(self, n: int) -> None:
        for effect in self._do(c.CommitInput(client_event=f"commit_{n}"), by=1):
            if isinstance(effect, EndTurn):
                operation, epoch = effect.operation, effect.fence.epoch
                self._do(c.RecordFinish(operation=operation, index=0, epoch=epoch, last=True, why="done"))

    def _report(self, n: int) -> c.ReportSent | None:
        if n % REPORT_EVERY or self._through < 0:
            return None
        sent, self._sent = self._sent, {}
        return c.ReportSent(
            attachment=1,
            through=self._through,
            projection=self._projection.version,
            digest=self._digest.of_bytes(),
            meaning=self._digest.of_meaning(),
            audio=tuple(AudioSent(response, Samples(until), 0) for response, until in sent.items()),
        )

    def _do(self, command: c.Command, by: int = 0) -> Sequence[Effect]:
        """Decide, store, and show it to a client who takes everything at once."""
        at = Moment(self._ms * 1_000_000, self._began_ns + self._ms * 1_000_000)
        decision = decide(self._state, command, at, by)
        if not decision.drafts:
            return decision.effects
        seq = self._state.seq
        ack = self._log.append(self._lease, Seq(seq), decision.drafts).result()
        self._state = decision.state
        for k, (draft, blob) in enumerate(zip(decision.drafts, ack.blobs, strict=True)):
            stored = Stored(Seq(seq + k), draft.at, draft.event, blob, None, not draft.event.ancillary)
            self._show(stored)
        return decision.effects

    def _show(self, stored: Stored) -> None:
        self._view, frames = self._projection.step(self._view, stored)
        for k, frame in enumerate(frames):
            self._digest.add(self._projection.encode(frame), self._projection.meaning(frame, stored))
            self._through = frame_number(stored.seq, k)
        if not isinstance(stored.event, SessionParked):
            self._walker.passed(stored, self._view, is_stream=False)
        if isinstance(stored.event, AudioSpoken):
            self._sent[stored.event.response] = stored.event.until_sample
