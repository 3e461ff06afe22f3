"""Every operation ends once, with a word that ends it, and everything said belongs to what was asked."""

from __future__ import annotations

from collections import Counter

from antiphon.actors.stages.conformance.rig import Rig, Tried
from antiphon.actors.stages.contract import (
    Consumed,
    EndTurn,
    Failed,
    Finished,
    Heard,
    Listen,
    Opened,
    Said,
    Scored,
    Speak,
    Turn,
)
from antiphon.actors.stages.descriptor import faults
from antiphon.events.ids import Operation
from antiphon.events.units import BYTES_PER_SAMPLE

_ENDS = (Said, Consumed, Scored, Heard, Finished, Failed)
ROUNDS = 3


class Answering(Tried):
    """What an engine says of what it is asked."""

    def test_the_descriptor_is_one_that_can_be_served(self, rig: Rig) -> None:
        assert faults(rig.descriptor) == ()
        assert rig.opened().kinds, "there is nothing this stage can be asked"

    def test_every_operation_ends_once_and_nothing_is_said_after_that(self, rig: Rig) -> None:
        talk = rig.opened()
        asked = []
        for _ in range(ROUNDS):
            for kind in talk.kinds:
                command = talk.ask(kind)
                said = talk.ended(command)
                asked.append(command)
                assert [output.index for output in said] == list(range(len(said)))
        talk.close()
        rig.stop()
        lasts = Counter(word.operation for word in rig.engine.words if word.last)
        assert lasts == Counter(command.operation for command in asked)
        for command in asked:
            words = [word for word in rig.engine.words if word.operation == command.operation]
            assert words[-1].last, f"{words[-1].body} was said after the last word"

    def test_the_last_word_is_one_that_ends_and_no_other_is(self, rig: Rig) -> None:
        talk = rig.opened()
        for kind in talk.kinds:
            *before, last = talk.answered(kind)
            assert isinstance(last.body, _ENDS), f"{type(last.body).__name__} ends nothing"
            assert not [output for output in before if isinstance(output.body, Finished | Failed)]

    def test_what_is_said_is_of_the_moment_that_was_asked(self, rig: Rig) -> None:
        talk, other = rig.opened(), rig.opened(first=1_000)
        fences = {}
        for _ in range(ROUNDS):
            for kind in talk.kinds:
                for each in (talk, other):
                    command = each.ask(kind)
                    fences[command.operation] = command.fence
                    each.ended(command)
            talk.cancel()
        for word in rig.engine.words:
            assert word.fence == fences[word.operation]

    def test_sound_comes_in_whole_samples(self, rig: Rig) -> None:
        talk = rig.opened()
        said = [output.body for kind in talk.kinds for output in talk.answered(kind)]
        assert [len(body.pcm) % BYTES_PER_SAMPLE for body in said if isinstance(body, Said)].count(1) == 0
        for body in said:
            assert not (isinstance(body, Said) and body.pcm and not rig.descriptor.speaks)

    def test_the_same_operation_asked_again_is_done_once(self, rig: Rig) -> None:
        talk = rig.opened()
        for kind in talk.kinds:
            command = talk.command(kind)
            talk.client.send(command, command)
            said = talk.ended(command)
            talk.client.send(command)
            talk.answered(kind)
            assert talk.outputs(command.operation) == said
            assert [asked.operation for asked in rig.engine.asked].count(command.operation) == 1

    def test_what_it_is_not_for_ends_too(self, rig: Rig) -> None:
        """Whatever it is asked; and it goes on with what it is for."""
        talk = rig.opened()
        for command in (
            Listen(talk.fence, Operation(1_000), 0, rig.stage.speech, whole=True),
            EndTurn(talk.fence, Operation(1_001)),
            Speak(talk.fence, Operation(1_002), (Turn(role="user", text="Hello."),)),
        ):
            talk.client.send(command)
            assert talk.ended(command)[-1].last
        fresh = rig.talk()
        assert isinstance(fresh.open(), Opened)
        assert fresh.answered(fresh.kinds[0])

    def test_no_call_holds_up_the_stage(self, rig: Rig) -> None:
        talk = rig.opened()
        for kind in talk.kinds:
            talk.answered(kind)
        talk.cancel()
        talk.close()
        seconds, call = rig.engine.slowest
        assert seconds < rig.stage.patience_s / 10, f"{call} blocks"
