"""The pieces of a streamed chat completion, as far as we read them. Sans-I/O."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from antiphon.actors.stages.cascade.writing import Written
from antiphon.actors.stages.contract import Call

DONE = "[DONE]"
MOST_CALLS = 32
MOST_ARGUMENTS = 1_000_000
"""Functions that one answer may call, and the characters of all their arguments."""


class _Function(Struct):
    name: str | None = None
    arguments: str | None = None


class _Piece(Struct):
    """Of a call: the first has its id and its name, later ones more of its arguments."""

    index: int = 0
    id: str | None = None
    function: _Function = msgspec.field(default_factory=_Function)


class _Delta(Struct):
    content: str | None = None
    tool_calls: list[_Piece] | None = None


class _Choice(Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _Cached(Struct):
    cached_tokens: int | None = None


class _Usage(Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Cached | None = None


class _Chunk(Struct):
    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: msgspec.Raw | None = None


class NotAnAnswer(ValueError):
    """What the server sent is no piece of a chat completion, or is its report of a failure."""

    code = "not_an_answer"


class Completion:
    """Follows one answer: what is said next, and in the end what it took."""

    def __init__(self) -> None:
        self.ended = False
        """The server has said that its answer is whole."""
        self._why: Literal["done", "length"] = "done"
        self._usage = _Usage()
        self._calls: dict[int, list[str]] = {}
        """Id, name and arguments of each call, as far as they have come."""
        self._room = MOST_ARGUMENTS

    def read(self, data: str) -> str:
        """The words of the next piece, maybe none. Raises NotAnAnswer."""
        if data.strip() == DONE:
            self.ended = True
            return ""
        try:
            chunk = msgspec.json.decode(data, type=_Chunk)
        except msgspec.DecodeError as error:
            raise NotAnAnswer("a piece that is no chat completion chunk") from error
        if chunk.error is not None:
            raise NotAnAnswer("the server reported an error in the middle of its answer")
        self._usage = chunk.usage or self._usage
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        if choice.finish_reason:
            self.ended = True
            self._why = "length" if choice.finish_reason == "length" else "done"
        for piece in choice.delta.tool_calls or ():
            self._read_call(piece)
        return choice.delta.content or ""

    def _read_call(self, piece: _Piece) -> None:
        call = self._calls.setdefault(piece.index, ["", "", ""])
        call[0] = call[0] or piece.id or ""
        call[1] += piece.function.name or ""
        call[2] += piece.function.arguments or ""
        self._room -= len(piece.function.arguments or "") + len(piece.function.name or "")
        if self._room < 0 or len(self._calls) > MOST_CALLS:
            raise NotAnAnswer("functions are called without end")

    def written(self) -> Written:
        cached = self._usage.prompt_tokens_details
        return Written(
            why=self._why,
            input_tokens=self._usage.prompt_tokens,
            output_tokens=self._usage.completion_tokens,
            cached_tokens=(cached.cached_tokens or 0) if cached else 0,
            calls=tuple(
                Call(id_ or f"call_{index}", name, arguments or "{}")
                for index, (id_, name, arguments) in sorted(self._calls.items())
                if name
            ),
        )
