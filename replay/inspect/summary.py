"""What a list of sessions says of one: a fold over its log that can go on when there is more."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.session.fence import BROKE_IN
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
"""Characters of what was said that are kept to be searched."""


class Summary(Struct, frozen=True, kw_only=True):
    """`words` is what either side said or wrote, as far as it is kept. Times are wall time, in ns.

    `ended`: why it is over; None while it is not. `interruptions`: how often the user broke in.
    """

    next_seq: int = 0
    began_ns: int | None = None
    last_ns: int = 0
    mode: str = ""
    dialects: tuple[str, ...] = ()
    responses: int = 0
    interruptions: int = 0
    faults: int = 0
    ended: str | None = None
    words: str = ""

    def step(self, stored: Stored) -> Summary:
        found = mark(stored, 0)
        is_fault = found is not None and found.lane == "faults"
        began_ns = stored.at.wall_ns if self.began_ns is None else self.began_ns
        after = replace(
            self,
            next_seq=stored.seq + 1,
            began_ns=began_ns,
            last_ns=stored.at.wall_ns,
            faults=self.faults + is_fault,
        )
        match stored.event:
            case SessionOpened(mode=mode):
                return replace(after, mode=mode)
            case ClientAttached(dialect=dialect) | ClientResumed(dialect=dialect):
                known = dialect in after.dialects
                return after if known else replace(after, dialects=(*after.dialects, dialect))
            case ResponseCreated():
                return replace(after, responses=after.responses + 1)
            case EpochAdvanced(reason=why) if why in BROKE_IN:
                return replace(after, interruptions=after.interruptions + 1)
            case event if (said := _said(event)) and len(after.words) < MOST_WORDS:
                return replace(after, words=f"{after.words}{said}")
            case event if (reason := ending(event)) is not None:
                return replace(after, ended=reason)
        return after


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
