"""Client frames to commands, for one connection.

Audio is collected to at least 80 ms before it becomes a command; whatever else the client asks goes behind
what it sent before. An odd byte is half a sample and waits for its other half. Audio in another form than the
session's own is one stream until a commit, a clear or another form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from antiphon.actors.session import commands as c
from antiphon.events.ids import ItemId, ResponseId
from antiphon.events.units import BYTES_PER_SAMPLE, SAMPLE_RATE
from antiphon.events.vocabulary import Config, Item, Part
from antiphon.projections.duplex.formats import Format
from antiphon.projections.realtime.formats import PCM, format_of, named
from antiphon.web.duplex.sound import InputSound
from antiphon.web.wishes import AskItem, Wish

from . import frames as f
from .session import configure, tokens
from .undecodable import Undecodable, nested_too_deeply, unreadable

LARGEST_FRAME = 15 * 1024 * 1024
COLLECTED = SAMPLE_RATE * 80 // 1000 * BYTES_PER_SAMPLE
LARGEST_PIECE = 2 * SAMPLE_RATE * BYTES_PER_SAMPLE
"""Of one command: what one piece of audio can amount to stays one short step of the session."""

_ITEM_ID = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_TEXT_PARTS = {"input_text": "input_text", "output_text": "output_text", "text": "output_text"}

_decoder = msgspec.json.Decoder(f.ClientEvent)


class RealtimeDecoder:
    """Implements Decoder.

    Keeps what lies between frames: half a sample, audio that is not 80 ms yet, what resampling holds back.
    """

    hurried: frozenset[type] = frozenset({f.ResponseCancel})
    audio: frozenset[type] = frozenset({f.Append})
    voiding: frozenset[type] = frozenset({f.Clear})

    def __init__(self, config: Callable[[], Config]) -> None:
        """`config` is the session's configuration as it holds now."""
        self._config, self._seen = config, config()
        self._form = format_of(self._seen, "input")
        self._asked: Format | None = None
        """What was asked for and does not hold yet: audio behind the question is in it already."""
        self._sound = InputSound()
        self._held = bytearray()

    def read(self, text: str) -> list[Wish]:
        frame = self.parse(text)
        return self._append(frame) if type(frame) is f.Append else self.wishes(frame)

    def parse(self, text: str) -> f.ClientEvent:
        if len(text) > LARGEST_FRAME:
            raise Undecodable("event_too_large", f"a frame holds at most {LARGEST_FRAME} bytes")
        try:
            return _decoder.decode(text)
        except msgspec.DecodeError as error:
            raise unreadable(text, error, untyped="invalid_json") from error
        except UnicodeEncodeError as error:
            raise Undecodable("invalid_json", "the frame is not valid UTF-8") from error
        except RecursionError as error:
            raise nested_too_deeply() from error

    def wishes(self, frame: f.ClientEvent) -> list[Wish]:
        if type(frame) is f.Append:
            return self._append(frame)
        asked = self.at_once(frame)
        if type(frame) is f.Clear:
            self.forget()
        elif type(frame) is f.Commit:
            self._held += self._sound.end()
        elif type(frame) is f.SessionUpdate:
            self._expect(asked)
        return [*self.flush(), *asked]

    def at_once(self, frame: f.ClientEvent) -> list[Wish]:
        try:
            return [_WISHES[type(frame)](frame)]
        except RecursionError as error:
            raise nested_too_deeply() from error

    def keep_apart(self, frames: int) -> None:
        """Clients of this dialect are not known to send anything again."""

    def begins(self, frame: f.ClientEvent) -> bool:
        return type(frame) is f.ResponseCreate

    def forget(self) -> None:
        self._held.clear()
        self._sound.drop()

    def flush(self) -> list[Wish]:
        """The whole samples collected so far, as commands."""
        whole = len(self._held) - len(self._held) % BYTES_PER_SAMPLE
        pcm = bytes(self._held[:whole])
        del self._held[:whole]
        return [
            c.AppendAudio(pcm=pcm[start : start + LARGEST_PIECE])
            for start in range(0, len(pcm), LARGEST_PIECE)
        ]

    def _append(self, frame: f.Append) -> list[Wish]:
        audio = frame.audio
        if self._config() is not self._seen:
            self._catch_up()
        if self._form != PCM:
            audio = self._sound.take(audio, self._form, frame.event_id)
        if not self._held and COLLECTED <= len(audio) <= LARGEST_PIECE and not len(audio) & 1:
            return [c.AppendAudio(client_event=frame.event_id, pcm=audio)]
        self._held += audio
        return self.flush() if len(self._held) >= COLLECTED else []

    # --- in which form the audio comes --------------------------------------------------------------------

    def _expect(self, asked: list[Wish]) -> None:
        """What is behind an update is in the form that the update names."""
        for wish in asked:
            form = named(wish.echo, "input") if isinstance(wish, c.Configure) else None
            if form is not None:
                self._asked = form
                self._begin(form)

    def _catch_up(self) -> None:
        """The configuration changed, maybe for an update before the one that names the form."""
        self._seen = self._config()
        holds = format_of(self._seen, "input")
        if self._asked is None or self._asked is holds:
            self._asked = None
            self._begin(holds)

    def _begin(self, form: Format) -> None:
        """Another stream, if it is of another form."""
        if form is not self._form:
            self._held += self._sound.end()
            del self._held[len(self._held) // BYTES_PER_SAMPLE * BYTES_PER_SAMPLE :]
            self._form = form


def _item(frame: f.ItemCreate) -> c.AddItem:
    given = frame.item
    if given.type not in ("message", "function_call", "function_call_output"):
        raise Undecodable(
            "invalid_value",
            "items are message, function_call or function_call_output",
            "item.type",
            frame.event_id,
        )
    if given.id is not None and not _ITEM_ID.fullmatch(given.id):
        raise Undecodable(
            "invalid_value", "an item id is 1 to 128 of A-Z a-z 0-9 _ . : -", "item.id", frame.event_id
        )
    if given.type == "message" and given.role not in ("user", "assistant", "system"):
        raise Undecodable("invalid_value", "a role is user, assistant or system", "item.role", frame.event_id)
    previous = {None: "", "root": None}.get(frame.previous_item_id, frame.previous_item_id)
    item = Item(
        id=ItemId(given.id or ""),
        kind=given.type,  # type: ignore[arg-type]  # checked above
        role=given.role,  # type: ignore[arg-type]
        content=tuple(_part(part, frame.event_id) for part in given.content),
        call_id=given.call_id,
        name=given.name,
        arguments=given.arguments,
        output=given.output,
    )
    return c.AddItem(
        client_event=frame.event_id,
        item=item,
        previous=None if previous is None else ItemId(previous),
    )


def _part(part: f.Content, client_event: str | None) -> Part:
    kind = _TEXT_PARTS.get(part.type)
    if kind is None:
        raise Undecodable(
            "unsupported_content",
            f"content of type {part.type[:40]!r} cannot be put into an item here; send text, or append audio",
            "item.content",
            client_event,
        )
    return Part(kind=kind, text=part.text or "")  # type: ignore[arg-type]  # one of _TEXT_PARTS


def _create(frame: f.ResponseCreate) -> c.CreateResponse:
    options = frame.response
    if options.input:
        raise Undecodable(
            "unsupported_content",
            "response.input is not served; create items instead",
            "response.input",
            frame.event_id,
        )
    modalities = options.output_modalities or options.modalities
    if modalities is not None and not {"audio", "text"} >= set(modalities):
        raise Undecodable(
            "invalid_value", "modalities are audio and text", "response.output_modalities", frame.event_id
        )
    longest = options.max_output_tokens
    if longest is None:  # by its earlier name
        longest = options.max_response_output_tokens
    cap = tokens(longest, "response", frame.event_id)
    return c.CreateResponse(
        client_event=frame.event_id,
        modalities=modalities,
        instructions=options.instructions,
        max_output_tokens=cap if isinstance(cap, int) else None,
        metadata=options.metadata,
        in_history=options.conversation != "none",
    )


def _truncate(frame: f.ItemTruncate) -> c.TruncateItem:
    return c.TruncateItem(
        client_event=frame.event_id,
        item=ItemId(frame.item_id),
        audio_end_ms=int(max(min(frame.audio_end_ms, 1e9), -1)),
        content_index=frame.content_index,
    )


_WISHES: dict[type[f.ClientFrame], Callable[[Any], Wish]] = {
    f.Commit: lambda frame: c.CommitInput(client_event=frame.event_id),
    f.Clear: lambda frame: c.ClearInput(client_event=frame.event_id),
    f.SessionUpdate: lambda frame: configure(frame.session, frame.event_id),
    f.ItemCreate: _item,
    f.ItemRetrieve: lambda frame: AskItem(ItemId(frame.item_id), frame.event_id),
    f.ItemDelete: lambda frame: c.RemoveItem(client_event=frame.event_id, item=ItemId(frame.item_id)),
    f.ItemTruncate: _truncate,
    f.ResponseCreate: _create,
    f.ResponseCancel: lambda frame: c.CancelResponse(
        client_event=frame.event_id,
        response=None if frame.response_id is None else ResponseId(frame.response_id),
    ),
}
