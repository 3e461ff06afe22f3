"""One session in a room of its own: its real loop, a stage, a client that does what is in the script.

Time is the call's: where nobody has anything to do it jumps to when something is due, and while an engine
works it runs with the clock on the wall, so that its answers take as long as they take. The recorded stage
has its own times, and nothing is waited for; a live voice detector beside it takes no time. All commands,
timers and words of stages are told on one thread.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.desk.desk import Peer
from antiphon.actors.session import commands as c
from antiphon.actors.session.commands import StageRole, TimerName
from antiphon.actors.session.effects import STAGES
from antiphon.actors.session_loop import Opening, SessionLoop
from antiphon.actors.stages.contract import (
    Close,
    Closed,
    Open,
    Opened,
    Output,
    Scored,
    StageCommand,
    StageMessage,
)
from antiphon.events.ids import Fence, Operation, ResponseId, SessionId
from antiphon.events.store import Log
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Abilities, Config

from .backstage import Backstage
from .client import Client
from .names import NoCounterpart, Renaming
from .takes import Payload
from .wishes import Script, Wish

BOOT = "rerun"
PATIENCE_NS = 60_000_000_000
"""How long a client that would hang up waits for the answer under way, where another stage gives it."""
LOOK_NS = 50_000_000
Send = Callable[[StageMessage], None]


class Cast(Struct, frozen=True):
    """Who plays: the session's configuration and abilities, and how its stages are made.

    `recorded`: the stage is the recorded one, and so are the reports of what was sent and played. `listened`:
    the voice detector is a live one; else its scores are the recorded ones, as far as there are any.
    """

    abilities: Abilities
    config: Config
    set: dict[str, Any]
    """Members of the configuration that hold whatever the client configures."""
    recorded: bool
    listened: bool


class Rehearsal:
    """Implements Runtime. `later` of engines and timers share one clock."""

    def __init__(self, script: Script, cast: Cast, log: Log, renaming: Renaming, client: Client) -> None:
        self.session = SessionId(f"{script.opened.session[:100]}-rerun")
        self.not_done: list[str] = []
        """What the client did and here could not, for people."""
        self._script, self._cast, self._renaming, self._client = script, cast, renaming, client
        self._now_ns, self._order = 0, itertools.count()
        self._scores = itertools.count(1)
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._said: deque[tuple[StageRole, StageMessage]] = deque()
        self._asked: deque[tuple[StageRole, StageCommand]] = deque()
        self._stages: dict[StageRole, Callable[[StageCommand], None]] = {}
        self._backstage = Backstage()
        self._works_since: tuple[float, int] | None = None
        self._of_answers: dict[str, list[Wish]] = {}
        """By recorded response, what was reported of it, until it begins here."""
        self._payload: Payload = lambda ref: b""
        self.loop = SessionLoop(self._opening(log), lambda call, *given: call(*given))
        client.take_part(self)

    def _opening(self, log: Log) -> Opening:
        asked = c.OpenSession(
            incarnation=0,
            mode=self._script.opened.mode,
            abilities=self._cast.abilities,
            config=self._cast.config,
            terms=self._script.opened.terms,
        )
        writer = c.OpenWriter(writer_epoch=0, code=self._client.code, boot=BOOT, projections={})
        return Opening(self.session, log, self, "rerun", writer, asked)

    # --- stages -------------------------------------------------------------------------------------------

    def employ(self, backstage: Backstage) -> None:
        """Play with these engines; with their voice detector only where nothing was recorded of one."""
        self._backstage = backstage
        for role in STAGES:
            desk = backstage.desk(role)
            if role == "voice" and not self._cast.listened:
                self._stages[role] = self._recorded_voice
            elif desk is not None:
                self._stages[role] = self._with(desk.connect(self._hearing(role)))

    def _hearing(self, role: StageRole) -> Send:
        return lambda message: self._said.append((role, message))

    @staticmethod
    def _with(peer: Peer) -> Callable[[StageCommand], None]:
        return lambda command: peer.take([command])

    def _recorded_voice(self, command: StageCommand) -> None:
        """It is always there; its scores are in the script."""
        if isinstance(command, Open):
            self._said.append(("voice", Opened(command.fence, "recorded")))
        elif isinstance(command, Close):
            self._said.append(("voice", Closed(command.fence)))

    # --- Runtime ------------------------------------------------------------------------------------------

    def now(self) -> Moment:
        began = self._script.began.at
        return Moment(began.mono_ns + self._now_ns, began.wall_ns + self._now_ns)

    def later(self, session: SessionId, due_mono_ns: int, name: TimerName) -> None:
        due_ns = due_mono_ns - self._script.began.at.mono_ns
        self._at(due_ns, lambda: self.loop.timer_due(name))

    def to_stage(self, stage: StageRole, command: StageCommand) -> None:
        self._asked.append((stage, command))

    def hold(self, session: SessionId, held: bool) -> None:
        """A log in memory is never behind."""

    def ended(self, session: SessionId) -> None:
        """`loop.over` says it."""

    # --- the run ------------------------------------------------------------------------------------------

    def after(self, ns: int, action: Callable[[], None]) -> None:
        """Do something so long after now, in the call's time."""
        self._at(self._now_ns + ns, action)

    def begun(self, response: ResponseId) -> None:
        """An answer: what was reported of it comes as long after this as it did then."""
        for wish in self._of_answers.pop(self._renaming.recorded("response", response) or "", ()):
            self.after(wish.at_ns, partial(self._wish, wish))

    def ask(self, command: c.Command) -> None:
        """The client asks, unless it has hung up."""
        if not self.loop.over:
            self.loop.ask(self._client, command)

    def _at(self, due_ns: int, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, (due_ns, next(self._order), action))

    def run(self, payload: Payload, progress: Callable[[float], None]) -> None:
        """To the end. `payload` reads the client's recorded audio; `progress` is told how far, 0 to 1."""
        self._payload = payload
        for wish in self._script.wishes:
            if wish.since is None:
                self._at(wish.at_ns, partial(self._wish, wish))
            elif self._cast.recorded:
                self._of_answers.setdefault(wish.since, []).append(wish)
        if not any(isinstance(wish.command, c.CloseSession) for wish in self._script.wishes):
            self._at(self._script.lasted_ns, lambda: self._hang_up("client", self._now_ns))
        self.loop.begin()
        self.loop.join(self._client, self._script.attach)
        while not self.loop.over:
            if not self._settle() and not self._wait():
                break
            progress(min(self._now_ns / max(self._script.lasted_ns, 1), 1.0))

    def _settle(self) -> bool:
        """Tell everybody what waits for them; whether there was anything."""
        did = False
        while self._backstage.hear() or self._said or self._asked:
            did = True
            while self._asked:
                role, command = self._asked.popleft()
                self._stages[role](command)
            if self._said:
                self.loop.stage_said(*self._said.popleft())
        report = None if self._cast.recorded else self._client.report()
        if report is not None:
            self.ask(report)
        return did or report is not None

    def _wait(self) -> bool:
        """Let time pass until something is due or said; whether anything still may be."""
        if not self._cast.recorded and self._backstage.works():
            return self._wait_for_stage()
        self._works_since = None
        if self._cast.listened and self._backstage.works("voice"):  # it is heard out, and takes no time
            return self._backstage.wait(None)
        if not self._due:
            return False
        due_ns, _, action = heapq.heappop(self._due)
        self._now_ns = max(self._now_ns, due_ns)
        action()
        return True

    def _wait_for_stage(self) -> bool:
        if self._works_since is None:
            self._works_since = time.monotonic(), self._now_ns
        began, began_ns = self._works_since
        due_ns = self._due[0][0] if self._due else None
        left = None if due_ns is None else max((due_ns - began_ns) / 1e9 - (time.monotonic() - began), 0)
        said = self._backstage.wait(left)
        self._now_ns = max(self._now_ns, began_ns + int((time.monotonic() - began) * 1e9))
        if not said and due_ns is not None and due_ns <= self._now_ns:
            heapq.heappop(self._due)[2]()
        return True

    # --- the client ---------------------------------------------------------------------------------------

    def _wish(self, wish: Wish) -> None:
        try:
            command = self._renaming.command(self._filled(wish))
        except NoCounterpart as missing:
            self.not_done.append(f"{type(wish.command).__name__} at event {wish.seq}: there is no {missing}")
            return
        if isinstance(command, c.CloseSession):
            self._hang_up(command.reason, self._now_ns)
        elif isinstance(command, c.RecordScores):
            self.loop.stage_said("voice", self._scored(command))
        elif isinstance(command, c.Configure):
            self.ask(replace(command, **self._cast.set))
        else:
            self.ask(command)

    def _scored(self, command: c.RecordScores) -> Output:
        """As the detector would have said it."""
        number = next(self._scores)
        body = Scored(command.until_sample, command.window, command.permille)
        return Output(Fence(self.session, 0, 0, 0), Operation(number), number, 0, False, body)

    def _filled(self, wish: Wish) -> c.Command:
        """With the bytes that it speaks of."""
        command = wish.command
        images = tuple(c.Image(seen.media_type, self._payload(seen.blob)) for seen in wish.images)
        if isinstance(command, c.AppendAudio):
            pcm = bytes(2 * wish.samples) if wish.blob is None else self._payload(wish.blob)
            return replace(command, pcm=pcm or bytes(2 * wish.samples), images=images)
        if isinstance(command, c.AddItem):
            return replace(command, images=images)
        if isinstance(command, c.ReportSent):
            return self._client.as_recorded(command)
        if isinstance(command, c.CreateResponse):
            able = self._cast.abilities.response_options
            options = ("instructions", "max_output_tokens", "voice", "temperature", "speed")
            return replace(command, **{name: None for name in options if name not in able})
        return command

    def _hang_up(self, reason: str, since_ns: int) -> None:
        """Another stage's answer is heard out, within reason."""
        patient = not self._cast.recorded and self._now_ns - since_ns < PATIENCE_NS
        if patient and not self._client.is_answered:
            self.after(LOOK_NS, lambda: self._hang_up(reason, since_ns))
            return
        self.loop.end(reason)
        self.ask(c.Detach(attachment=1, reason="closed", code=1000))
