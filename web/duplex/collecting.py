"""Audio of many small frames becomes commands of at least 80 ms, each with one verdict and the same hints."""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.actors.session.commands import AppendAudio, Command, Image, OverlapHints
from antiphon.projections.duplex.formats import Format
from antiphon.web.realtime.decode import COLLECTED, LARGEST_PIECE

from .sound import SILENCE_RMS, InputSound, is_loud


class Collector:
    """One connection's audio, between frames."""

    def __init__(self) -> None:
        self._sound = InputSound()
        self._held = bytearray()
        self._speech: bool | None = None
        self._hints: OverlapHints | None = None
        self._threshold = SILENCE_RMS
        self._events: list[str] = []
        self.apart = 0
        """Frames with an id that are not to be collected with others."""

    def add(
        self,
        raw: bytes,
        format_: Format,
        *,
        speech: bool | None,
        hints: OverlapHints | None,
        threshold: float,
        images: tuple[Image, ...] = (),
        client_event: str | None = None,
    ) -> list[Command]:
        """The commands that are full by now. Raises Undecodable; then nothing was taken.

        `threshold` is how loud speech is at least, where `speech` is None. Images go with the audio that is
        there by now, however little it is.
        """
        pcm = self._sound.take(raw, format_, client_event) if raw else b""
        asked: list[Command] = []
        apart = client_event is not None and self.apart > 0
        if apart or (speech, hints) != (self._speech, self._hints):
            asked = self.flush()
        self._speech, self._hints, self._threshold = speech, hints, threshold
        self._held += pcm
        if client_event is not None:
            self._events.append(client_event)
        self.apart -= apart
        if images or apart or len(self._held) >= COLLECTED:
            asked += self._full(images)
        return asked

    def flush(self, *, end: bool = False) -> list[Command]:
        """What is held, as commands. At the `end` of the user's audio also what resampling held back."""
        if end:
            self.end()
        return self._full(()) if self._held else []

    def end(self) -> None:
        """What comes next is another stream."""
        self._held += self._sound.end()

    def drop(self) -> None:
        self._held.clear()
        self._events.clear()
        self._sound.drop()

    def _full(self, images: tuple[Image, ...]) -> list[Command]:
        pcm = bytes(self._held)
        self._held.clear()
        events, self._events = self._events, []
        made = pieces(pcm, self._speech, self._threshold, self._hints, images)
        if not made or not events:
            return [*made]
        *before, last = (replace(piece, client_event=events[-1]) for piece in made)
        return [*before, replace(last, earlier_events=tuple(events[:-1]))]


def pieces(
    pcm: bytes,
    speech: bool | None,
    threshold: float = SILENCE_RMS,
    hints: OverlapHints | None = None,
    images: tuple[Image, ...] = (),
) -> list[AppendAudio]:
    """Audio of any length as commands of a bounded one. Images go with the first."""
    if not pcm:
        return [AppendAudio(pcm=b"", images=images, speech=speech, hints=hints)] if images else []
    commands = []
    for start in range(0, len(pcm), LARGEST_PIECE):
        piece = pcm[start : start + LARGEST_PIECE]
        verdict = is_loud(piece, threshold) if speech is None else speech
        commands.append(AppendAudio(pcm=piece, speech=verdict, hints=hints, images=images))
        images = ()
    return commands
