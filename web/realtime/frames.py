"""The client's frames, GA names. Unknown members are ignored: SDKs send members of every vintage."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from .undecodable import LONGEST_ID

Set = UnsetType
Id = Annotated[str, Meta(max_length=LONGEST_ID)]
"""An id that a client chose: it is written down and sent back, so it has an end."""
Index = Annotated[int, Meta(ge=0, le=1_000_000)]
Milliseconds = Annotated[int, Meta(ge=0, le=1_000_000)]


class ClientFrame(Struct, frozen=True, kw_only=True, tag_field="type"):
    event_id: Id | None = None


class Append(ClientFrame, frozen=True, kw_only=True, tag="input_audio_buffer.append"):
    audio: bytes


class Commit(ClientFrame, frozen=True, kw_only=True, tag="input_audio_buffer.commit"):
    pass


class Clear(ClientFrame, frozen=True, kw_only=True, tag="input_audio_buffer.clear"):
    pass


class Format(Struct, frozen=True, kw_only=True):
    type: str
    rate: int | None = None


class TurnDetection(Struct, frozen=True, kw_only=True):
    type: str = "server_vad"
    threshold: float | None = None
    prefix_padding_ms: Milliseconds | None = None
    silence_duration_ms: Milliseconds | None = None
    min_speech_duration_ms: Milliseconds | None = None
    create_response: bool | None = None
    interrupt_response: bool | None = None
    eagerness: str | None = None


class AudioIn(Struct, frozen=True, kw_only=True):
    format: Format | Set | None = UNSET
    transcription: dict[str, Any] | Set | None = UNSET
    turn_detection: TurnDetection | Set | None = UNSET


class AudioOut(Struct, frozen=True, kw_only=True):
    format: Format | Set | None = UNSET
    voice: str | dict[str, Any] | Set | None = UNSET


class Audio(Struct, frozen=True, kw_only=True):
    input: AudioIn | None = None
    output: AudioOut | None = None


class Session(Struct, frozen=True, kw_only=True):
    """The members that mean something here; all of what was sent is kept beside them and echoed."""

    type: str | None = None
    instructions: str | Set | None = UNSET
    output_modalities: tuple[str, ...] | Set | None = UNSET
    audio: Audio | None = None
    max_output_tokens: int | Literal["inf"] | Set | None = UNSET
    temperature: Annotated[float, Meta(ge=0, le=2)] | Set | None = UNSET
    tools: tuple[dict[str, Any], ...] | Set | None = UNSET
    tool_choice: str | dict[str, Any] | Set | None = UNSET


class SessionUpdate(ClientFrame, frozen=True, kw_only=True, tag="session.update"):
    session: Raw


class Content(Struct, frozen=True, kw_only=True):
    type: str
    text: str | None = None
    transcript: str | None = None


class Item(Struct, frozen=True, kw_only=True):
    type: str = "message"
    id: Id | None = None
    role: str | None = None
    content: list[Content] = []
    call_id: Id | None = None
    name: Id | None = None
    arguments: str | None = None
    output: str | None = None


class ItemCreate(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.create"):
    item: Item
    previous_item_id: Id | None = None


class ItemRetrieve(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.retrieve"):
    item_id: Id


class ItemDelete(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.delete"):
    item_id: Id


class ItemTruncate(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.truncate"):
    item_id: Id
    audio_end_ms: float
    content_index: Index = 0


class ResponseOptions(Struct, frozen=True, kw_only=True):
    output_modalities: tuple[str, ...] | None = None
    modalities: tuple[str, ...] | None = None
    instructions: str | None = None
    max_output_tokens: int | Literal["inf"] | None = None
    max_response_output_tokens: int | Literal["inf"] | None = None
    metadata: dict[str, str] | None = None
    conversation: str | None = None
    input: list[Any] | None = None


class ResponseCreate(ClientFrame, frozen=True, kw_only=True, tag="response.create"):
    response: ResponseOptions = ResponseOptions()


class ResponseCancel(ClientFrame, frozen=True, kw_only=True, tag="response.cancel"):
    response_id: Id | None = None


ClientEvent = (
    Append
    | Commit
    | Clear
    | SessionUpdate
    | ItemCreate
    | ItemRetrieve
    | ItemDelete
    | ItemTruncate
    | ResponseCreate
    | ResponseCancel
)
