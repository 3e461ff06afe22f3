"""What one client's socket has taken: noted frame by frame, reported to the session now and then."""

from __future__ import annotations

import time
from collections.abc import Iterable

from antiphon.actors.session.commands import ReportSent
from antiphon.events.ids import ResponseId
from antiphon.events.units import Samples
from antiphon.events.vocabulary import AudioSent
from antiphon.projections.base import Digest

from .outbox import Letter

REMEMBERED = 8
"""Responses that more audio may still be sent of: the latest."""


class Sent:
    """The digests roll from the attachment's first frame on; the rest is since the last report.

    `projection` is the version of the dialect's projection. Replies are not noted: no event holds them.
    """

    def __init__(self, projection: int) -> None:
        self._projection, self._digest = projection, Digest()
        self._through = -1
        self._reported = -1
        self._until: dict[ResponseId, int] = {}
        self._first: dict[ResponseId, int] = {}
        self._withheld: list[int] = []

    @property
    def remembered(self) -> tuple[ResponseId, ...]:
        """The responses whose first audio is known by its time."""
        return tuple(self._first)

    def took(self, letter: Letter) -> bool:
        """The socket accepted it. Says whether this was the first audio of its response."""
        self._through = letter.number
        self._digest.add(letter.encoded, letter.meaning)
        response = letter.response
        if response is None:
            return False
        self._until[response] = letter.until_sample
        if response in self._first:
            return False
        self._first[response] = time.monotonic_ns()
        return True

    def took_back(self, letters: Iterable[Letter]) -> None:
        """They will never be sent."""
        self._withheld += [letter.number for letter in letters]

    def report(self) -> ReportSent | None:
        """What there is to tell since the last report. `attachment` is filled in by the session's actor."""
        if self._through == self._reported:
            return None
        until, self._until = self._until, {}
        withheld, self._withheld = self._withheld, []
        self._reported = self._through
        audio = tuple(
            AudioSent(response, Samples(sample), self._first[response]) for response, sample in until.items()
        )
        while len(self._first) > REMEMBERED:
            del self._first[next(iter(self._first))]
        return ReportSent(
            attachment=0,
            through=self._through,
            projection=self._projection,
            digest=self._digest.of_bytes(),
            meaning=self._digest.of_meaning(),
            withheld=tuple(withheld),
            audio=audio,
        )
