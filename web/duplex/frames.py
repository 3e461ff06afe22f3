"""The client's frames. Some have several names; unknown members are ignored.

What is checked by rules with codes of their own (rates, images, ids that must be there) is read as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Union

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.json import Decoder

from antiphon.web.realtime.undecodable import LONGEST_ID

Json = dict[str, Any]
Id = Annotated[str, Meta(max_length=LONGEST_ID)]
"""An id that a client chose: it is written down and sent back, so it has an end."""
Index = Annotated[int, Meta(ge=0, le=1_000_000)]
Word = Annotated[str, Meta(max_length=64)]


class ClientFrame(Struct, frozen=True, kw_only=True, tag_field="type"):
    event_id: Id | None = None


# --- the session ------------------------------------------------------------------------------------------


class SessionUpdate(ClientFrame, frozen=True, kw_only=True, tag="session.update"):
    """Without `session` all other members are the session."""

    session: Json | UnsetType = UNSET


class SessionResume(ClientFrame, frozen=True, kw_only=True, tag="session.resume"):
    """The first frame of a connection whose client was here before."""

    session_id: Any = None
    resume_token: Any = None
    last_received_server_event_seq: Any = 0


class EventAck(ClientFrame, frozen=True, kw_only=True, tag="session.event_ack"):
    server_event_seq: Any = None


class Heartbeat(ClientFrame, frozen=True, kw_only=True, tag="session.heartbeat"):
    pass


class Close(ClientFrame, frozen=True, kw_only=True, tag="session.close"):
    reason: Word = ""


class TurnSignal(ClientFrame, frozen=True, kw_only=True, tag="turn.signal"):
    event: Word | None = None
    payload: Json = {}


# --- input ------------------------------------------------------------------------------------------------


class Format(Struct, frozen=True, kw_only=True):
    type: str = "pcm16"
    rate: Any = None


class Vad(Struct, frozen=True, kw_only=True):
    is_speech: bool | None = None
    speech_probability: float | None = None
    probability: float | None = None
    silence_rms: float | None = None
    speech_started: bool | None = None


class Append(ClientFrame, frozen=True, kw_only=True, tag="input_audio_buffer.append"):
    audio: bytes | None = None
    delta: bytes | None = None
    format: str | Format | None = None
    input_audio_format: str | Format | None = None
    sample_rate_hz: Any = None
    sample_rate: Any = None
    video_frames: Any = None
    max_slice_nums: Any = None
    is_speech: bool | None = None
    speech: bool | None = None
    speech_probability: float | None = None
    vad: Vad | None = None
    overlap_action: str | None = None
    overlap: str | None = None
    force_barge_in: bool = False
    force_listen: bool = False
    text: str | None = None
    transcript: str | None = None


class AppendFile(Append, frozen=True, kw_only=True, tag="input.audio.append"):
    """A WAV file, unless it says otherwise."""


class Commit(ClientFrame, frozen=True, kw_only=True, tag="input_audio_buffer.commit"):
    final: bool = True
    response_create: bool | None = None
    create_response: bool | None = None
    is_speech: bool | None = None


class InputCommit(Commit, frozen=True, kw_only=True, tag="input.commit"):
    """A commit that is answered, unless it says otherwise."""


class Clear(ClientFrame, frozen=True, kw_only=True, tag="input_audio_buffer.clear"):
    pass


class InputCancel(ClientFrame, frozen=True, kw_only=True, tag="input.cancel"):
    pass


class AppendText(ClientFrame, frozen=True, kw_only=True, tag="input.text.append"):
    text: str


# --- items ------------------------------------------------------------------------------------------------


class Content(Struct, frozen=True, kw_only=True):
    type: str
    text: str | None = None
    transcript: str | None = None
    audio: bytes | None = None
    format: str | Format | None = None
    sample_rate_hz: Any = None
    image_url: str | Json | None = None


class Item(Struct, frozen=True, kw_only=True):
    type: str = "message"
    id: Id | None = None
    role: str | None = None
    content: list[Content] = []
    call_id: Id | None = None
    name: Id | None = None
    arguments: str | None = None
    output: Any = None


class ItemCreate(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.create"):
    item: Item
    previous_item_id: Id | None = None


class OfItem(ClientFrame, frozen=True, kw_only=True):
    """Base of what is asked about an item. An id that is missing has a code of its own."""

    item_id: Id | None = None


class ItemRetrieve(OfItem, frozen=True, kw_only=True, tag="conversation.item.retrieve"):
    pass


class ItemDelete(OfItem, frozen=True, kw_only=True, tag="conversation.item.delete"):
    pass


class ItemTruncate(OfItem, frozen=True, kw_only=True, tag="conversation.item.truncate"):
    audio_end_ms: float
    content_index: Index = 0


# --- responses and playback -------------------------------------------------------------------------------


class ResponseCreate(ClientFrame, frozen=True, kw_only=True, tag="response.create"):
    response: Json = {}


class ResponseCancel(ClientFrame, frozen=True, kw_only=True, tag="response.cancel"):
    response_id: Id | None = None


class OutputClear(ClientFrame, frozen=True, kw_only=True, tag="output_audio_buffer.clear"):
    response_id: Id | None = None


class BargeIn(ClientFrame, frozen=True, kw_only=True, tag="barge_in"):
    pass


class PlaybackAck(ClientFrame, frozen=True, kw_only=True, tag="playback.ack"):
    played_ms: float
    committed_ms: float | None = None
    response_id: Id | None = None
    item_id: Id | None = None
    truncate: bool = False


FRAMES: tuple[type[ClientFrame], ...] = (
    Append, AppendFile, Commit, InputCommit, Clear, InputCancel, AppendText,
    SessionUpdate, SessionResume, EventAck, Heartbeat, Close, TurnSignal,
    ItemCreate, ItemRetrieve, ItemDelete, ItemTruncate,
    ResponseCreate, ResponseCancel, OutputClear, BargeIn, PlaybackAck,
)  # fmt: skip

ALIASES: dict[str, type[ClientFrame]] = {
    "close": Close,
    "close_session": Close,
    "session_close": Close,
    "push_chunk": AppendFile,
    "input_text.append": AppendText,
    "push_text": AppendText,
    "signal_turn": TurnSignal,
    "audio.playback_ack": PlaybackAck,
}
"""Other names of the same frames, from earlier releases of the protocol."""


def name_of(frame: type[ClientFrame]) -> str:
    """The frame's `type`."""
    return str(frame.__struct_config__.tag)


def _alias(name: str, frame: type[ClientFrame]) -> type[ClientFrame]:
    made = defstruct(name.replace(".", "_"), [], bases=(frame,), tag=name, frozen=True, kw_only=True)
    assert issubclass(made, ClientFrame)
    return made


Kinds = Mapping[type[ClientFrame], type[ClientFrame]]
"""Every class that a frame is read as, and the frame that it is."""


def kinds(frames: tuple[type[ClientFrame], ...], aliases: Mapping[str, type[ClientFrame]]) -> Kinds:
    return {
        **{frame: frame for frame in frames},
        **{_alias(name, frame): frame for name, frame in aliases.items()},
    }


def reading(known: Kinds) -> Decoder[ClientFrame]:
    """Tells frames by their `type`."""
    return Decoder(Union[tuple(known)])  # noqa: UP007  # of a tuple


KINDS = kinds(FRAMES, ALIASES)
