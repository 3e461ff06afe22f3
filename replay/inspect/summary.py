"""What a list of sessions says of one: a fold over its log that can go on when there is more."""

from __future__ import annotations

from msgspec import Struct

from antiphon.events.envelope import Stored
from antiphon.events.vocabulary import (
    ClientAttached,
    ClientResumed,
    EpochAdvanced,
    Event,
    InputTranscribed,
    ItemAdded,
    ResponseCreated,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    TextSpoken,
)

from .marks import mark

MOST_WORDS = 200_000
"""Characters of what was said in one session that are kept to be searched."""


class Summary(Struct):
    """Told every event of a life in order, from its first. Times are wall time, in ns.

    `ended`: why it is over; None while it is not. `interruptions`: how often the user broke in. `characters`
    are those of its words.
    """

    next_seq: int = 0
    began_ns: int | None = None
    last_ns: int = 0
    mode: str = ""
    dialects: list[str] = []
    responses: int = 0
    interruptions: int = 0
    faults: int = 0
    ended: str | None = None
    characters: int = 0
    _said: list[str] = []

    @property
    def words(self) -> str:
        """What either side said or wrote, as far as it is kept."""
        if len(self._said) > 1:
            self._said = ["".join(self._said)]
        return "".join(self._said)

    def take(self, stored: Stored) -> None:
        found = mark(stored, 0)
        self.faults += found is not None and found.lane == "faults"
        self.next_seq = stored.seq + 1
        self.began_ns = stored.at.wall_ns if self.began_ns is None else self.began_ns
        self.last_ns = stored.at.wall_ns
        match stored.event:
            case SessionOpened(mode=mode):
                self.mode = mode
            case ClientAttached(dialect=dialect) | ClientResumed(dialect=dialect):
                if dialect not in self.dialects:
                    self.dialects.append(dialect)
            case ResponseCreated():
                self.responses += 1
            case EpochAdvanced(reason="turn_detected"):
                self.interruptions += 1
            case InputTranscribed() | TextSpoken() | ItemAdded() as said:
                self._keep(_said(said))
            case SessionClosed() | SessionExpired() | SessionFailed():
                self.ended = ending(stored.event)

    def _keep(self, said: str) -> None:
        kept = said[: MOST_WORDS - self.characters]
        if kept:
            self._said.append(kept)
            self.characters += len(kept)


def _said(event: Event) -> str:
    """Utterances stand on lines of their own; an answer's pieces follow each other."""
    match event:
        case InputTranscribed(text=text):
            return f"\n{text}\n"
        case TextSpoken(text=text):
            return text
        case ItemAdded(item=item):
            return "".join(f"\n{part.text}\n" for part in item.content if part.text)
    return ""


def ending(event: Event) -> str | None:
    """Why a session is over, of the event that says so."""
    match event:
        case SessionClosed(reason=reason) | SessionExpired(reason=reason):
            return reason
        case SessionFailed(code=code):
            return code
    return None
