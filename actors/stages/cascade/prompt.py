"""What the language model is given to read: who it is, what was said, and what was asked last.

A model keeps what it has read of a session. Dropping the oldest turns changes the beginning, and everything
after the first line is read again, at about 4 ms a token here; so turns are dropped rarely and many at once:
when the history has outgrown its room, down to half of that. Which turns are left depends on the conversation
alone, so the beginning stays the same from one answer to the next.

Lengths are estimates (a third of a token per ASCII character, three per other character): high enough that a
prompt which fits by them fits the model's context.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from antiphon.actors.stages.contract import Turn

SYSTEM = "You are a friendly voice assistant. You reply in short, clear spoken English."
_PER_TURN = 5
_PER_IMAGE = 300


def prompt(conversation: Sequence[Turn], instructions: str, room: int) -> tuple[Turn, ...]:
    """The system turn and as much of the end of `conversation` as `room` tokens hold; at least its last turn.

    Instructions get half of the room at most, and the last turn what is left: their ends are cut off, its
    beginning.
    """
    system = f"{SYSTEM}\n{instructions}" if instructions else SYSTEM
    system = system[: _fitting(system, room // 2)]
    history = list(conversation[_first_kept(conversation, room - estimate(system)) :])
    if history:
        room_for_last = room - estimate(system) - sum(map(_cost, history[:-1])) - _PER_TURN
        last = history[-1]
        kept = _fitting(last.text[::-1], max(0, room_for_last - _beside_text(last)))
        history[-1] = replace(last, text=last.text[len(last.text) - kept :])
    return (Turn(role="system", text=system), *history)


def estimate(text: str) -> int:
    """Tokens that `text` may take, rather too many than too few."""
    ascii_ = sum(c < "\x80" for c in text)
    return -(-ascii_ // 3) + 3 * (len(text) - ascii_)


def _first_kept(conversation: Sequence[Turn], room: int) -> int:
    first, size = 0, 0
    for place, turn in enumerate(conversation):
        size += _cost(turn)
        if size > room:
            while first < place and size > room // 2:
                size -= _cost(conversation[first])
                first += 1
    while first and conversation[first].role == "tool":  # an output is nothing without its call
        first -= 1
    return first


def _cost(turn: Turn) -> int:
    return estimate(turn.text) + _PER_TURN + _beside_text(turn)


def _beside_text(turn: Turn) -> int:
    calls = sum(estimate(call.name + call.arguments) + _PER_TURN for call in turn.calls)
    return calls + _PER_IMAGE * len(turn.images)


def _fitting(text: str, room: int) -> int:
    """How many of the first characters fit."""
    size = 0.0
    for place, c in enumerate(text):
        size += 1 / 3 if c < "\x80" else 3
        if size > room:
            return place
    return len(text)
