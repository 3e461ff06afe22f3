"""The end of an engine: everybody who waits is told, and nothing waits for ever."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.contract import ENGINE_DEAD, Failed


class Dying(Tried):
    """Stopped, or dead by itself."""

    def test_stopping_ends_every_connection(self, rig: Rig) -> None:
        clients = [rig.client() for _ in range(2)]
        talk = rig.opened(clients[0])
        talk.ask(talk.kinds[0])
        rig.stop()
        for client in clients:
            client.until_over()

    def test_its_death_is_told_to_every_session(self, rig: Rig) -> None:
        kill = rig.stage.kill
        if kill is None:
            pytest.skip("the stage does not give StageUnderTest.kill")
        talks = [rig.opened() for _ in range(min(2, rig.descriptor.max_sessions))]
        kill(rig.engine.engine)
        asked = [(talk, talk.ask(talk.kinds[0])) for talk in talks]
        for talk, command in asked:
            talk.client.until_over()
            for output in talk.outputs(command.operation)[-1:]:
                assert output.last
                assert isinstance(output.body, Failed)
                assert output.body.code == ENGINE_DEAD
        assert rig.died.wait(rig.stage.patience_s)
