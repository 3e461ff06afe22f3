"""The client's frames, GA names. Unknown members are ignored: SDKs send members of every vintage."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

Set = UnsetType


class ClientFrame(Struct, frozen=True, kw_only=True, tag_field="type"):
    event_id: str | None = None


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
    prefix_padding_ms: int | None = None
    silence_duration_ms: int | None = None
    min_speech_duration_ms: int | None = None
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
    temperature: float | Set | None = UNSET


class SessionUpdate(ClientFrame, frozen=True, kw_only=True, tag="session.update"):
    session: Raw


class Content(Struct, frozen=True, kw_only=True):
    type: str
    text: str | None = None
    transcript: str | None = None


class Item(Struct, frozen=True, kw_only=True):
    type: str = "message"
    id: str | None = None
    role: str | None = None
    content: list[Content] = []
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    output: str | None = None


class ItemCreate(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.create"):
    item: Item
    previous_item_id: str | None = None


class ItemRetrieve(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.retrieve"):
    item_id: str


class ItemDelete(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.delete"):
    item_id: str


class ItemTruncate(ClientFrame, frozen=True, kw_only=True, tag="conversation.item.truncate"):
    item_id: str
    audio_end_ms: float
    content_index: int = 0


class ResponseOptions(Struct, frozen=True, kw_only=True):
    output_modalities: tuple[str, ...] | None = None
    modalities: tuple[str, ...] | None = None
    instructions: str | None = None
    max_output_tokens: int | Literal["inf"] | None = None
    metadata: dict[str, str] | None = None
    conversation: str | None = None
    input: list[Any] | None = None


class ResponseCreate(ClientFrame, frozen=True, kw_only=True, tag="response.create"):
    response: ResponseOptions = ResponseOptions()


class ResponseCancel(ClientFrame, frozen=True, kw_only=True, tag="response.cancel"):
    response_id: str | None = None


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
