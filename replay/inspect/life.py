"""One life of a session as the pages show it: a fold that is told event by event, and asked at any time.

Times are milliseconds since the session's first event, on the clock of timeline.py. What was said stands
where it sounded: the user's speech where its audio lies, an answer where its first audio was handed to the
client. Whoever has been told everything up to one event asks for what came after it, and is told again of
spans that have changed since: an answer grows, and what was heard of it is known last.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from antiphon.actors.session.state import Played, Session
from antiphon.events.codec import refuse_unknown_critical
from antiphon.events.envelope import Stored, Unknown
from antiphon.events.ids import ItemId, ResponseId, SessionId
from antiphon.events.units import SAMPLE_RATE, samples_to_ms
from antiphon.events.vocabulary import (
    AudioSpoken,
    Event,
    FramesSent,
    InputAppended,
    InputCommitted,
    InputTranscribed,
    ItemTruncated,
    OutputCleared,
    PlaybackAcknowledged,
    PlaybackEstimated,
    ResponseCreated,
    ResponseEnded,
    SpeechStarted,
    SpeechStopped,
    TextSpoken,
    VoiceScored,
    WriterOpened,
)
from antiphon.replay.lines import is_quiet
from antiphon.replay.sound import Laid, Placing, heard_samples

from .marks import Mark, mark

LONGEST_TEXT = 200
CHECKPOINT_EVERY = 2_048


_Moving = AudioSpoken | PlaybackAcknowledged | PlaybackEstimated | OutputCleared | ItemTruncated
Side = Literal["you", "it"]


class Span(Struct, frozen=True, kw_only=True):
    """Speech of the user (`you`), or an answer (`it`), on the timeline.

    Of an answer: it was heard up to `heard_ms`; `waited_ms` is from the commit that it answers, else from its
    beginning, to its first audio at the client; `outcome` None: it goes on. `text` is its beginning.
    """

    key: str
    side: Side
    from_ms: int
    to_ms: int | None
    seq: int
    text: str = ""
    heard_ms: int | None = None
    waited_ms: int | None = None
    outcome: str | None = None


class Begun(Struct):
    """What is known of a span beside what the state says of it."""

    side: Side
    seq: int
    at_ms: int
    asked_ms: int | None = None
    onset: int = 0
    until: int | None = None
    text: str = ""
    outcome: str | None = None


class LifeView:
    """Told every event of a life in order, from its first."""

    def __init__(self, session: SessionId) -> None:
        self._placing = Placing(session)
        self.marks: list[Mark] = []
        self.notable = array("q")
        """The seqs of events that do not come many times a second."""
        self.next_seq = 0
        self.until_ms = 0
        self.voice_at, self.voice_permille = array("q"), array("H")
        """Where each window of the voice detector ends, in samples of the timeline, and what it said."""
        self.voice_window = 0
        self._checkpoints: list[Session] = []
        self._unknown: Stored | None = None
        """The first critical event that this code does not know: no state behind it can be trusted."""
        self._begun: dict[str, Begun] = {}
        self._touched: dict[str, int] = {}
        """By which event each span was changed last, the latest behind."""
        self._committed_ms: dict[ItemId, int] = {}
        self._last_commit_ms: int | None = None
        self._input_ends = array("q")
        self._zero_seqs, self._zeros_ns = array("q"), array("q")
        """From which event on the monotonic clock began where: anew with each writer."""

    def take(self, stored: Stored) -> None:
        self._placing.take(stored)
        at_ms = self._ms(stored.at.mono_ns)
        if isinstance(stored.event, WriterOpened) or not self._zeros_ns:
            self._zeros_ns.append(stored.at.mono_ns - at_ms * 1_000_000)
            self._zero_seqs.append(stored.seq)
        self.until_ms = max(self.until_ms, at_ms)
        if not is_quiet(stored):
            self.notable.append(stored.seq)
            found = mark(stored, at_ms)
            if found is not None:
                self.marks.append(found)
        if self._unknown is None and stored.critical and isinstance(stored.event, Unknown):
            self._unknown = stored
        fold = _FOLDS.get(type(stored.event))
        if fold is not None:
            fold(self, stored, stored.event)
        self.next_seq = stored.seq + 1
        if self.next_seq % CHECKPOINT_EVERY == 0:
            self._checkpoints.append(self._placing.state)

    def spans(self, after: int) -> list[Span]:
        """Those that events with a seq of at least `after` have changed, in no promised order."""
        changed = []
        for key in reversed(self._touched):
            if self._touched[key] < after:
                break
            changed.append(key)
        played = {one.response: one for one in self._placing.state.played} if changed else {}
        begun = ((key, self._begun[key]) for key in changed)
        return [
            self._answer(key, one, played[ResponseId(key)]) if one.side == "it" else self._speech(key, one)
            for key, one in begun
        ]

    def marks_after(self, seq: int) -> list[Mark]:
        """Those with a seq of at least `seq`."""
        return self.marks[bisect_left(self.marks, seq, key=lambda one: one.seq) :]

    def notable_after(self, seq: int, most: int | None = None) -> list[int]:
        """The seqs of those with a seq of at least `seq`; the first `most` of them."""
        first = bisect_left(self.notable, seq)
        return self.notable[first : None if most is None else first + most].tolist()

    def laid(self, *, generated: bool) -> Laid:
        """Where all audio lies that there is so far. In any thread."""
        return self._placing.laid(generated=generated)

    def at_ms(self, stored: Stored) -> float:
        """Where an event lies that has been taken. In any thread."""
        known = max(bisect_right(self._zero_seqs, stored.seq) - 1, 0)
        return round((stored.at.mono_ns - self._zeros_ns[known]) / 1e6, 1)

    def state_before(self, seq: int) -> Session:
        """The latest state that is kept of those before `seq`; its own `seq` says which event comes next.

        In any thread. Raises UnknownCritical where this code does not know all that happened before `seq`.
        """
        if self._unknown is not None and self._unknown.seq < seq:
            refuse_unknown_critical(self._unknown)
        known = min(seq // CHECKPOINT_EVERY, len(self._checkpoints))
        return self._checkpoints[known - 1] if known else Session(self._placing.state.id)

    # --- spans --------------------------------------------------------------------------------------------

    def _appended(self, stored: Stored, event: InputAppended) -> None:
        self._input_ends.append(event.until_sample)

    def _speech_begins(self, stored: Stored, event: SpeechStarted) -> None:
        self._begin(event.item, "you", stored).onset = event.onset_sample

    def _speech_ends(self, stored: Stored, event: SpeechStopped) -> None:
        self._of(event.item, stored).until = event.until_sample

    def _transcribed(self, stored: Stored, event: InputTranscribed) -> None:
        self._of(event.item, stored).text = event.text[:LONGEST_TEXT]

    def _said(self, stored: Stored, event: TextSpoken) -> None:
        answer = self._of(event.response, stored)
        answer.text = (answer.text + event.text)[:LONGEST_TEXT]

    def _ended(self, stored: Stored, event: ResponseEnded) -> None:
        self._of(event.response, stored).outcome = event.outcome

    def _moved(self, stored: Stored, event: _Moving) -> None:
        """The state knows how; here it is only known that."""
        if event.response is not None:
            self._of(event.response, stored)

    def _sent(self, stored: Stored, event: FramesSent) -> None:
        for one in event.audio:
            self._of(one.response, stored)

    def _scored(self, stored: Stored, event: VoiceScored) -> None:
        self.voice_window = event.window
        end = self._place_of_input(event.until_sample)
        for k, permille in enumerate(event.permille, 1 - len(event.permille)):
            self.voice_at.append(end + k * event.window)
            self.voice_permille.append(permille)

    def _committed(self, stored: Stored, event: InputCommitted) -> None:
        item, onset, until = event.item, event.from_sample, event.until_sample
        self._committed_ms[item] = self._last_commit_ms = self._ms(stored.at.mono_ns)
        if item not in self._begun and until > onset:  # the client decided what a turn is
            self._begin(item, "you", stored).onset = onset
        if item in self._begun:
            self._of(item, stored).until = until

    def _answer_begins(self, stored: Stored, event: ResponseCreated) -> None:
        begun = self._begin(event.response, "it", stored)
        begun.asked_ms, self._last_commit_ms = self._last_commit_ms, None
        if event.answers is not None:
            begun.asked_ms = self._committed_ms.get(event.answers)

    def _begin(self, key: str, side: Side, stored: Stored) -> Begun:
        self._begun[key] = Begun(side, stored.seq, self._ms(stored.at.mono_ns))
        return self._of(key, stored)

    def _of(self, key: str, stored: Stored) -> Begun:
        """What is known of a span; it has changed. Of one that never began nothing is kept."""
        begun = self._begun.get(key)
        if begun is None:
            return Begun("you", stored.seq, 0)
        self._touched.pop(key, None)
        self._touched[key] = stored.seq
        return begun

    def _answer(self, key: str, begun: Begun, played: Played) -> Span:
        first = self._placing.sent.get(played.response, self._placing.made.get(played.response))
        from_ms = begun.at_ms if first is None else samples_to_ms(first)
        generated_ms = samples_to_ms(played.generated)
        heard = samples_to_ms(heard_samples(played, self._placing.state.mono_ns))
        sent = self._placing.sent.get(played.response)
        asked_ms = begun.at_ms if begun.asked_ms is None else begun.asked_ms
        return Span(
            key=key,
            side="it",
            from_ms=from_ms,
            to_ms=from_ms + generated_ms,
            seq=begun.seq,
            text=begun.text,
            heard_ms=from_ms + heard,
            waited_ms=None if sent is None else max(samples_to_ms(sent) - asked_ms, 0),
            outcome=begun.outcome,
        )

    def _speech(self, key: str, begun: Begun) -> Span:
        from_ms = samples_to_ms(self._place_of_input(begun.onset))
        to_ms = None if begun.until is None else samples_to_ms(self._place_of_input(begun.until))
        return Span(key=key, side="you", from_ms=from_ms, to_ms=to_ms, seq=begun.seq, text=begun.text)

    # --- places -------------------------------------------------------------------------------------------

    def _ms(self, mono_ns: int) -> int:
        return self._placing.timeline.place(mono_ns) * 1_000 // SAMPLE_RATE

    def _place_of_input(self, sample: int) -> int:
        """Where a sample of the session's input clock lies on the timeline."""
        pieces = self._placing.user
        k = min(bisect_left(self._input_ends, sample), len(pieces) - 1)
        if k < 0:
            return sample
        return max(pieces[k].start + pieces[k].samples - (self._input_ends[k] - sample), 0)


_FOLDS: dict[type[Event], Callable[[LifeView, Stored, Any], None]] = {
    InputAppended: LifeView._appended,
    VoiceScored: LifeView._scored,
    SpeechStarted: LifeView._speech_begins,
    SpeechStopped: LifeView._speech_ends,
    InputCommitted: LifeView._committed,
    InputTranscribed: LifeView._transcribed,
    ResponseCreated: LifeView._answer_begins,
    TextSpoken: LifeView._said,
    AudioSpoken: LifeView._moved,
    FramesSent: LifeView._sent,
    ResponseEnded: LifeView._ended,
    PlaybackAcknowledged: LifeView._moved,
    PlaybackEstimated: LifeView._moved,
    OutputCleared: LifeView._moved,
    ItemTruncated: LifeView._moved,
}
