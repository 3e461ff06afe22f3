"""One session: units in, words and sound out. All of it on one thread, the stage's mind.

A unit is thought about, and what it says is spoken, before the next. Its first word leaves as soon as it is
known, the others when its segment is whole, and what was measured behind the words and the sound. When the
user cuts in the unit under way is thought to its end, so that the context stays whole, and says nothing; what
was being spoken stops at once.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from antiphon.actors.stages.contract import (
    MOST_INTERVALS,
    Body,
    Consumed,
    Emit,
    Failed,
    Finished,
    Listen,
    Measured,
    Said,
    TurnEnded,
)
from antiphon.media.pcm import to_pcm

from . import handing
from .context import Context, Generated
from .drawing import MOST_RECENT
from .mind import ContextFull, Mind, Plan, Rules, SessionPart, Unit, begun_by, interrupted, learnt, plan
from .mouth import Mouth
from .segments import Sampling, Segment
from .thinker import Piece
from .words import Words


class Heard(Struct):
    """A unit, embedded."""

    command: Listen
    pieces: tuple[Piece, ...]
    asked_ns: int


class Conversation:
    """`context` is the session's at the thinker; `rules` and `words` are all sessions'."""

    def __init__(
        self, rules: Rules, words: Words, sampling: Sampling, context: Context, mouth: Mouth, emit: Emit
    ) -> None:
        self._rules, self._emit = rules, emit
        self.context, self.mouth = context, mouth
        self._spelling = words.spelling()
        self._mind = Mind(sampling=sampling)
        self._sampling, self._part, self._speaks_aloud = sampling, SessionPart(), True
        """As the session is configured: from the next unit on."""
        self._waiting: deque[Heard] = deque()
        self._busy: Heard | None = None
        self._spelt = 0
        """Words of what is busy that were spelt before its segment was whole."""
        self._speaking = False
        """Whether what is busy is with the talker."""
        self._epoch = 0

    def open(self, opened: Callable[[BaseException | None], None]) -> None:
        self.context.open(partial(self._open_mouth, opened))

    def _open_mouth(
        self, opened: Callable[[BaseException | None], None], error: BaseException | None
    ) -> None:
        if error is None:
            self.mouth.context.open(opened)
        else:
            opened(error)

    def run_by(self, sampling: Sampling, part: SessionPart | None, *, aloud: bool) -> None:
        """From the next unit on. `part` None: the context begins as before, and is not given anew."""
        self._sampling, self._speaks_aloud = sampling, aloud
        self._part = self._part if part is None else part
        self.mouth.seed = sampling.seed or 0

    def remember(self, units: tuple[Unit, ...]) -> None:
        """What was heard and said before the thinker knew of this session."""
        decoded = tuple(token for unit in units for token in unit.generated)[-MOST_RECENT:]
        self._mind = replace(self._mind, units=units, heard=len(units), recent=decoded)

    def hear(self, heard: Heard) -> None:
        self._waiting.append(heard)
        self._next()

    def cancel(self, epoch: int) -> None:
        """Everything before `epoch` is void."""
        self._epoch = max(self._epoch, epoch)
        busy = self._busy
        if busy is not None and not (self._speaking and self._is_void(busy)):
            return  # it is thought to its end; or it is not void
        if busy is not None or self.mouth.is_speaking:
            self.mouth.drop()
        self._mind = interrupted(self._mind)
        if busy is not None:
            self._done(busy, Consumed())
        else:
            self._next()

    def _is_void(self, heard: Heard) -> bool:
        return heard.command.fence.epoch < self._epoch

    def _next(self) -> None:
        while self._busy is None and self._waiting:
            heard = self._waiting.popleft()
            mind = replace(self._mind, sampling=self._sampling)
            if mind.part is not self._part:
                mind = begun_by(mind, self._part)
            must = heard.command.force_listen or self._is_void(heard)
            number = self.context.appended
            try:
                planned = plan(self._rules, mind, heard.pieces, number=number, force_listen=must)
            except ContextFull as full:
                self._say(heard, Failed("context_full", str(full)), last=True)
                continue
            self._busy, self._spelt = heard, 0
            if planned.anew and number:
                self.context.empty()
            spoke = None if must else partial(self._spoke, heard)
            self.context.append(planned.append, partial(self._thought, heard, planned), spoke)

    def _spoke(self, heard: Heard, token: int) -> bool:
        """Say the first word; the others are said together."""
        if self._is_void(heard) or token in self._rules.specials.stops:
            return False
        if token in self._rules.specials.unsaid:
            return True
        self._spelt += 1
        text = self._spelling.add((token,))
        if text:
            self._say(heard, Said(text=text))
        return not text

    def _thought(self, heard: Heard, planned: Plan, generated: Generated) -> None:
        ended = generated.ended
        assert ended is not None
        tokens = tuple(generated.tokens)
        self._mind, segment = learnt(self._rules, planned, tokens)
        if self._is_void(heard):
            self._mind = interrupted(self._mind)
            self._spelling.add((), ends=True)
            if self.mouth.is_speaking:
                self.mouth.drop()
            self._done(heard, Consumed())
            return
        ends = segment.turn_ended or segment.listens
        text = self._spelling.add(segment.words[self._spelt :], ends=ends)
        aloud = segment.words or (segment.turn_ended and self.mouth.is_speaking)
        if not self._speaks_aloud or not aloud:
            self._said(heard, segment, text, generated)
            return
        if text:
            self._say(heard, Said(text=text))
        self._speaking = True
        spoken = handing.hand_over(segment, tokens, ended.hidden)
        sounded = partial(self._sounded, heard, segment, generated)
        self.mouth.say(spoken, last=segment.turn_ended, sounded=sounded)
        self._measure(heard, generated)

    def _said(self, heard: Heard, segment: Segment, text: str, generated: Generated) -> None:
        """What needs no sound."""
        if self.mouth.is_speaking and (segment.listens or not self._speaks_aloud):
            self.mouth.drop()  # it must listen, or be silent, in the middle of its turn
        if text and segment.turn_ended:
            self._say(heard, Said(text=text))
        self._measure(heard, generated)
        if segment.turn_ended:
            self._finish(heard, generated)
        elif segment.words or (self._mind.open_turn and not segment.listens):
            self._done(heard, Said(text=text, tokens=tuple(generated.tokens)))
        else:
            self._done(heard, Consumed(tokens=tuple(generated.tokens)))

    def _sounded(
        self, heard: Heard, segment: Segment, generated: Generated, sound: NDArray[np.float32]
    ) -> None:
        first_ms = (time.monotonic_ns() - heard.asked_ns) // 1_000_000
        pcm = to_pcm(np.nan_to_num(sound, nan=0.0))
        if pcm:
            self._say(heard, Said(pcm=pcm))
        self._say(heard, Measured("first_audio_ms", first_ms))
        if segment.turn_ended:
            self._finish(heard, generated)
        else:
            self._done(heard, Said(tokens=tuple(generated.tokens)))

    def _finish(self, heard: Heard, generated: Generated) -> None:
        ended = generated.ended
        assert ended is not None
        self._say(heard, TurnEnded())
        tokens = tuple(generated.tokens)
        self._done(heard, Finished(input_tokens=ended.n_in, output_tokens=ended.n_out, tokens=tokens))

    def _measure(self, heard: Heard, generated: Generated) -> None:
        times = generated.at_ns
        first_ms = (times[0] - heard.asked_ns) // 1_000_000
        self._say(heard, Measured("first_token_ms", first_ms))
        gaps = tuple((late - early) // 1000 for early, late in pairwise(times))
        if gaps:
            self._say(heard, Measured("token_gaps_ms", sum(gaps) // 1000, gaps[:MOST_INTERVALS]))

    def _done(self, heard: Heard, body: Body) -> None:
        self._busy, self._speaking = None, False
        self._say(heard, body, last=True)
        self._next()

    def _say(self, heard: Heard, body: Body, *, last: bool = False) -> None:
        self._emit(heard.command.fence, heard.command.operation, body, last=last)
