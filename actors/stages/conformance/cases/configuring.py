"""Configurations: each answered, in order, and a refused one changes nothing."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.contract import ConfigRefused, Configure, Configured, Failed, Output


class Configuring(Tried):
    """For a stage that confirms its configurations; another says that it does not."""

    def test_a_configuration_is_answered(self, rig: Rig) -> None:
        talk = rig.opened()
        answer = talk.configure(1, rig.stage.config)
        if rig.descriptor.confirms_config:
            assert isinstance(answer, Configured)
            assert answer.generation == 1
        else:
            assert isinstance(answer, ConfigRefused)
            assert answer.code == "not_supported"
        assert talk.answered(talk.kinds[0])

    def test_work_and_configurations_are_done_in_the_order_they_were_asked(self, rig: Rig) -> None:
        self._confirms(rig)
        talk = rig.opened()
        kind = talk.kinds[0]
        before = talk.ask(kind)
        talk.ended(before)
        after = talk.command(kind)
        configure = [Configure(talk.fence, n, rig.stage.config) for n in (1, 2)]
        talk.client.send(*configure, after)
        talk.ended(after)
        told = [message for message in talk.client.told if isinstance(message, Configured | Output)]
        generations = [each.generation for each in told if isinstance(each, Configured)]
        assert generations == [1, 2]
        first_after = next(
            k for k, each in enumerate(told) if isinstance(each, Output) and each.operation == after.operation
        )
        last_configured = max(k for k, each in enumerate(told) if isinstance(each, Configured))
        assert last_configured < first_after

    def test_a_refused_configuration_changes_nothing(self, rig: Rig) -> None:
        self._confirms(rig)
        if rig.stage.bad_config is None:
            pytest.skip("the stage does not give StageUnderTest.bad_config")
        talk = rig.opened()
        assert isinstance(talk.configure(1, rig.stage.bad_config), ConfigRefused)
        assert not isinstance(talk.answered(talk.kinds[0])[-1].body, Failed)
        assert isinstance(talk.configure(2, rig.stage.config), Configured)

    def _confirms(self, rig: Rig) -> None:
        if not rig.descriptor.confirms_config:
            pytest.skip("the stage does not confirm configurations")
