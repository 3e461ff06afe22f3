"""What a client did in a recorded call, and what its voice detector heard, as commands to be asked again.

A fact that no other fact caused (`Stored.cause`) came from outside: from the client, from a stage, or from a
timer. Those of clients are turned back into what was asked; what the session made of it is left to the
session that is asked again. What was refused is not in it, nor when a client lost its connection: in the new
session it does not.

Of the log alone nobody can tell what a client's own detector said of audio over an answer (the hints of the
duplex dialect), but for what was decided by it: that is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.modes.half_duplex.commands import Prepare
from antiphon.actors.modes.personaplex.commands import Finish, ReportUndecodable
from antiphon.actors.session import commands as c
from antiphon.actors.session.configuration import MEMBERS
from antiphon.events import vocabulary as v
from antiphon.events.envelope import BlobRef, Stored
from antiphon.events.ids import ItemId, ResponseId, Seq

from ..errors import RecordingError
from ..timeline import Timeline

MODES = ("duplex", "half_duplex", "personaplex")

_MOVED: dict[str, c.Command] = {
    "client_cancelled": c.CancelResponse(if_any=True),
    "barge_in": c.BargeIn(),
    "input_cancelled": c.CancelInput(),
    "output_audio_buffer_clear": c.ClearOutput(),
}
"""What a client asked for, by why the epoch moved on."""
_CLEARS_TOO = ("barge_in", "input_cancelled")
_CLIENTS_OVERLAP: dict[str, c.OverlapHints] = {
    "client_force_barge_in": c.OverlapHints(force_barge_in=True),
    "client_force_listen": c.OverlapHints(force_listen=True),
    "short_ack_transcript": c.OverlapHints(transcript="ok"),
}


class CannotRerun(RecordingError):
    code = "cannot_rerun"


class Seen(Struct, frozen=True):
    """An image that came with a command."""

    media_type: Any
    blob: BlobRef


class Wish(Struct, frozen=True):
    """One command: so long after the call's beginning, and the event that it became then.

    Ids in `command` are the recorded call's (names.py). `blob` is its audio, of `samples` samples. `since`:
    the answer of which it says how far it has come to the user; then times count from its beginning.
    """

    at_ns: int
    seq: Seq
    command: c.Command
    blob: BlobRef | None = None
    samples: int = 0
    images: tuple[Seen, ...] = ()
    since: ResponseId | None = None


class Script(Struct, frozen=True):
    """A call as it is to be asked again. `acknowledges`: its client said what was played."""

    opened: v.SessionOpened
    began: Stored
    attach: c.Attach
    wishes: tuple[Wish, ...]
    lasted_ns: int
    acknowledges: bool
    scored: bool


def script_of(events: Iterable[Stored]) -> Script:
    """Raises CannotRerun for a log without a call in it, and for calls of kinds that cannot be held again."""
    reading = _Reading()
    for stored in events:
        reading.read(stored)
    return reading.script()


class _Reading:
    """On the way through a log."""

    def __init__(self) -> None:
        self._timeline = Timeline()
        self._at_ns = 0
        self._opened: v.SessionOpened | None = None
        self._began: Stored | None = None
        self._attach: c.Attach | None = None
        self._config = v.Config()
        self._proposed: set[int] = set()
        self._cleared_at: object = None
        """Of the break-in or the like that clears the input, too."""
        self._images: list[tuple[Stored, v.ImageReceived]] = []
        self._begun_ns: dict[ResponseId, int] = {}
        self._wishes: list[Wish] = []

    def script(self) -> Script:
        if self._opened is None or self._began is None:
            raise CannotRerun("the log holds no session")
        if self._opened.mode not in (*MODES, "realtime"):
            told = f"calls of the kind {self._opened.mode} cannot be held again; {', '.join(MODES)} can"
            raise CannotRerun(told)
        kinds = {type(wish.command) for wish in self._wishes}
        return Script(
            opened=self._opened,
            began=self._began,
            attach=self._attach or c.Attach(dialect="realtime"),
            wishes=tuple(self._wishes),
            lasted_ns=self._at_ns,
            acknowledges=c.AcknowledgePlayback in kinds,
            scored=c.RecordScores in kinds,
        )

    def read(self, stored: Stored) -> None:
        self._began = self._began or stored
        self._timeline.pass_(stored)
        self._at_ns = self._timeline.since_ns(stored.at.mono_ns)
        if isinstance(stored.event, v.ResponseCreated):
            self._begun_ns[stored.event.response] = self._at_ns
        read = _READERS.get(type(stored.event))
        if read is not None and (stored.cause is None or type(stored.event) in _ALSO_CAUSED):
            read(self, stored, stored.event)

    def wish(self, stored: Stored, command: c.Command, **more: Any) -> None:
        self._wishes.append(Wish(self._at_ns, stored.seq, command, **more))

    # --- the session --------------------------------------------------------------------------------------

    def opened(self, stored: Stored, event: v.SessionOpened) -> None:
        self._opened, self._config = event, event.config

    def attached(self, stored: Stored, event: v.ClientAttached) -> None:
        if self._attach is None:
            self._attach = c.Attach(dialect=event.dialect, client=event.client)

    def proposed(self, stored: Stored, event: v.ConfigProposed) -> None:
        self._proposed.add(event.generation)
        self.wish(stored, self._change(event.config))

    def configured(self, stored: Stored, event: v.SessionConfigured) -> None:
        if event.generation not in self._proposed:
            self.wish(stored, self._change(event.config))

    def _change(self, config: v.Config) -> c.Configure:
        """What makes the configuration of the present one."""
        before, self._config = self._config, config
        changed = {name: getattr(config, name) for name in MEMBERS}
        kept = {name: one for name, one in changed.items() if one != getattr(before, name)}
        return c.Configure(echo=config.echo if config.echo != before.echo else {}, **kept)

    def prepared(self, stored: Stored, event: v.CallPrepared) -> None:
        """It stands behind the configuration that was asked for with it."""
        last = self._wishes.pop() if self._wishes else None
        change = c.Configure()
        if last is not None and isinstance(last.command, c.Configure):
            change = last.command
        command = Prepare(
            configuration=change,
            lasts_ms=event.timeout_ms,
            settings=event.settings,
            not_applied=event.not_applied,
            recorded=event.recorded,
        )
        self.wish(stored, command)

    def closed(self, stored: Stored, event: v.SessionClosed) -> None:
        self.wish(stored, c.CloseSession(reason=event.reason))

    # --- input --------------------------------------------------------------------------------------------

    def image(self, stored: Stored, event: v.ImageReceived) -> None:
        self._images.append((stored, event))

    def _seen(self, of: ItemId | None) -> tuple[Seen, ...]:
        there = [(stored, event) for stored, event in self._images if event.item == of]
        self._images = [one for one in self._images if one[1].item != of]
        return tuple(Seen(event.media_type, stored.blob) for stored, event in there if stored.blob)

    def appended(self, stored: Stored, event: v.InputAppended) -> None:
        command = c.AppendAudio(pcm=b"", speech=event.speech)
        self.wish(stored, command, blob=stored.blob, samples=event.samples, images=self._seen(None))

    def overlap(self, stored: Stored, event: v.OverlapDecided) -> None:
        """It stands behind the audio that it is about."""
        hints = _CLIENTS_OVERLAP.get(event.reason)
        if event.reason == "client_overlap_action":
            hints = c.OverlapHints(action=event.action)
        last = self._wishes[-1] if self._wishes else None
        if hints is not None and last is not None and isinstance(last.command, c.AppendAudio):
            self._wishes[-1] = replace(last, command=replace(last.command, hints=hints))

    def committed(self, stored: Stored, event: v.InputCommitted) -> None:
        if event.by != "client":
            return
        command = c.CommitInput(
            respond=event.outcome in ("asked", "deferred"),
            speech=False if event.outcome == "silence" else None,
            any_length=True,
            final=event.final,
        )
        self.wish(stored, command)

    def cleared(self, stored: Stored, event: v.InputCleared) -> None:
        if self._cleared_at != stored.at:
            self.wish(stored, c.ClearInput())

    def scored(self, stored: Stored, event: v.VoiceScored) -> None:
        command = c.RecordScores(
            until_sample=event.until_sample, window=event.window, permille=event.permille
        )
        self.wish(stored, command)

    # --- turns, playback, history -------------------------------------------------------------------------

    def moved(self, stored: Stored, event: v.EpochAdvanced) -> None:
        command = _MOVED.get(event.reason)
        if command is not None:
            self.wish(stored, command)
        if event.reason in _CLEARS_TOO:
            self._cleared_at = stored.at

    def created(self, stored: Stored, event: v.ResponseCreated) -> None:
        if not event.asked:
            return
        command = c.CreateResponse(
            modalities=event.modalities if event.modalities != self._config.output_modalities else None,
            instructions=event.instructions,
            max_output_tokens=event.max_output_tokens,
            metadata=event.metadata,
            in_history=event.in_history,
            voice=event.voice,
            temperature=event.temperature,
            speed=event.speed,
            audio_format=event.audio_format,
        )
        self.wish(stored, command)

    def added(self, stored: Stored, event: v.ItemAdded) -> None:
        parts = tuple(replace(part, image=None) for part in event.item.content)
        item = replace(event.item, content=parts)
        command = c.AddItem(item=item, previous=event.previous)
        self.wish(stored, command, images=self._seen(event.item.id))

    def removed(self, stored: Stored, event: v.ItemRemoved) -> None:
        self.wish(stored, c.RemoveItem(item=event.item))

    def truncated(self, stored: Stored, event: v.ItemTruncated) -> None:
        command = c.TruncateItem(
            item=event.item, audio_end_ms=event.audio_end_ms, content_index=event.content_index
        )
        self.wish(stored, command)

    def sent(self, stored: Stored, event: v.FramesSent) -> None:
        for one in event.audio:
            first_ns = self._timeline.since_ns(one.first_mono_ns) - self._begun_ns.get(one.response, 0)
            audio = v.AudioSent(one.response, one.until_sample, first_ns)
            command = c.ReportSent(attachment=1, through=event.through, audio=(audio,))
            self._report(stored, one.response, command)

    def acknowledged(self, stored: Stored, event: v.PlaybackAcknowledged) -> None:
        command = c.AcknowledgePlayback(
            heard_ms=event.heard_ms, response=event.response, played_ms=event.played_ms
        )
        self._report(stored, event.response, command)

    def _report(self, stored: Stored, response: ResponseId, command: c.Command) -> None:
        after_ns = self._at_ns - self._begun_ns.get(response, 0)
        self._wishes.append(Wish(after_ns, stored.seq, command, since=response))


_ALSO_CAUSED = (v.ImageReceived,)
_READERS: Mapping[type[v.Event], Callable[[_Reading, Stored, Any], None]] = {
    v.SessionOpened: _Reading.opened,
    v.ClientAttached: _Reading.attached,
    v.ConfigProposed: _Reading.proposed,
    v.SessionConfigured: _Reading.configured,
    v.CallPrepared: _Reading.prepared,
    v.SessionClosed: _Reading.closed,
    v.ImageReceived: _Reading.image,
    v.InputAppended: _Reading.appended,
    v.OverlapDecided: _Reading.overlap,
    v.InputCommitted: _Reading.committed,
    v.InputCleared: _Reading.cleared,
    v.InputFinished: lambda reading, stored, event: reading.wish(stored, Finish()),
    v.InputUndecodable: lambda reading, stored, event: reading.wish(
        stored, ReportUndecodable(size=event.size, message=event.message)
    ),
    v.VoiceScored: _Reading.scored,
    v.EpochAdvanced: _Reading.moved,
    v.ResponseCreated: _Reading.created,
    v.ItemAdded: _Reading.added,
    v.ItemRemoved: _Reading.removed,
    v.ItemTruncated: _Reading.truncated,
    v.FramesSent: _Reading.sent,
    v.PlaybackAcknowledged: _Reading.acknowledged,
}
