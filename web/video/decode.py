"""Client messages to commands, for one stream. Images are decoded here, so it is done in a thread.

An image is measured against the last one that was kept, whatever became of that; the session decides what it
means by the same threshold. Without a filter images are decoded all the same: whether they can be is told at
once.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from antiphon.actors.modes.video.commands import AppendSound, Finish, Query, Show
from antiphon.actors.session.commands import Image, KeepAlive
from antiphon.events.units import SAMPLE_RATE
from antiphon.events.vocabulary import Config, Labels
from antiphon.media.images import BadImage, TooManyPixels, examine
from antiphon.media.pcm import to_float, to_pcm
from antiphon.media.resample import Resampler, resample
from antiphon.media.similarity import Thumbnail, similarity, thumbnail
from antiphon.web.realtime.undecodable import LONGEST_ID, Undecodable
from antiphon.web.wishes import Beat, Wish

from . import environment
from .messages import MOST_LABELS, Asked, Done, Heard, Message, Ping, Shown, image, read, sound

HEARD_RATE = 16_000


class VideoDecoder:
    """Implements Decoder."""

    hurried: frozenset[type] = frozenset((Ping,))
    audio: frozenset[type] = frozenset()
    voiding: frozenset[type] = frozenset()

    def __init__(self, config: Callable[[], Config]) -> None:
        self._config = config
        self._kept: Thumbnail | None = None
        self._stream: Resampler | None = None

    def read(self, text: str) -> list[Wish]:
        message = self.parse(text)
        return self.at_once(message) if type(message) in self.hurried else self.wishes(message)

    def parse(self, text: str) -> Message:
        return read(text)

    def at_once(self, frame: Message) -> list[Wish]:
        return [Beat(None)]

    def wishes(self, frame: Message) -> list[Wish]:
        match frame:
            case Shown():
                return self._show(frame)
            case Heard(data):
                return self._hear(data)
            case Asked():
                return self._ask(frame)
            case Done():
                return [Finish()]
            case Ping():
                return self.at_once(frame)

    def begins(self, frame: Message) -> bool:
        return isinstance(frame, Asked)

    def flush(self) -> list[Wish]:
        return []

    def forget(self) -> None:
        self._stream = None

    def keep_apart(self, frames: int) -> None:
        """Nobody comes back to a stream."""

    # --- images -------------------------------------------------------------------------------------------

    def _show(self, shown: Shown) -> list[Wish]:
        if not shown.data:
            return []
        labels = _labels(shown)
        contents = image(shown, labels.frame_id)
        threshold = _threshold(self._config())
        try:
            picture, seen = examine(contents), thumbnail(contents)
        except TooManyPixels as bad:
            told = f"Invalid image data: {bad}"
            raise Undecodable("invalid_image", told, "data", labels.frame_id) from bad
        except BadImage as bad:
            if threshold is not None:
                raise Undecodable("invalid_image", "Invalid image data", "data", labels.frame_id) from bad
            return [Show(image=None, size=len(contents), labels=labels, client_event=labels.frame_id)]
        alike = None
        if threshold is not None:
            alike = None if self._kept is None else similarity(seen, self._kept)
            if alike is None or alike < threshold:
                self._kept = seen
        kept = Image(picture.media_type, contents)
        return [
            Show(
                image=kept,
                size=len(contents),
                labels=labels,
                similarity=alike,
                client_event=labels.frame_id,
            )
        ]

    # --- sound --------------------------------------------------------------------------------------------

    def _hear(self, data: str) -> list[Wish]:
        pcm = sound(data, "data")
        if not pcm:
            return []
        if self._stream is None:
            self._stream = Resampler(HEARD_RATE, SAMPLE_RATE)
        heard = to_pcm(self._stream.feed(to_float(pcm)))
        return [AppendSound(pcm=heard, sent_bytes=len(pcm))]

    def _ask(self, asked: Asked) -> list[Wish]:
        """What resampling held back belongs before the question, what comes with it behind that."""
        pcm = sound(asked.audio, "audio_data")
        heard = to_pcm(resample(to_float(pcm), HEARD_RATE, SAMPLE_RATE)) if pcm else b""
        query = Query(text=asked.text, pcm=heard, sent_bytes=len(pcm), streams=environment.streams())
        stream, self._stream = self._stream, None
        rest = b"" if stream is None else to_pcm(stream.finish())
        seen = KeepAlive(attachment=0)  # also where nothing can be asked
        return [seen, AppendSound(pcm=rest, sent_bytes=0), query] if rest else [seen, query]


def _threshold(config: Config) -> float | None:
    return None if config.video is None else config.video.filter_threshold


def _labels(shown: Shown) -> Labels:
    """Raises Undecodable."""
    given = shown.labels
    frame_id = given.get("frame_id")
    named = frame_id if isinstance(frame_id, str) and frame_id else None
    if (named is not None and len(named) > LONGEST_ID) or len(msgspec.json.encode(given)) > MOST_LABELS:
        raise Undecodable("invalid_value", f"more than {MOST_LABELS} characters beside the image")
    return Labels(**{**given, "frame_id": named})
