"""The client in a call that is held again: it takes everything at once, and plays it as time passes.

Against the recorded stage it reports of each answer what the recorded one did, as long after its beginning.
Against another stage what it says of playback follows from what it was sent: its socket takes each piece when
it comes, and where the recorded client acknowledged, this one plays one answer after the other and says every
ACKNOWLEDGE_NS how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from antiphon.actors.runtime import Published, Retrieved, Sink
from antiphon.actors.session import commands as c
from antiphon.actors.session.attachment import FRAMES_PER_EVENT
from antiphon.events import vocabulary as v
from antiphon.events.ids import ResponseId
from antiphon.events.units import SAMPLE_RATE, SECOND_NS, Moment, Samples

from .names import Named, Renaming

ACKNOWLEDGE_NS = 250_000_000


class Stage(Protocol):
    """Where a client plays its part."""

    def now(self) -> Moment: ...

    def after(self, ns: int, action: Callable[[], None]) -> None: ...

    def ask(self, command: c.Command) -> None: ...

    def begun(self, response: ResponseId) -> None: ...


class Client(Sink):
    """`new` is told of every event, so that the script's ids can be found. `code` is the version to name."""

    def __init__(self, new: Named, renaming: Renaming, *, code: str, acknowledges: bool) -> None:
        self.code = code
        self.aborted = ""
        self._named, self._renaming, self._acknowledges = new, renaming, acknowledges
        self._place: Stage
        self._last_seq = 0
        self._unreported: dict[ResponseId, v.AudioSent] = {}
        self._begun_ns: dict[ResponseId, int] = {}
        self._first_ns: dict[ResponseId, int] = {}
        self._generated: dict[ResponseId, int] = {}
        self._void: set[ResponseId] = set()
        self._active: ResponseId | None = None
        self._owed = False
        self._playing_until_ns = 0

    def take_part(self, place: Stage) -> None:
        self._place = place

    @property
    def is_answered(self) -> bool:
        """Whether no answer is under way, or about to be."""
        return self._active is None and not self._owed

    # --- Sink ---------------------------------------------------------------------------------------------

    def publish(self, batch: Sequence[Published]) -> None:
        for one in batch:
            self._named.note(one.stored.event)
            self._last_seq = one.stored.seq
            self._watch(one.stored.event)

    def answer(self, answer: Retrieved) -> None:
        """Nothing is retrieved."""

    def refuse(self, code: str, message: str, client_event: str | None, parameter: str | None) -> None:
        """A refusal that no log holds changes nothing."""

    def abort(self, code: str, message: str) -> None:
        self.aborted = f"{code}: {message}"

    # --- what it knows of answers -------------------------------------------------------------------------

    def _watch(self, event: v.Event) -> None:
        match event:
            case v.SpeechStarted():
                self._owed = True
            case v.ResponseCreated(response=response):
                self._active, self._owed = response, False
                self._begun_ns[response] = self._place.now().mono_ns
                self._place.begun(response)
            case v.ResponseEnded(response=response) if response == self._active:
                self._active = None
            case v.AudioSpoken(response=response, until_sample=until):
                self._take(response, until)
            case v.EpochAdvanced() | v.OutputCleared():
                self._void |= set(self._generated)

    def _take(self, response: ResponseId, until: int) -> None:
        now_ns = self._place.now().mono_ns
        if response not in self._first_ns:
            begins_ns = max(now_ns, self._playing_until_ns)
            self._first_ns[response] = begins_ns if self._acknowledges else now_ns
            if self._acknowledges:
                self._place.after(begins_ns - now_ns + ACKNOWLEDGE_NS, lambda: self._acknowledge(response))
        self._generated[response] = until
        self._playing_until_ns = self._first_ns[response] + until * SECOND_NS // SAMPLE_RATE
        self._unreported[response] = v.AudioSent(response, Samples(until), self._first_ns[response])

    def _acknowledge(self, response: ResponseId) -> None:
        if response in self._void:
            return
        played_ms = (self._place.now().mono_ns - self._first_ns[response]) // 1_000_000
        generated_ms = self._generated[response] * 1000 // SAMPLE_RATE
        self._place.ask(c.AcknowledgePlayback(heard_ms=min(played_ms, generated_ms), response=response))
        if played_ms < generated_ms or response == self._active:
            self._place.after(ACKNOWLEDGE_NS, lambda: self._acknowledge(response))

    # --- reports ------------------------------------------------------------------------------------------

    def report(self) -> c.ReportSent | None:
        """What its socket has taken since the last report."""
        if not self._unreported:
            return None
        audio, self._unreported = tuple(self._unreported.values()), {}
        through = self._last_seq * FRAMES_PER_EVENT + FRAMES_PER_EVENT - 1
        return c.ReportSent(attachment=1, through=through, audio=audio)

    def as_recorded(self, report: c.ReportSent) -> c.ReportSent:
        """A recorded report of an answer that has begun here, in this call's names and on its clock."""
        audio = []
        for one in report.audio:
            response = ResponseId(self._renaming.name("response", one.response))
            audio.append(
                v.AudioSent(response, one.until_sample, self._begun_ns[response] + one.first_mono_ns)
            )
        through = self._last_seq * FRAMES_PER_EVENT + FRAMES_PER_EVENT - 1
        return c.ReportSent(attachment=1, through=through, audio=tuple(audio))
