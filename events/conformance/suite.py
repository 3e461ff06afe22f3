"""All cases together. See the package's own words for how to use them."""

from __future__ import annotations

from .cases.crowding import Crowding
from .cases.erasing import Erasing
from .cases.evolving import Evolving
from .cases.exchanging import Exchanging
from .cases.failing import Failing
from .cases.following import Following
from .cases.keeping import Keeping
from .cases.killing import Killing
from .cases.leasing import Leasing
from .cases.reading import Reading
from .cases.refusing import Refusing
from .cases.repeating import Repeating
from .cases.rotting import Rotting
from .cases.sharing import Sharing
from .cases.tearing import Tearing
from .under_test import StoreUnderTest

__all__ = ["LogSuite", "StoreUnderTest"]


class LogSuite(
    Reading,
    Refusing,
    Repeating,
    Leasing,
    Sharing,
    Killing,
    Tearing,
    Rotting,
    Failing,
    Following,
    Evolving,
    Exchanging,
    Erasing,
    Crowding,
    Keeping,
):
    """All of it: a test class of yours inherits this and has a `store` fixture."""
