"""What one session says aloud: words and states become codes at the talker, and codes sound at the vocoder.

On the session's thread, but for the vocoder and what the talker is given, which have a thread of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from . import handing, voicing
from .context import Context, Generated, Run
from .handing import Chunk, Words
from .parts import Conditions
from .thinker import Embeddings
from .vocoder import Vocoder
from .voicing import Voicing
from .workers import Worker

Sounded = Callable[[NDArray[np.float32]], None]


class Mouth:
    """`context` is the session's at the talker, `most` the positions that it holds."""

    def __init__(
        self,
        session: str,
        context: Context,
        most: int,
        conditions: Conditions,
        vocoder: Vocoder,
        voice: Worker,
        run: Run,
    ) -> None:
        self._session, self.context, self._most = session, context, most
        self._conditions, self._vocoder, self._voice, self._run = conditions, vocoder, voice, run
        self.seed = 0
        """What codes are drawn by, from the next chunk on."""
        self._chunk: Chunk | None = None
        self._recent: tuple[int, ...] = ()
        self._carried: tuple[int, ...] = ()
        """What the chunk before has left unfed."""
        self._held = 0
        """Positions of the talker's context that may be taken."""
        self._place = 0
        self._life = 0

    def say(self, words: Words, *, last: bool, sounded: Sounded) -> None:
        """One chunk at a time. `last`: the turn ends with it."""
        chunk = handing.following(self._chunk, last=last)
        if chunk.number == 0:
            self._begin_anew()
        self._chunk = chunk
        self._voice.post(partial(self._condition, self._life, words, chunk, sounded))

    @property
    def is_speaking(self) -> bool:
        """Whether a turn has begun to sound and has not ended."""
        return self._chunk is not None and not self._chunk.last

    def drop(self) -> None:
        """The user cut in: nothing more is heard of what is under way."""
        self._life += 1
        if self.is_speaking:
            self._chunk = handing.cut(self._chunk)
        self.context.give_up()
        self._held, self._carried = 0, ()
        self._voice.post(self.forget)

    def forget(self) -> None:
        """On the voice's thread, when the session is over."""
        self._vocoder.forget(self._session)

    def _begin_anew(self) -> None:
        """The talker's cache belongs to one turn."""
        self._recent, self._carried, self._held = (), (), 0
        if self.context.appended:
            self.context.empty()

    def _condition(self, life: int, words: Words, chunk: Chunk, sounded: Sounded) -> None:
        given = self._conditions.of(words, last=chunk.last)
        self._run(partial(self._begin, life, given, chunk, sounded))

    def _begin(self, life: int, given: Embeddings, chunk: Chunk, sounded: Sounded) -> None:
        if life != self._life:
            return
        spoken = Voicing(
            condition=given, last=chunk.last, seed=self.seed, carried=self._carried, place=self._place
        )
        if self._held + voicing.room(spoken) > self._most:
            self._begin_anew()  # a very long turn: the talker's context has no room for all of it
            spoken = replace(spoken, carried=())
        self._held += voicing.room(spoken)
        spoken = replace(spoken, recent=self._recent, appended=self.context.appended)
        self._go_on(life, spoken, chunk, sounded)

    def _go_on(self, life: int, spoken: Voicing, chunk: Chunk, sounded: Sounded) -> None:
        append = voicing.next_append(spoken)
        if append is None:
            self._recent, self._place = (*self._recent, *spoken.codes)[-voicing.PENALISED :], spoken.place
            self._carried = voicing.unfed(spoken)
            self._voice.post(partial(self._sound, life, voicing.body(spoken), chunk, sounded))
        else:
            self.context.append(append, partial(self._drawn, life, spoken, chunk, sounded))

    def _drawn(
        self, life: int, spoken: Voicing, chunk: Chunk, sounded: Sounded, generated: Generated
    ) -> None:
        if life == self._life:
            self._go_on(life, voicing.drawn(spoken, tuple(generated.tokens)), chunk, sounded)

    def _sound(self, life: int, codes: tuple[int, ...], chunk: Chunk, sounded: Sounded) -> None:
        sound = self._vocoder.sound(self._session, chunk, codes)
        self._run(partial(self._heard, life, sound, sounded))

    def _heard(self, life: int, sound: NDArray[np.float32], sounded: Sounded) -> None:
        if life == self._life:
            sounded(sound)
