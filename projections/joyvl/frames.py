"""The answers to ticks: a chat completion, and beside it everything that was decided.

Times are on the video's clock.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from antiphon.events.vocabulary import WatchAction


class Message(Struct, frozen=True):
    content: str
    role: Literal["assistant"] = "assistant"


class Choice(Struct, frozen=True):
    message: Message
    index: int = 0
    finish_reason: Literal["stop"] = "stop"


class SummaryShown(Struct, frozen=True):
    chunk_index: int
    frame_range: str
    summary_text: str


class Memory(Struct, frozen=True):
    long_term_memory: str
    mid_term_summaries: tuple[SummaryShown, ...]


class Delegation(Struct, frozen=True, kw_only=True):
    """`digest` is the answer, `code` why there is none. `media`: a picture; the edge puts it in."""

    task_id: str
    status: Literal["submitted", "ready", "error"]
    question: str
    digest: str | UnsetType = UNSET
    media: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class Interaction(Struct, frozen=True, kw_only=True):
    """`delegation` is the latest of `delegations`."""

    action: WatchAction
    spoke: bool
    text: str
    delegated_question: str | None
    delegation: Delegation | None
    delegations: tuple[Delegation, ...]
    chunk_index: int
    frame_index: int
    inference_skipped: bool
    latency_ms: float
    memory: Memory


class Decided(Struct, frozen=True, kw_only=True):
    """A tick that was decided."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: None = None
    interaction: Interaction


class Failure(Struct, frozen=True, kw_only=True):
    message: str
    type: str
    code: str
    param: str | None = None


class Failed(Struct, frozen=True, kw_only=True):
    """A tick that came to nothing, or was refused."""

    error: Failure


Frame = Decided | Failed


def failed(code: str, message: str, kind: str = "server_error", param: str | None = None) -> Failed:
    return Failed(error=Failure(message=message, type=kind, code=code, param=param))
