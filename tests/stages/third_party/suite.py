"""What the author of mystage.py would call test_mystage.py: a class for every engine, named after it."""

import mystage
import pytest

from antiphon.actors.stages.conformance.cases.answering import Answering
from antiphon.actors.stages.conformance.cases.cancelling import Cancelling
from antiphon.actors.stages.conformance.cases.configuring import Configuring
from antiphon.actors.stages.conformance.cases.dying import Dying
from antiphon.actors.stages.conformance.cases.hearing import Hearing
from antiphon.actors.stages.conformance.cases.keeping import Keeping
from antiphon.actors.stages.conformance.cases.sharing import Sharing
from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest


class Mine:
    patience_s = 1.0

    @pytest.fixture
    def stage(self) -> StageUnderTest:
        engine = getattr(mystage, type(self).__name__.removeprefix("Test"))
        return StageUnderTest(
            engine,
            bad_config={"voice": "nobody's"},
            question=engine.question,
            held=lambda engine: len(engine.heard),
            kill=lambda engine: engine.die(),
            patience_s=self.patience_s,
        )


class TestMyEngine(Mine, StageSuite):
    patience_s = 30.0


class TestMyUnits(Mine, StageSuite):
    patience_s = 30.0


class TestSaysTheLastWordTwice(Mine, Answering): ...


class TestGoesOnAfterTheEnd(Mine, Answering): ...


class TestForgetsTheLastWord(Mine, Answering): ...


class TestEndsWithAMeasurement(Mine, Answering): ...


class TestSaysHalfASample(Mine, Answering): ...


class TestSpeaksForWhoeverAskedLast(Mine, Answering): ...


class TestBlocksTheStage(Mine, Answering): ...


class TestSaysNothingToWhatItIsNotFor(Mine, Answering): ...


class TestClaimsWhatCannotBe(Mine, Answering): ...


class TestStaysSilentOnceCancelled(Mine, Cancelling): ...


class TestCancelsOnce(Mine, Cancelling): ...


class TestCancelsWhatTheUserSaid(Mine, Cancelling): ...


class TestKeepsSessionsThatLeft(Mine, Keeping): ...


class TestCountsPlacesWrongly(Mine, Keeping): ...


class TestClosesOnce(Mine, Keeping): ...


class TestNeverLetsGo(Mine, Keeping): ...


class TestHoldsWhatItRefused(Mine, Keeping): ...


class TestRemembersTheFormerLife(Mine, Keeping): ...


class TestHearsItsNeighbours(Mine, Sharing): ...


class TestForgetsASessionOverARefusal(Mine, Configuring): ...


class TestRefusesAllConfigurations(Mine, Configuring): ...


class TestSpeaksWhereItMustListen(Mine, Hearing): ...


class TestWaitsForAVoidUnit(Mine, Hearing): ...


class TestDiesQuietly(Mine, Dying): ...
