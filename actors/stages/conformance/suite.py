"""All cases together. See the package's own words for how to use them."""

from __future__ import annotations

from .cases.answering import Answering
from .cases.cancelling import Cancelling
from .cases.configuring import Configuring
from .cases.dying import Dying
from .cases.hearing import Hearing
from .cases.keeping import Keeping
from .cases.sharing import Sharing
from .cases.taking_over import TakingOver
from .under_test import StageUnderTest

__all__ = ["StageSuite", "StageUnderTest"]


class StageSuite(Answering, Cancelling, Keeping, Sharing, TakingOver, Configuring, Hearing, Dying):
    """All of it: a test class of yours inherits this and has a `stage` fixture."""
