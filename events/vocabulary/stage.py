"""What was asked of the stages and what became of it."""

from typing import ClassVar, Literal

from ..ids import Fence, ItemId, Operation, ResponseId, Seq
from ..units import Millis, Samples
from .base import Event


class StageOpened(Event, frozen=True, kw_only=True):
    """A stage took the session in. `engine` changes when the stage process was restarted."""

    stage: str
    engine: str


class StageRefused(Event, frozen=True, kw_only=True):
    """A stage would not take the session: `resource_exhausted`, `not_ready`, or an engine's own code."""

    stage: str
    code: str
    message: str
    retryable: bool = False


class StageReleased(Event, frozen=True, kw_only=True):
    """The stage has really let go of the session; its place is free."""

    stage: str


class StageAway(Event, frozen=True, kw_only=True):
    """The process of a stage has gone. It is being started again, and the session waits for it."""

    stage: str
    reason: str


class StageReturned(Event, frozen=True, kw_only=True):
    """A stage that was away serves again, and knows nothing of the session: it is opened and asked anew."""

    stage: str


class StageLost(Event, frozen=True, kw_only=True):
    """The stage is gone for good: it did not come back in time. (In logs of 0.1: its process had gone.)"""

    stage: str
    reason: str


class UnitSubmitted(Event, frozen=True, kw_only=True):
    """Work was given to the model stage. Its seq is the operation id.

    `work="recognise"`: understand input [from, until), belonging to `item`. `work="speak"`: answer as
    `response`. `work="turn"`: a continuously hearing stage is told that the user's turn ended. `work="unit"`:
    a stage that hears in units is given input [from, until) and then `silence` samples of zeros, with
    `images` (the ImageReceived at those places); `final` ends the user's turn, `force_listen` leaves the
    model no choice. `work="configure"`: the earliest ConfigProposed is put to the stage, in order with units.
    """

    work: Literal["recognise", "speak", "turn", "unit", "configure"]
    fence: Fence
    item: ItemId | None = None
    from_sample: Samples = Samples(0)
    until_sample: Samples = Samples(0)
    response: ResponseId | None = None
    silence: Samples = Samples(0)
    final: bool = False
    force_listen: bool = False
    images: tuple[Seq, ...] = ()


class UnitCompleted(Event, frozen=True, kw_only=True):
    """The stage finished an operation. `text` is a recognition's result. `tokens`: what its model
    generated of a unit, by its own numbers, where it wants to be told of that again."""

    operation: Operation
    text: str | None = None
    tokens: tuple[int, ...] = ()


class UnitRefused(Event, frozen=True, kw_only=True):
    """The stage did not do an operation: a stale fence, a lack of room, or an engine's failure."""

    operation: Operation
    code: str
    message: str
    retryable: bool = False


class StageOutputDropped(Event, frozen=True, kw_only=True):
    """Output of a void epoch arrived after the fence had moved; it was counted, not shown."""

    ancillary: ClassVar[bool] = True
    operation: Operation
    index: int
    epoch: int


class StageMeasured(Event, frozen=True, kw_only=True):
    """How long the stage took, on its own clock. `each_us`: the single intervals, where it tells them."""

    ancillary: ClassVar[bool] = True
    operation: Operation
    index: int
    name: str
    value_ms: Millis
    each_us: tuple[int, ...] = ()


class EffectStarted(Event, frozen=True, kw_only=True):
    """Something that must not run twice is about to run (a call to an external model)."""

    operation: Operation
    effect: str


class EffectFailed(Event, frozen=True, kw_only=True):
    """A started effect did not end: the process died, or the other side failed. It is not tried again."""

    operation: Operation
    code: str
    message: str
