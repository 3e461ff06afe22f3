"""What a log means, state by state: a digest of the session's state after each event.

Fields that hold their default are left out, so that a new field changes nothing until an event uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from antiphon.actors.session.evolve import refold
from antiphon.actors.session.state import Session
from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId

_encode = msgspec.json.Encoder(order="deterministic").encode


class Meaning(Struct, frozen=True, array_like=True):
    """Event `type`, as of `version`, left the session in the state of that digest."""

    type: str
    version: int
    digest: str


def meanings(session: SessionId, log: Iterable[Stored]) -> Iterator[Meaning]:
    state = Session(session)
    for stored in log:
        state = refold(state, stored)
        digest = blake2b(_encode(_told(state)), digest_size=8).hexdigest()
        yield Meaning(type(stored.event).__name__, type(stored.event).version, digest)


def _told(value: Any) -> Any:
    """As plain data, without what is as it is by default."""
    if isinstance(value, Struct):
        fields = msgspec.structs.fields(value)
        held = [(field, getattr(value, field.name)) for field in fields]
        return {field.name: _told(one) for field, one in held if one != _default(field)}
    if isinstance(value, tuple):
        return [_told(one) for one in value]
    return value


def _default(field: FieldInfo) -> Any:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def changed(recorded: Iterable[Meaning], today: Iterable[Meaning]) -> Meaning | None:
    """The first event after which the state is no longer what it was, as it is today."""
    return next((now for then, now in zip(recorded, today, strict=True) if then != now), None)
