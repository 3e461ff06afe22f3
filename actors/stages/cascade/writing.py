"""What writes the words of an answer: the port behind which the embedded model and a chat server stand."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol

from msgspec import Struct

from antiphon.actors.stages.contract import Call, Turn
from antiphon.events.ids import SessionId


class Stop:
    """Set once, by whoever voids an answer; everybody who asked is told then, or at once if it is late."""

    def __init__(self) -> None:
        self._told: list[Callable[[], object]] = []
        self.is_set = False

    def set(self) -> None:
        self.is_set = True
        with suppress(IndexError):  # two threads may be telling at once; each call is popped by one of them
            while True:
                self._told.pop()()

    def then(self, call: Callable[[], object]) -> None:
        self._told.append(call)
        if self.is_set:
            self.set()


class Request(Struct, frozen=True, kw_only=True):
    """A prompt and the bounds of its answer. `max_tokens` None: the writer's own."""

    session: SessionId
    messages: tuple[Turn, ...]
    max_tokens: int | None = None
    temperature: float | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: Any = "auto"
    sampling: dict[str, Any] = {}
    endpoint: str = ""


class Written(Struct, frozen=True, kw_only=True):
    """How the writing ended and what it took.

    `length`: at the number of tokens that the request allowed; `cut`: at the writer's own limit, so that the
    last words lead nowhere; `stopped`: nobody wanted more.
    """

    why: Literal["done", "length", "cut", "stopped"] = "done"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    calls: tuple[Call, ...] = ()
    """Functions of the client's that are called behind the words."""
    image: bytes = b""
    """A picture that was made, where an endpoint for pictures was asked."""


class WritingFailed(Exception):
    """No (further) words will come. `code` is stable."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.retryable = code, message, retryable


class Writer(Protocol):
    """Software that continues a conversation. `write` blocks and may run in `lanes` threads at once."""

    lanes: int
    room: int
    """Tokens that a prompt may have."""
    takes_verbatim: bool
    """Whether a conversation can be sent as it stands, however long it is."""

    def prepare(self, session: SessionId) -> None:
        """A session begins: whatever makes its first answer come sooner. Blocks; may be left out."""

    def write(self, request: Request, take: Callable[[str], bool], stop: Stop) -> Written:
        """Hand the answer over piece by piece until it ends, `take` returns True, or `stop` is set.

        Raises WritingFailed.
        """

    def forget(self, session: SessionId) -> None:
        """The session is over. Does not block."""

    def close(self) -> None: ...
