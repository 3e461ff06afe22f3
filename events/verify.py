"""Is one life of a session what was written? Looks through any store's eyes, and at everything it shows.

An exported life is checked byte by byte as it is unpacked (container.py); verifying adds what only the whole
can tell: that the events never go back in time, that causes come before consequences and writers after their
predecessors, that no payload lies in another, and that the log goes as far as its head says. Audio that was
erased is not damage.

Unpacking ends at the first thing that is wrong. Then the log is read again, event by event and payload by
payload, so that everything is named. Reading stops at the first damaged frame; what lies behind it cannot be
verified, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .container import Unpacking
from .envelope import BlobRef, Stored, Unknown
from .errors import Corrupt, Erased, NotALog
from .ids import SessionId
from .store import Head, Log
from .units import Moment
from .vocabulary import WriterOpened

Watch = Callable[[Stored], object]
Kind = Literal["frame", "order", "payload"]


class Finding(Struct, frozen=True, kw_only=True):
    """Something that is not as it was written.

    `seq`: the event concerned; for a damaged frame the last one before it, None at the log's beginning.
    `offset`: the byte in the events file (frame) or in the blob file (payload), where it is known.
    """

    kind: Kind
    reason: str
    seq: int | None = None
    offset: int | None = None


class Report(Struct, frozen=True, kw_only=True):
    """What was looked at, and everything that was found. `unknown`: events of a newer version, no damage."""

    session: SessionId
    incarnation: int
    sealed: bool = False
    events: int = 0
    unknown: int = 0
    payloads: int = 0
    payload_bytes: int = 0
    erased: int = 0
    """Payloads that are no longer there because they were erased."""
    findings: tuple[Finding, ...] = ()

    @property
    def sound(self) -> bool:
        return not self.findings


def verify(
    log: Log,
    session: SessionId,
    *,
    incarnation: int | None = None,
    blobs: bool = True,
    watch: Watch = lambda stored: None,
) -> Report:
    """Look at one life, the latest unless told. Never changes anything; a live session may be verified too.

    Without `blobs` payloads are not read. `watch` is told of every event whenever it was looked at: more than
    once where something is wrong. Raises NoSuchSession, and OSError where the store cannot be read at all.
    """
    life = log.lives(session)[-1] if incarnation is None else incarnation
    try:
        head = log.head(session, incarnation=life)
    except (Corrupt, NotALog) as error:
        return Report(session=session, incarnation=life, findings=(_as_finding(error),))
    damage = None
    if blobs:
        try:
            report = _unpack(log, head, watch)
        except (Corrupt, NotALog) as error:
            damage = _as_finding(error)
        else:
            if report.sound:
                return report
    report = _read(log, head, blobs, watch)
    if damage is not None and report.sound:  # what no event speaks of, e.g. the blob file's beginning
        report = replace(report, findings=(damage,))
    return report


def _unpack(log: Log, head: Head, watch: Watch) -> Report:
    """Check every byte of what the store exports. Raises Corrupt, NotALog at the first that is wrong."""
    look = _Look(head)
    with log.export(head.session, incarnation=head.incarnation) as container:
        unpacking = Unpacking(container)
        for entry in unpacking:
            if entry.stored is not None:
                look.at(entry.stored)
                watch(entry.stored)
    if unpacking.tombstone is not None:
        look.all_erased()
    look.end()
    return look.report()


def _read(log: Log, head: Head, blobs: bool, watch: Watch) -> Report:
    """Everything that is wrong, as far as the log can be read."""
    look = _Look(head)
    try:
        for stored in log.read(head.session, incarnation=head.incarnation):
            look.at(stored)
            if stored.blob is not None and blobs:
                look.payload(stored, stored.blob, log)
            watch(stored)
        look.end()
    except (Corrupt, NotALog) as error:
        look.add(_as_finding(error))
    return look.report()


def _as_finding(error: Corrupt | NotALog) -> Finding:
    if isinstance(error, NotALog):
        return Finding(kind="frame", reason=error.reason, offset=0)
    if error.path.endswith("audio.blob"):
        return Finding(kind="payload", reason=error.reason, seq=error.seq, offset=error.offset)
    reason = f"{error.reason}; nothing behind it can be read"
    return Finding(kind="frame", reason=reason, seq=error.seq, offset=error.offset)


class _Look:
    """One verification on its way. `at` is told every event in the order in which they are read."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._next, self._last, self._boot, self._writer_epoch, self._audio_end = 0, Moment(0, 0), "", 0, 0
        self._unknown = self._payloads = self._payload_bytes = self._erased = 0
        self._findings: list[Finding] = []

    def at(self, stored: Stored) -> None:
        self._check_order(stored)
        self._next = stored.seq + 1
        self._unknown += isinstance(stored.event, Unknown)
        if stored.blob is not None:
            self._payloads += 1
            self._payload_bytes += stored.blob.length
            if stored.blob.offset < self._audio_end:
                self._find("payload", "its payload lies in an earlier one", stored.seq, stored.blob.offset)
            self._audio_end = stored.blob.offset + stored.blob.length

    def payload(self, stored: Stored, ref: BlobRef, log: Log) -> None:
        """Read what the event speaks of."""
        try:
            log.read_blob(self._head.session, ref, incarnation=self._head.incarnation)
        except Erased:
            self._erased += 1
        except Corrupt as error:
            self._find("payload", error.reason, stored.seq, error.offset)

    def all_erased(self) -> None:
        self._erased = self._payloads

    def end(self) -> None:
        """Everything that can be read has been."""
        head = self._head
        if self._next < head.next_seq or (head.sealed and self._next > head.next_seq):
            reason = f"by its end the log has {head.next_seq} events, and {self._next} can be read"
            self._find("frame", reason, self._next - 1 if self._next else None)

    def add(self, finding: Finding) -> None:
        self._findings.append(finding)

    def _find(self, kind: Kind, reason: str, seq: int | None, offset: int | None = None) -> None:
        self.add(Finding(kind=kind, reason=reason, seq=seq, offset=offset))

    def report(self) -> Report:
        return Report(
            session=self._head.session,
            incarnation=self._head.incarnation,
            sealed=self._head.sealed,
            events=self._next,
            unknown=self._unknown,
            payloads=self._payloads,
            payload_bytes=self._payload_bytes,
            erased=self._erased,
            findings=tuple(self._findings),
        )

    def _check_order(self, stored: Stored) -> None:
        seq, at, event = stored.seq, stored.at, stored.event
        if seq != self._next:
            self._find("order", f"event {self._next} was to come", seq)
        if stored.cause is not None and stored.cause >= seq:
            self._find("order", f"its cause {stored.cause} does not come before it", seq)
        if type(event) is WriterOpened:
            if event.writer_epoch <= self._writer_epoch:
                self._find("order", f"writer {event.writer_epoch} after {self._writer_epoch}", seq)
            self._writer_epoch = event.writer_epoch
            if event.boot != self._boot:  # another boot has a clock of its own
                self._boot, self._last = event.boot, Moment(at.mono_ns, self._last.wall_ns)
        if at.mono_ns < self._last.mono_ns or at.wall_ns < self._last.wall_ns:
            self._find("order", "time goes back", seq)
        self._last = at
