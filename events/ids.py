"""Names of things, and the fence that says which moment a message belongs to.

Ids are pure functions of (session, incarnation, seq, k): replaying a log gives the same ids, and nothing in
the core asks a random source. Only the session id itself is drawn at the edge and enters as data.
"""

import hashlib
from typing import NewType

from msgspec import Struct

SessionId = NewType("SessionId", str)
ResponseId = NewType("ResponseId", str)
ItemId = NewType("ItemId", str)
Seq = NewType("Seq", int)
"""Place of an event in its log; the first is 0."""
Operation = NewType("Operation", int)
"""What a stage was asked to do: the seq of the event that asked. Unique within one incarnation."""


class Fence(Struct, frozen=True, array_like=True, gc=False):
    """Which moment of a session a message belongs to.

    `epoch` rises whenever what is being generated is made void (cancel, barge-in); `turn` counts exchanges
    as the model sees them; `response` is None for work that belongs to no response.
    """

    session: SessionId
    incarnation: int
    epoch: int
    turn: int
    response: ResponseId | None = None


def derived_id(kind: str, session: SessionId, incarnation: int, seq: int, k: int = 0) -> str:
    """The id of the k-th thing that event `seq` names, e.g. `resp_4f0c…`; stable under replay."""
    digest = hashlib.blake2b(f"{session}/{incarnation}/{seq}/{k}".encode(), digest_size=10)
    return f"{kind}_{digest.hexdigest()}"
