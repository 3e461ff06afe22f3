"""All sessions of the stage, and its three threads.

ears     sound and images to embeddings: a stream's encoder remembers, so in order. What was heard before a
         stage was lost is heard again behind everybody's live units, and the session's own live ones wait for
         that
mind     what a session does next; everything that is known of one is touched here
voice    what the talker is given, and the vocoder

The thinker and the talker have threads of their own. Whatever is raised on any of them is the end of the
stage: `died` is told, and whoever waits is told by that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from hashlib import blake2b
from typing import Any

import structlog
from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.stages.contract import Emit, EngineDied, EngineRefused, Listen, PastUnit
from antiphon.events.ids import Fence, SessionId
from antiphon.media.images import BadImage

from . import layout, segments, voices
from .context import Context
from .conversation import Conversation, Heard
from .mind import Rules, SessionPart, Unit
from .mouth import Mouth
from .options import ClientOptions, MiniCpmOSettings, read_config
from .parts import Parts
from .promises import Promises
from .seconds import Seconds
from .segments import Sampling
from .thinker import Embeddings, Piece, Rejected
from .vocoder import Vocoder
from .workers import Worker

log = structlog.get_logger()


class _Stream(Struct):
    """What the ears know of a session."""

    seconds: Seconds
    hearing: Any
    begins: tuple[str, str] | None = None
    """Instructions and voice that its context begins with."""
    past: list[Unit] = []
    waiting: list[Callable[[], None]] | None = None
    """Live units that came before all of the past was heard. None: it was."""


class _Held(Struct):
    """A session from its opening to its end. `stream` is touched by the ears alone."""

    fence: Fence
    opened: Future[None]
    stream: _Stream
    conversation: Conversation
    gone: bool = False


class Sessions:
    """Called on the stage's loop."""

    def __init__(
        self,
        chosen: MiniCpmOSettings,
        known: voices.Voices,
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
        self._promises = Promises()
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
        voice = voices.chosen(self._voices, options.voice)
        if len(self._held) >= self.places:
            raise EngineRefused("resource_exhausted", "all places are taken", retryable=True)
        stream = _Stream(Seconds(), self._parts.hearing(), waiting=[] if options.past else None)
        opened = self._promises.make()
        conversation = self._conversation(fence, options)
        held = self._held[fence.session] = _Held(fence, opened, stream, conversation)
        self._ears.post(partial(self._prepare, held, options, voice, opened))
        if options.past:
            for past in options.past:
                self._ears.post_behind(partial(self._hear_again, held, past))
            self._ears.post_behind(partial(self._primed, held))
        return opened

    def configure(self, fence: Fence, config: dict[str, Any]) -> Future[None]:
        options = read_config(config)
        voice = voices.chosen(self._voices, options.voice)
        held, done = self._held[fence.session], self._promises.make()
        self._ears.post(partial(self._prepare, held, options, voice, done))
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
        closed = self._promises.make()
        self._mind.post(partial(self._close, held, closed))
        return closed

    def _conversation(self, fence: Fence, options: ClientOptions) -> Conversation:
        self._openings += 1
        name, parts = f"{fence.session}#{self._openings}", self._parts
        mouth = Mouth(
            name,
            Context(parts.talker, name, self._mind.post),
            parts.talker.facts.context_tokens,
            parts.conditions,
            self._vocoder,
            self._voice,
            self._mind.post,
        )
        context = Context(parts.thinker, name, self._mind.post)
        sampling = _seeded(options.sampling, fence)
        return Conversation(self._rules, parts.words, sampling, context, mouth, self._emit)

    # --- the ears' thread ---------------------------------------------------------------------------------

    def _prepare(
        self, held: _Held, options: ClientOptions, voice: Embeddings | None, then: Future[None]
    ) -> None:
        """What the session's context begins with, if it is not what it began with before."""
        begins, part = (options.instructions, options.voice), None
        if begins != held.stream.begins:
            part = self._part(options.instructions, voice)
            most = self._rules.window.most(self._rules.most)
            if part.positions * 2 > most:
                told = f"instructions and voice: {part.positions} tokens; half of the context is {most // 2}"
                refusal = EngineRefused("invalid_session_config", told)
                self._mind.post(partial(self._refuse, held, then, refusal))
                return
            held.stream.begins = begins
        self._mind.post(partial(self._run_by, held, options, part, then))

    def _part(self, instructions: str, voice: Embeddings | None) -> SessionPart:
        words = self._parts.words
        pieces = layout.session_part(words.specials, words.tokens, instructions, voice)
        return SessionPart(pieces, layout.positions(pieces))

    def _hear(self, held: _Held, command: Listen, asked_ns: int) -> None:
        if held.stream.waiting is not None:
            held.stream.waiting.append(partial(self._hear, held, command, asked_ns))
            return
        heard = Heard(command, self._embedded(held, command.pcm, self._seen(held, command)), asked_ns)
        self._mind.post(partial(self._heard, held, heard))

    def _embedded(self, held: _Held, pcm: bytes, images: Sequence[Embeddings] = ()) -> tuple[Piece, ...]:
        audio = self._parts.ears.hear(held.stream.hearing, held.stream.seconds.feed(pcm))
        return layout.unit(self._parts.words.specials, audio, images)

    def _seen(self, held: _Held, command: Listen) -> list[Embeddings]:
        """The images that came with a unit; one that cannot be decoded is no reason not to hear."""
        eyes, seen = self._parts.eyes, list[Embeddings]()
        if eyes is None:
            return seen
        for file in command.images:
            try:
                seen.append(eyes.see(file))
            except BadImage as bad:
                log.warning("minicpmo.image_left_out", session=held.fence.session, why=str(bad))
        return seen

    def _hear_again(self, held: _Held, past: PastUnit) -> None:
        if held.gone:
            return
        words = self._parts.words
        said = past.tokens
        if not said or not words.spell(said, past.text):
            said = segments.remembered(words.specials, tuple(words.tokens(past.text)), ended=past.turn_ended)
        held.stream.past.append(Unit(self._embedded(held, past.pcm), said))

    def _primed(self, held: _Held) -> None:
        stream = held.stream
        units, waiting = tuple(stream.past), stream.waiting or []
        stream.past, stream.waiting = [], None
        self._mind.post(partial(held.conversation.remember, units))
        log.info("minicpmo.primed", session=held.fence.session, units=len(units))
        for hear in waiting:
            hear()

    # --- the mind's thread --------------------------------------------------------------------------------

    def _run_by(
        self, held: _Held, options: ClientOptions, part: SessionPart | None, done: Future[None]
    ) -> None:
        """A configuration, or with the first of them an opening."""
        if held.gone:
            self._promises.settle(done, EngineRefused("closed", "the session is over"))
            return
        held.conversation.run_by(_seeded(options.sampling, held.fence), part, aloud=options.aloud)
        if done is held.opened:
            held.conversation.open(partial(self._opened, held))
        else:
            self._promises.settle(done)

    def _opened(self, held: _Held, error: BaseException | None) -> None:
        if held.gone:
            return
        if error is None:
            health = self._parts.thinker.health()
            told = {"sessions": health.sessions, "kv_tokens": health.kv_tokens, "step_ms": health.step_ms}
            log.info("minicpmo.opened", session=held.fence.session, **told)
            self._promises.settle(held.opened)
        elif isinstance(error, Rejected):
            self._refuse(held, held.opened, EngineRefused(error.code, str(error), retryable=True))
        else:
            raise error

    def _refuse(self, held: _Held, done: Future[None], refusal: EngineRefused) -> None:
        """An opening that is refused holds nothing."""
        if done is not held.opened or held.gone:
            self._promises.settle(done, refusal)
            return
        held.gone = True
        self._let_go(held, lambda: self._promises.settle(done, refusal))

    def _heard(self, held: _Held, heard: Heard) -> None:
        if not held.gone:
            held.conversation.hear(heard)

    def _cancel(self, held: _Held, epoch: int) -> None:
        if not held.gone:
            held.conversation.cancel(epoch)

    def _close(self, held: _Held, closed: Future[None]) -> None:
        if held.gone:
            self._promises.settle(closed)
            return
        held.gone = True
        self._promises.settle(held.opened, EngineRefused("closed", "it was closed before it was ready"))
        self._let_go(held, lambda: self._promises.settle(closed))

    def _let_go(self, held: _Held, gone: Callable[[], None]) -> None:
        """A place is free when both thinkers have let go of it."""
        conversation = held.conversation
        self._voice.post(conversation.mouth.forget)
        conversation.context.close(lambda: conversation.mouth.context.close(lambda: self._left(held, gone)))

    def _left(self, held: _Held, gone: Callable[[], None]) -> None:
        self._held.pop(held.fence.session, None)
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
        told = f"{type(problem).__name__}: {problem}"
        self._died(told)  # first: whoever hears that a promise is broken finds the engine dead
        self._promises.break_all(told)


def _seeded(sampling: Sampling, fence: Fence) -> Sampling:
    """Who asks for no seed has one of his own, which is the same wherever the session is opened again."""
    if sampling.seed is not None:
        return sampling
    named = f"{fence.session}.{fence.incarnation}".encode()
    return replace(sampling, seed=int.from_bytes(blake2b(named, digest_size=8).digest()) >> 2)
