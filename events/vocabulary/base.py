"""What every event is."""

from typing import ClassVar

from msgspec import Struct


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A fact about one session, named in the past tense. Never changed once stored.

    `version` rises when the meaning or a field's meaning changes (upcast.py then reads the old ones). An
    `ancillary` event may be skipped by a reader that does not know it; any other unknown event is a reason
    to refuse to resume. New fields always have defaults. Events hold no cycles: the collector need not look.
    """

    version: ClassVar[int] = 1
    ancillary: ClassVar[bool] = False
