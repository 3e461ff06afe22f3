"""All sessions of the stage, and its three threads.

ears     sound to embeddings: a stream's encoder remembers, so in order
mind     what a session does next; everything that is known of one is touched here
voice    what the talker is given, and the vocoder

The thinker and the talker have threads of their own. Whatever is raised on any of them is the end of the
stage: `died` is told, and whoever waits is told by that.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

import numpy as np
import structlog
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from antiphon.actors.stages.contract import Emit, EngineDied, EngineRefused, Listen, PastUnit
from antiphon.events.ids import Fence, SessionId

from . import layout, segments, voices
from .context import Context
from .conversation import Conversation, Heard
from .mind import Rules, SessionPart, Unit
from .mouth import Mouth
from .options import ClientOptions, MiniCpmOSettings, read_config
from .parts import Parts
from .seconds import Seconds
from .segments import Sampling
from .thinker import Piece, Rejected
from .vocoder import Vocoder
from .workers import Worker

log = structlog.get_logger()

Second = NDArray[np.float32]


class _Stream:
    def __init__(self, hearing: Any) -> None:
        self.seconds, self.hearing = Seconds(), hearing


class _Held(Struct):
    """A session from its opening to its end. `stream` is touched by the ears alone."""

    session: SessionId
    opened: Future[None]
    stream: _Stream
    conversation: Conversation
    gone: bool = False


class Sessions:
    """Called on the stage's loop."""

    def __init__(
        self,
        chosen: MiniCpmOSettings,
        known: dict[str, tuple[Second, ...]],
        rules: Rules,
        parts: Parts,
        vocoder: Vocoder,
        emit: Emit,
        died: Callable[[str], None],
    ) -> None:
        self._rules, self._parts, self._vocoder, self._emit = rules, parts, vocoder, emit
        self._timeout_s, self._died = chosen.append_timeout_s, died
        self._voices = known
        self._held: dict[SessionId, _Held] = {}
        self._promised: set[Future[None]] = set()
        self._why = ""  # or why nothing is done any more
        self._openings = 0
        self.places = min(chosen.max_sessions, parts.thinker.facts.places, parts.talker.facts.places)
        self._ears = Worker("ears", self._broken)
        self._mind = Worker("mind", self._broken, self._watch)
        self._voice = Worker("voice", self._broken)
        self._workers = (self._ears, self._mind, self._voice)

    def __len__(self) -> int:
        return len(self._held)

    def start(self) -> None:
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def open(self, fence: Fence, config: dict[str, Any]) -> Future[None]:
        options = read_config(config)
        spoken = voices.chosen(self._voices, options.voice)
        if len(self._held) >= self.places:
            raise EngineRefused("resource_exhausted", "all places are taken", retryable=True)
        stream = _Stream(self._parts.hearing())
        conversation = self._conversation(fence.session, options)
        held = self._held[fence.session] = _Held(fence.session, self._promise(), stream, conversation)
        self._ears.post(partial(self._prepare, held, options, spoken, held.opened))
        return held.opened

    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None]:
        options = read_config(config)
        spoken = voices.chosen(self._voices, options.voice)
        held, done = self._held[fence.session], self._promise()
        self._ears.post(partial(self._prepare, held, options, spoken, done))
        return done

    def listen(self, command: Listen) -> None:
        held = self._held[command.fence.session]
        self._ears.post(partial(self._hear, held, command, time.monotonic_ns()))

    def cancel(self, session: SessionId, epoch: int) -> None:
        held = self._held.get(session)
        if held is not None:  # behind what was heard before it
            self._ears.post(lambda: self._mind.post(lambda: self._cancel(held, epoch)))

    def close(self, session: SessionId) -> Future[None] | None:
        held = self._held.get(session)
        if held is None:
            return None
        closed = self._promise()
        self._mind.post(partial(self._close, held, closed))
        return closed

    def _promise(self) -> Future[None]:
        """What is kept, or else fails with the engine."""
        promised = Future[None]()
        self._promised.add(promised)
        promised.add_done_callback(self._promised.discard)
        if self._why and not promised.done():
            promised.set_exception(EngineDied(self._why))
        return promised

    def _conversation(self, session: SessionId, options: ClientOptions) -> Conversation:
        self._openings += 1
        name, parts = f"{session}#{self._openings}", self._parts
        sampling = _seeded(options.sampling)
        mouth = Mouth(
            name,
            Context(parts.talker, name, self._mind.post),
            parts.talker.facts.context_tokens,
            sampling.seed or 0,
            parts.conditions,
            self._vocoder,
            self._voice,
            self._mind.post,
        )
        context = Context(parts.thinker, name, self._mind.post)
        return Conversation(self._rules, parts.words, sampling, context, mouth, self._emit)

    # --- the ears' thread ---------------------------------------------------------------------------------

    def _prepare(
        self, held: _Held, options: ClientOptions, spoken: Sequence[Second], then: Future[None]
    ) -> None:
        """What the session's part of the context is, once its voice is embedded."""
        hearing = self._parts.hearing()
        heard = [self._parts.ears.hear(hearing, second) for second in spoken]
        voice = np.concatenate(heard) if heard else None
        if then is held.opened and options.past:
            units = tuple(self._remembered(held, past) for past in options.past)
            self._mind.post(partial(held.conversation.remember, units))
            log.info("minicpmo.primed", session=held.session, units=len(units))
        words = self._parts.words

        def part(earlier: Sequence[int]) -> tuple[Piece, ...]:
            return layout.session_part(words.specials, words.tokens, options.instructions, voice, earlier)

        self._mind.post(partial(self._run_by, held, options, part, then))

    def _hear(self, held: _Held, command: Listen, asked_ns: int) -> None:
        heard = Heard(command, self._embedded(held, command.pcm), asked_ns)
        self._mind.post(partial(self._heard, held, heard))

    def _embedded(self, held: _Held, pcm: bytes) -> tuple[Piece, ...]:
        audio = self._parts.ears.hear(held.stream.hearing, held.stream.seconds.feed(pcm))
        return layout.unit(self._parts.words.specials, audio)

    def _remembered(self, held: _Held, past: PastUnit) -> Unit:
        words = self._parts.words
        said = segments.remembered(words.specials, tuple(words.tokens(past.text)), ended=past.turn_ended)
        return Unit(self._embedded(held, past.pcm), said)

    # --- the mind's thread --------------------------------------------------------------------------------

    def _run_by(self, held: _Held, options: ClientOptions, part: SessionPart, done: Future[None]) -> None:
        """A configuration, or with the first of them an opening."""
        if held.gone:
            return
        own, most = layout.positions(part(())), self._rules.most
        if own * 2 > most:
            told = f"instructions and voice of {own} tokens; half of the context is {most // 2}"
            self._refuse(held, done, EngineRefused("invalid_session_config", told))
            return
        held.conversation.run_by(_seeded(options.sampling), part, aloud=options.aloud)
        if done is held.opened:
            held.conversation.open(partial(self._opened, held))
        else:
            done.set_result(None)

    def _opened(self, held: _Held, error: BaseException | None) -> None:
        if held.gone:
            return
        if error is None:
            held.opened.set_result(None)
        elif isinstance(error, Rejected):
            self._refuse(held, held.opened, EngineRefused(error.code, str(error), retryable=True))
        else:
            raise error

    def _refuse(self, held: _Held, done: Future[None], refusal: EngineRefused) -> None:
        """An opening that is refused holds nothing."""
        if done is not held.opened:
            done.set_exception(refusal)
            return
        held.gone = True
        self._let_go(held, lambda: done.set_exception(refusal))

    def _heard(self, held: _Held, heard: Heard) -> None:
        if not held.gone:
            held.conversation.hear(heard)

    def _cancel(self, held: _Held, epoch: int) -> None:
        if not held.gone:
            held.conversation.cancel(epoch)

    def _close(self, held: _Held, closed: Future[None]) -> None:
        if held.gone:
            closed.set_result(None)
            return
        held.gone = True
        if not held.opened.done():
            held.opened.set_exception(EngineRefused("closed", "it was closed before it was ready"))
        self._let_go(held, lambda: closed.set_result(None))

    def _let_go(self, held: _Held, gone: Callable[[], None]) -> None:
        """A place is free when both thinkers have let go of it."""
        conversation = held.conversation
        self._voice.post(conversation.mouth.forget)
        conversation.context.close(lambda: conversation.mouth.context.close(lambda: self._left(held, gone)))

    def _left(self, held: _Held, gone: Callable[[], None]) -> None:
        self._held.pop(held.session, None)
        gone()

    def _watch(self) -> None:
        """An engine may hang without an error."""
        now = time.monotonic()
        for held in tuple(self._held.values()):
            for context in (held.conversation.context, held.conversation.mouth.context):
                if context.since is not None and now - context.since > self._timeout_s:
                    raise EngineDied(f"an append or a close was not answered within {self._timeout_s:g} s")

    # --- any thread ---------------------------------------------------------------------------------------

    def _broken(self, problem: Exception) -> None:
        self._why = f"{type(problem).__name__}: {problem}"
        self._died(self._why)
        for promised in tuple(self._promised):
            if not promised.done():
                promised.set_exception(EngineDied(self._why))


def _seeded(sampling: Sampling) -> Sampling:
    return sampling if sampling.seed is not None else replace(sampling, seed=secrets.randbits(62))
