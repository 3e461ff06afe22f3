"""Events of programs newer than this one."""

from __future__ import annotations

from typing import ClassVar

import pytest

from antiphon.events.codec import refuse_unknown_critical
from antiphon.events.conformance.drafts import text
from antiphon.events.conformance.under_test import StoreUnderTest, fresh_session
from antiphon.events.envelope import Draft, Unknown
from antiphon.events.errors import UnknownCritical
from antiphon.events.units import Moment
from antiphon.events.vocabulary import Event


class Whispered(Event, frozen=True, kw_only=True):
    """Of a future vocabulary."""

    words: str


class Hummed(Event, frozen=True, kw_only=True):
    """Of a future vocabulary, and may be skipped."""

    ancillary: ClassVar[bool] = True
    tune: str


class Evolving:
    """Events this program does not know."""

    def test_an_unknown_event_is_kept_and_named(self, store: StoreUnderTest) -> None:
        lease, _ = store.open(fresh_session())
        unknown = [Draft(Hummed(tune="la"), Moment(1, 1)), Draft(Whispered(words="no"), Moment(2, 2), b"pcm")]
        store.append(lease, 0, [text(0), *unknown])
        known, hummed, whispered = store.log.read(lease.session)
        assert isinstance(hummed.event, Unknown)
        assert isinstance(whispered.event, Unknown)
        assert (hummed.event.type, hummed.event.event_version, hummed.critical) == ("Hummed", 1, False)
        assert (whispered.event.type, whispered.critical) == ("Whispered", True)
        refuse_unknown_critical(known)
        refuse_unknown_critical(hummed)
        with pytest.raises(UnknownCritical) as refused:
            refuse_unknown_critical(whispered)
        assert (refused.value.type, refused.value.seq) == ("Whispered", 2)
