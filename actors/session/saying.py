"""What stages say to a session: commands like a client's, but none that anybody may be refused for.

What a client, a timer or the host asks stands in commands.py, which has these by their names, too.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from antiphon.events.ids import Operation

StageRole = Literal["voice", "model"]


class Command(Struct, frozen=True, kw_only=True, gc=False):
    """Something that may be asked."""

    client_event: str | None = None
    part: int | None = None

    @property
    def accepted_as(self) -> str | None:
        """The name by which it is known that this was taken in; None: nobody will ask."""
        event = self.client_event
        return event if event is None or self.part is None else f"{event}#{self.part}"


class RecordStage(Command, frozen=True, kw_only=True):
    """A stage took the session in, would not, let it go, went, came back, or settled a configuration."""

    stage: StageRole
    what: Literal["opened", "refused", "released", "away", "returned", "configured", "config_refused"]
    engine: str = ""
    code: str = ""
    message: str = ""
    retryable: bool = False
    generation: int = 0
    """Of which configuration it speaks."""


class RecordScores(Command, frozen=True, kw_only=True):
    """Speech probabilities of the windows that end at `until_sample`."""

    until_sample: int
    window: int
    permille: tuple[int, ...]


class StageWord(Command, frozen=True, kw_only=True):
    """Base of what the model stage says of an operation. `epoch` is the one it was asked in. `tokens`: what
    its model generated of a unit, with the last word of it."""

    operation: Operation
    index: int
    epoch: int
    last: bool
    tokens: tuple[int, ...] = ()


class RecordHeard(StageWord, frozen=True, kw_only=True):
    """The recogniser understood `text`."""

    text: str


class RecordRoute(StageWord, frozen=True, kw_only=True):
    """The stage says who answers."""

    route: str


class RecordSpeech(StageWord, frozen=True, kw_only=True):
    """The stage said `text`, and `pcm` is its audio (24 kHz mono pcm16). `image`: a picture that it made."""

    text: str
    pcm: bytes
    image: bytes = b""


class RecordConsumed(StageWord, frozen=True, kw_only=True):
    """A piece of input was heard and nothing is said of it."""

    reason: str = "model_listen"


class RecordTurnEnd(StageWord, frozen=True, kw_only=True):
    """The model ended its turn."""


class RecordCall(StageWord, frozen=True, kw_only=True):
    """The model calls a function of the client's."""

    call_id: str
    name: str
    arguments: str


class RecordMeasure(StageWord, frozen=True, kw_only=True):
    """The stage measured itself."""

    name: str
    value_ms: int
    each_us: tuple[int, ...] = ()


class RecordFinish(StageWord, frozen=True, kw_only=True):
    """The answer is complete, or cut at its token limit."""

    why: Literal["done", "length"]
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class RecordFailure(StageWord, frozen=True, kw_only=True):
    """The stage did not do as asked."""

    code: str
    message: str
    retryable: bool = False
