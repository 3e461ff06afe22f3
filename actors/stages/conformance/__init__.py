"""Does an engine keep the stage contract? The cases that every stage of Antiphon passes; for yours, too.

Install `antiphon[conformance]` where you run your tests, and give the suite your engine:

    import pytest
    from antiphon.actors.stages.conformance.suite import StageSuite, StageUnderTest
    from mystage import MyEngine

    class TestMyEngine(StageSuite):
        @pytest.fixture
        def stage(self):
            return StageUnderTest(lambda: MyEngine({}), question="How are you?")

That runs every case that follows from what the engine's descriptor says it can do. The others say when they
are skipped what they need: a configuration that the engine refuses, a way to have it die, what it holds of
its sessions. Each is a field of `StageUnderTest` (under_test.py), and giving it is how a stage claims to be
able to. The engine runs behind the desk and the socket that it is served with, in a thread of the test; every
case has an engine of its own.
"""

import pytest

for _name in ("cases", "client", "rig", "talk"):
    pytest.register_assert_rewrite(f"{__name__}.{_name}")
