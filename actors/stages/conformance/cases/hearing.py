"""Units: one at a time, each of the length that the stage has named, and no choice where there is none."""

from __future__ import annotations

import pytest

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.conformance.talk import Talk
from antiphon.actors.stages.contract import Failed, Listen, Said
from antiphon.events.units import BYTES_PER_SAMPLE, ms_to_samples

UNITS = 10


def in_units(rig: Rig) -> Talk:
    if not rig.descriptor.unit_ms:
        pytest.skip("the stage does not hear in units")
    return rig.opened()


class Hearing(Tried):
    """For a stage that hears in units."""

    def test_each_unit_is_answered_before_the_next(self, rig: Rig) -> None:
        talk = in_units(rig)
        for _ in range(UNITS):
            said = talk.answered("unit")
            assert not isinstance(said[-1].body, Failed)

    def test_a_second_unit_is_refused_and_the_first_is_not_disturbed(self, rig: Rig) -> None:
        talk = in_units(rig)
        first, second = talk.command("unit"), talk.command("unit")
        talk.client.send(first, second)
        (refused,) = talk.ended(second)
        assert isinstance(refused.body, Failed)
        assert (refused.body.code, refused.body.retryable) == ("busy", True)
        assert not isinstance(talk.ended(first)[-1].body, Failed)
        assert second.operation not in {asked.operation for asked in rig.engine.asked}

    def test_a_unit_of_the_next_moment_does_not_wait_for_a_void_one(self, rig: Rig) -> None:
        talk = in_units(rig)
        for _ in range(UNITS):
            talk.ask("unit")
            talk.cancel()
            assert not isinstance(talk.answered("unit")[-1].body, Failed)

    def test_a_unit_has_the_length_that_the_stage_has_named(self, rig: Rig) -> None:
        talk = in_units(rig)
        short = talk.command("unit")
        assert isinstance(short, Listen)
        wanted = ms_to_samples(rig.descriptor.unit_ms) * BYTES_PER_SAMPLE
        assert len(short.pcm) == wanted
        talk.client.send(Listen(short.fence, short.operation, short.until_sample, short.pcm[:-2]))
        (refused,) = talk.ended(short)
        assert isinstance(refused.body, Failed)
        assert not isinstance(talk.answered("unit")[-1].body, Failed)

    def test_where_it_must_listen_it_says_nothing(self, rig: Rig) -> None:
        talk = in_units(rig)
        for _ in range(UNITS):
            forced = talk.command("unit", force_listen=True)
            talk.client.send(forced)
            assert not [output for output in talk.ended(forced) if isinstance(output.body, Said)]
