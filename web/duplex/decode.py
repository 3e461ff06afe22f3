"""Client frames to commands, for one connection of the duplex dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Config
from antiphon.projections.duplex.capabilities import LARGEST_FRAME
from antiphon.projections.duplex.formats import INPUT, Format, input_format
from antiphon.web.realtime.undecodable import Undecodable, nested_too_deeply, unreadable
from antiphon.web.wishes import AskItem, Beat, Wish

from . import asking, formats, hints, signals
from . import frames as f
from .collecting import Collector, pieces
from .images import video_frames
from .items import create_item
from .options import create_response
from .session import configure
from .sound import SILENCE_RMS, InputSound

APPENDS = (f.Append, f.AppendFile)
STOPS = (f.InputCancel, f.BargeIn)
HURRIED = (*STOPS, f.ResponseCancel, f.OutputClear, f.Close, f.Heartbeat, f.PlaybackAck, f.EventAck)
ASIDE = (f.ResponseCancel, f.OutputClear, f.Heartbeat, f.PlaybackAck, f.EventAck, f.ItemRetrieve)
"""It does not matter to these how much of the user's audio is collected."""


def _named(kinds: tuple[type[f.ClientFrame], ...]) -> frozenset[type]:
    """The classes that frames of these kinds are read as, under all their names."""
    return frozenset(cls for cls, kind in f.KINDS.items() if kind in kinds)


class DuplexDecoder:
    """Implements Decoder. `config` is the session's configuration as it holds now.

    `kinds` are the frames that it knows, and `frames` reads them.
    """

    kinds: ClassVar[f.Kinds] = f.KINDS
    frames: ClassVar[msgspec.json.Decoder[f.ClientFrame]] = f.reading(f.KINDS)
    hurried = _named(HURRIED)
    audio = _named(APPENDS)
    voiding = _named((f.Clear, *STOPS))

    def __init__(self, config: Callable[[], Config]) -> None:
        self._config = config
        self._collector = Collector()
        self._seen = config()
        self._usual = input_format(self._seen)

    def read(self, text: str) -> list[Wish]:
        return self.wishes(self.parse(text))

    def parse(self, text: str) -> f.ClientFrame:
        if len(text) > LARGEST_FRAME:
            raise Undecodable("event_too_large", f"a frame holds at most {LARGEST_FRAME} bytes")
        try:
            frame = self.frames.decode(text)
            hidden = signals.undisguised(frame) if isinstance(frame, f.TurnSignal) else None
            if hidden is not None:
                frame = msgspec.convert(hidden, self.frames.type)
            if isinstance(frame, f.SessionUpdate) and frame.session is UNSET:
                members = hidden or msgspec.json.decode(text)
                rest = {key: value for key, value in members.items() if key not in ("type", "event_id")}
                frame = replace(frame, session=rest)
        except msgspec.DecodeError as error:
            raise unreadable(text, error, untyped="invalid_type") from error
        except UnicodeEncodeError as error:
            raise Undecodable("invalid_json", "the frame is not valid UTF-8") from error
        except RecursionError as error:
            raise nested_too_deeply() from error
        return frame

    def wishes(self, frame: f.ClientFrame) -> list[Wish]:
        if isinstance(frame, f.Append):
            return [*self._append(frame)]
        kind, asked = self.kinds[type(frame)], self.at_once(frame)
        if type(frame) in self.voiding:
            self.forget()
            return asked
        if kind in ASIDE:
            return asked
        return [*self._collector.flush(end=_ends(frame)), *asked]

    def at_once(self, frame: f.ClientFrame) -> list[Wish]:
        try:
            return _WISHES[self.kinds[type(frame)]](self, frame)
        except RecursionError as error:
            raise nested_too_deeply() from error

    def begins(self, frame: f.ClientFrame) -> bool:
        if isinstance(frame, f.Commit):
            answer = asking.wants_answer(frame)
            return frame.final and (self._config().auto_response if answer is None else answer)
        return isinstance(frame, f.ResponseCreate)

    def flush(self) -> list[Wish]:
        return [*self._collector.flush()]

    def keep_apart(self, frames: int) -> None:
        self._collector.apart = frames

    def forget(self) -> None:
        self._collector.drop()

    # --- audio --------------------------------------------------------------------------------------------

    def _append(self, frame: f.Append) -> list[c.Command]:
        raw, event = frame.audio or frame.delta or b"", frame.event_id
        images = video_frames(frame.video_frames, frame.max_slice_nums, event)
        if not raw and not images:
            raise Undecodable("invalid_value", "there is neither audio nor an image in it", "audio", event)
        return self._collector.add(
            raw,
            self._format_of(frame, self._usual_format()),
            speech=hints.verdict(frame),
            hints=hints.overlap_hints(frame),
            threshold=self._threshold(frame),
            images=images,
            client_event=event,
        )

    def _usual_format(self) -> Format:
        """The session's; where that has changed, the stream of audio in the former one ends here."""
        present = self._config()
        if present is not self._seen:
            before, self._seen, self._usual = self._usual, present, input_format(present)
            if before != self._usual:
                self._collector.end()
        return self._usual

    def _format_of(self, frame: f.Append, usual: Format) -> Format:
        named = frame.format or frame.input_audio_format
        rates = (frame.sample_rate_hz, frame.sample_rate)
        if named is None and isinstance(frame, f.AppendFile):
            named = "wav"
        if named is None and rates == (None, None):
            return usual
        file = frozenset({"wav"}) if isinstance(frame, f.AppendFile) else frozenset()
        known = INPUT | file
        return formats.input_format(named, rates, usual, "format", frame.event_id, known=known)

    def _threshold(self, frame: f.Append) -> float:
        said = None if frame.vad is None else frame.vad.silence_rms
        if said is None:
            said = self._seen.echo.get("overlap_silence_rms")
        return (
            float(said) if isinstance(said, int | float) else SILENCE_RMS
        )  # a plain client may say anything

    # --- everything else ----------------------------------------------------------------------------------

    def _update(self, frame: f.SessionUpdate) -> list[Wish]:
        session = {} if frame.session is UNSET else frame.session
        return [configure(session, self._config(), frame.event_id, opening=False)]

    def _item(self, frame: f.ItemCreate) -> list[Wish]:
        def speak(part: f.Content) -> list[c.Command]:
            """A part's audio, a stream of its own."""
            usual = input_format(self._config())
            rates, event = (part.sample_rate_hz,), frame.event_id
            format_ = formats.input_format(part.format, rates, usual, "item.content", event)
            sound = InputSound()
            pcm = sound.take(part.audio or b"", format_, event) + sound.end()
            spoken = [replace(piece, client_event=event) for piece in pieces(pcm, None)]
            return [*spoken] if any(piece.speech for piece in spoken) else []

        return [*create_item(frame, speak)]

    def _create(self, frame: f.ResponseCreate) -> list[Wish]:
        return [create_response(frame, self._config())]


def _ends(frame: f.ClientFrame) -> bool:
    """Whether the user's audio before it is complete, to its last sample."""
    if isinstance(frame, f.ItemCreate):
        return any(part.audio is not None for part in frame.item.content)
    return isinstance(frame, f.Commit)


def _one(build: Callable[[Any], Wish]) -> Callable[[DuplexDecoder, Any], list[Wish]]:
    """Of frames that mean the same whatever came before."""
    return lambda decoder, frame: [build(frame)]


_WISHES: dict[type[f.ClientFrame], Callable[[DuplexDecoder, Any], list[Wish]]] = {
    f.Commit: _one(asking.commit),
    f.InputCommit: _one(asking.commit),
    f.Clear: _one(lambda frame: c.ClearInput(client_event=frame.event_id)),
    f.InputCancel: _one(lambda frame: c.CancelInput(client_event=frame.event_id)),
    f.AppendText: _one(lambda frame: c.AppendText(client_event=frame.event_id, text=frame.text)),
    f.SessionUpdate: DuplexDecoder._update,
    f.SessionResume: lambda decoder, frame: asking.resume(frame),
    f.EventAck: _one(asking.event_ack),
    f.Heartbeat: _one(lambda frame: Beat(frame.event_id)),
    f.Close: _one(asking.close),
    f.TurnSignal: _one(signals.signal),
    f.ItemCreate: DuplexDecoder._item,
    f.ItemRetrieve: _one(lambda frame: AskItem(asking.item_id(frame), frame.event_id)),
    f.ItemDelete: _one(lambda frame: c.RemoveItem(client_event=frame.event_id, item=asking.item_id(frame))),
    f.ItemTruncate: _one(asking.truncate),
    f.ResponseCreate: DuplexDecoder._create,
    f.ResponseCancel: _one(
        lambda frame: c.CancelResponse(
            client_event=frame.event_id, response=asking.response_id(frame.response_id)
        )
    ),
    f.OutputClear: _one(
        lambda frame: c.ClearOutput(
            client_event=frame.event_id, response=asking.response_id(frame.response_id)
        )
    ),
    f.BargeIn: _one(lambda frame: c.BargeIn(client_event=frame.event_id)),
    f.PlaybackAck: _one(asking.played),
}
