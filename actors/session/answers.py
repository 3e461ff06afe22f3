"""How an answer begins, and what a stage still owes: what several ideas need to know.

A view like heard.py: it reads the state and decides nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.vocabulary import ResponseCreated

from .commands import CreateResponse
from .state import Session


def created(
    state: Session, options: CreateResponse, *, asked: bool = True, answers: ItemId | None = None
) -> ResponseCreated:
    """The beginning of an answer: at the conversation's end, or right behind the item that it `answers`."""
    response = ResponseId(state.new_id("resp"))
    fence = replace(state.fence, turn=state.fence.turn + 1, response=response)
    return ResponseCreated(
        response=response,
        item=ItemId(state.new_id("item", 1)),
        fence=fence,
        previous=answers or state.last_item,
        modalities=(options.modalities or state.config.output_modalities)
        if state.abilities.speaks
        else ("text",),
        instructions=options.instructions,
        max_output_tokens=options.max_output_tokens or state.config.max_output_tokens,
        metadata=options.metadata,
        in_history=options.in_history,
        asked=asked,
        voice=options.voice,
        temperature=options.temperature,
        answers=answers,
    )


def is_input(state: Session, operation: Operation) -> bool:
    """Whether a continuously hearing stage still owes something for that piece of input."""
    if any(recognition.operation == operation for recognition in state.input.recognitions):
        return False
    continuous = state.abilities.hears == "continuously"
    return continuous and state.turns.listened < operation <= state.buffer.submitted
