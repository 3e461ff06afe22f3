"""What one connection is shown: events to frames, with what no event holds put in, as letters to send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from antiphon.actors.runtime import Published
from antiphon.events.envelope import Stored
from antiphon.events.vocabulary import AudioSpoken, Config

from .dialect import Dialect
from .outbox import Letter


class Showing:
    """A view that goes on event by event. `token` is the secret of a connection that can come back."""

    def __init__(self, dialect: Dialect, view: Any, token: str = "") -> None:
        self.dialect, self.view = dialect, view
        self._projection, self._audio = dialect.projection, dialect.audio
        self._sound, self._token = dialect.sound(), token
        self.is_stream = False
        """Whether the latest audio goes on from what was before it: then nobody can begin in its middle."""

    @property
    def config(self) -> Config:
        """The configuration that holds, as far as it was shown."""
        config: Config = self.view.config
        return config

    def step(self, stored: Stored) -> Sequence[Any]:
        """The frames of the next event."""
        self.view, frames = self._projection.step(self.view, stored)
        return frames

    def is_audio(self, frame: Any) -> bool:
        if type(frame) is not self._audio:
            return False
        self.is_stream = self._sound.is_stream(frame)
        return True

    def letter(self, number: int, frame: Any, published: Published) -> Letter:
        """The frame of that number, ready to be sent. Audio frames must come in order, each once."""
        encode = self._projection.encode
        encoded, meaning = encode(frame), self._projection.meaning(frame, published.stored)
        binary = isinstance(frame, self.dialect.binary)
        if self.is_audio(frame):
            filled, until, response = self._sound.fill(frame, published)
            return Letter(encode(filled), number, encoded, meaning, response, until, binary)
        if self._token and type(frame) is self.dialect.greeting:
            payload = encode(self.dialect.entrust(frame, self._token))
            return Letter(payload, number, encoded, meaning, binary=binary)
        return Letter(encoded, number, encoded, meaning, binary=binary)

    def hold(self, published: Published) -> None:
        """Audio of an event that has no frame of its own."""
        if type(published.stored.event) is AudioSpoken:
            self._sound.hold(published)

    def heard(self, frame: Any, published: Published) -> None:
        """Pass over audio that the client has: what follows goes on from it."""
        self._sound.fill(frame, published)
