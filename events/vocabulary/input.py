"""What came in from the user. Sample counts are positions on the session's own input clock (24 kHz)."""

from typing import Literal

from ..ids import ItemId, Operation
from ..units import Millis, Samples
from .base import Event


class InputAppended(Event, frozen=True, kw_only=True):
    """Audio arrived; its blob holds `samples` of PCM ending at `until_sample`.

    `speech` is what whoever sent it, or its loudness, says of it; None: nobody judged. `sent_bytes`: as the
    client sent it, where a mode bounds that.
    """

    samples: Samples
    until_sample: Samples
    speech: bool | None = None
    sent_bytes: int = 0


class ImageReceived(Event, frozen=True, kw_only=True):
    """An image came, with the audio at `at_sample` or as part of `item`. Its blob holds the file."""

    media_type: Literal["image/jpeg", "image/png"]
    at_sample: Samples
    item: ItemId | None = None


class OverlapDecided(Event, frozen=True, kw_only=True):
    """The user's audio up to `until_sample` arrived while an answer was under way or playing.

    `drop`: it counts as silence. `listen`: the answer goes on. `barge_in`: the answer is cut off. `reason` is
    the rule that decided; `overlap_ms` the speech heard over this answer so far.
    """

    action: Literal["drop", "listen", "barge_in"]
    reason: str
    until_sample: Samples
    duration_ms: Millis
    overlap_ms: Millis


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
    """The user's turn is closed: silence lasted long enough (`voice`), the client stopped sending (`timer`),
    an answer was given meanwhile that he could not interrupt (`answer`), or the session ended (`end`).

    `short`: there was too little speech for it to be the user's turn, and nothing comes of it.
    """

    item: ItemId
    until_sample: Samples
    by: str = "voice"
    short: bool = False


CommitOutcome = Literal["kept", "asked", "deferred", "acknowledgement", "silence"]


class InputCommitted(Event, frozen=True, kw_only=True):
    """Input audio [from, until) became the user's item. `by` is `client` or `voice`; `end`: what was being
    said when the session ended.

    `kept`: it waits until somebody asks for an answer (under server VAD turns.py asks by itself). `asked`: an
    answer to it is asked for at once. `deferred`: it is answered when the answer under way has ended.
    `acknowledgement`: a short word over an answer, and `silence`: nothing was said; neither is an entry of
    the conversation.
    """

    item: ItemId
    from_sample: Samples
    until_sample: Samples
    by: str
    previous: ItemId | None = None
    outcome: CommitOutcome = "kept"
    client_event: str | None = None
    """Where the commit may still fail: the stage has not been given all of the item."""
    final: bool = True
    """False: the user's turn goes on behind it."""
    turn: int | None = None
    """That of the answer to it, if it gets one."""


class InputTranscribed(Event, frozen=True, kw_only=True):
    """What the recogniser understood of a committed item. `error` is a stable code if it failed."""

    item: ItemId
    text: str
    operation: Operation
    error: str | None = None


class InputCleared(Event, frozen=True, kw_only=True):
    """Uncommitted input up to `until_sample` was thrown away."""

    until_sample: Samples
