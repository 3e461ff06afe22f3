"""What came in from the user. Sample counts are positions on the session's own input clock (24 kHz)."""

from ..ids import ItemId, Operation
from ..units import Samples
from .base import Event


class InputAppended(Event, frozen=True, kw_only=True):
    """Audio arrived; its blob holds `samples` of PCM ending at `until_sample`."""

    samples: Samples
    until_sample: Samples


class VoiceScored(Event, frozen=True, kw_only=True):
    """The detector's speech probability of each window, in permille; the last one ends at `until_sample`.

    `window` is the length of one window. Recorded so that other thresholds can be tried on a recording.
    """

    until_sample: Samples
    window: Samples
    permille: tuple[int, ...]


class SpeechStarted(Event, frozen=True, kw_only=True):
    """The user began to speak at `onset_sample`; audio is kept from `from_sample` (with the prefix)."""

    item: ItemId
    onset_sample: Samples
    from_sample: Samples


class SpeechStopped(Event, frozen=True, kw_only=True):
    """Silence lasted long enough to close the user's turn. `by="timer"`: the client stopped sending."""

    item: ItemId
    until_sample: Samples
    by: str = "voice"


class InputCommitted(Event, frozen=True, kw_only=True):
    """Input audio [from, until) became the user's item. `by` is `client` or `voice`."""

    item: ItemId
    from_sample: Samples
    until_sample: Samples
    by: str
    previous: ItemId | None = None


class InputTranscribed(Event, frozen=True, kw_only=True):
    """What the recogniser understood of a committed item. `error` is a stable code if it failed."""

    item: ItemId
    text: str
    operation: Operation
    error: str | None = None


class InputCleared(Event, frozen=True, kw_only=True):
    """Uncommitted input up to `until_sample` was thrown away."""

    until_sample: Samples
