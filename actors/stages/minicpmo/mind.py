"""What is known of a session between two units, and the next append as a function of it.

The thinker's KV is a cache of this: whatever happens to it, the context can be given anew from here. `plan`
says what to append, `learnt` what is known when its segment has ended. Pure.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from . import layout, segments
from .drawing import MOST_RECENT, Drawing
from .segments import Budget, Sampling, Segment
from .specials import Specials
from .thinker import Append, Piece
from .window import Window, fits, kept


class Rules(Struct, frozen=True, kw_only=True):
    """What all sessions of a stage have in common; the operator's. `most`: positions that the thinker's
    context holds."""

    specials: Specials
    budget: Budget
    window: Window
    most: int


class SessionPart(Struct, frozen=True):
    """The context before the first unit. `positions`: those of `pieces`."""

    pieces: tuple[Piece, ...] = ()
    positions: int = 0


class Unit(Struct, frozen=True):
    """One that was heard: what was appended from <unit> on, and what was generated behind it."""

    pieces: tuple[Piece, ...]
    generated: tuple[int, ...]

    @property
    def positions(self) -> int:
        """In the context, its </unit> included."""
        return layout.positions(self.pieces) + len(self.generated) + 1


class Mind(Struct, frozen=True, kw_only=True):
    """One session. `held`: the positions that the thinker's context has; 0: it has nothing of it.
    `earlier`: what was said in units that went."""

    sampling: Sampling
    part: SessionPart = SessionPart()
    units: tuple[Unit, ...] = ()
    earlier: tuple[int, ...] = ()
    recent: tuple[int, ...] = ()
    open_turn: bool = False
    held: int = 0
    heard: int = 0
    """Units, those among them that went."""


class Plan(Struct, frozen=True):
    """`anew`: the thinker's context must be empty before the append."""

    append: Append
    anew: bool
    mind: Mind
    """As it is when the append has been taken."""
    unit: tuple[Piece, ...]


class ContextFull(Exception):
    """A unit does not fit into the model's context, and the window does not let older ones go."""


def largest_unit(budget: Budget, *, sees: bool) -> int:
    """Positions that a unit of sound needs in the context at most, with an image, and one that stays free."""
    return layout.UNIT_POSITIONS + sees * layout.IMAGE_BLOCK + budget.tokens + 1


def plan(
    rules: Rules, mind: Mind, unit: tuple[Piece, ...], *, number: int = 0, force_listen: bool = False
) -> Plan:
    """What is to be appended for a unit that was heard. `number`: of the append, if it is not given anew.
    Raises ContextFull."""
    specials, most = rules.specials, rules.most
    max_tokens = segments.most_tokens(rules.budget, force_listen=force_listen)
    room = layout.positions(unit) + max_tokens + 1
    windowed = _windowed(rules, mind, room)
    anew = windowed is not mind or not mind.held
    before = _whole(specials, windowed) if anew else layout.after(specials, mind.units[-1].generated[-1:])
    pieces = layout.joined((*before, *unit))
    held = 0 if anew else mind.held
    if not fits(held, layout.positions(pieces), max_tokens, most):
        raise ContextFull(f"{held + room} tokens, the model's context holds {most}")
    append = Append(
        number=0 if anew else number,
        pieces=pieces,
        max_tokens=max_tokens,
        stop=specials.stops,
        drawing=_drawing(rules, mind, force_listen=force_listen),
    )
    taken = replace(windowed, held=held + layout.positions(pieces), heard=mind.heard + 1)
    return Plan(append, anew, taken, unit)


def learnt(rules: Rules, planned: Plan, generated: tuple[int, ...]) -> tuple[Mind, Segment]:
    """When the segment has ended with all its tokens, the last of which is not in the context."""
    mind, segment = planned.mind, segments.read(rules.specials, generated)
    return (
        replace(
            mind,
            units=(*mind.units, Unit(planned.unit, generated)),
            recent=(*mind.recent, *generated)[-MOST_RECENT:],
            open_turn=segments.is_open(mind.open_turn, segment),
            held=mind.held + len(generated) - 1,
        ),
        segment,
    )


def interrupted(mind: Mind) -> Mind:
    """The user cut in: what the model was saying is over, and it may listen again."""
    return replace(mind, open_turn=False) if mind.open_turn else mind


def begun_by(mind: Mind, part: SessionPart) -> Mind:
    """The thinker's context stands for another configuration: it is given anew."""
    return replace(mind, part=part, held=0)


def _drawing(rules: Rules, mind: Mind, *, force_listen: bool) -> Drawing:
    return segments.drawing(
        rules.specials,
        mind.sampling,
        rules.budget,
        recent=mind.recent,
        open_turn=mind.open_turn,
        force_listen=force_listen,
        place=mind.heard,
    )


def _windowed(rules: Rules, mind: Mind, room: int) -> Mind:
    """`mind` itself if everything stays."""
    window = rules.window
    own = mind.part.positions + window.earlier
    stay = kept(window, own, tuple(unit.positions for unit in mind.units), room, rules.most)
    if stay is None:
        raise ContextFull(f"{room} tokens more do not fit, the model's context holds {rules.most}")
    gone = mind.units[: len(mind.units) - stay]
    if not gone:
        return mind
    earlier = (*mind.earlier, *_words(rules.specials, gone))[-window.earlier :] if window.earlier else ()
    return replace(mind, units=mind.units[len(gone) :], earlier=earlier, held=0)


def _words(specials: Specials, units: tuple[Unit, ...]) -> tuple[int, ...]:
    return tuple(token for unit in units for token in unit.generated if token not in specials.unsaid)


def _whole(specials: Specials, mind: Mind) -> tuple[Piece, ...]:
    pieces: list[Piece] = [*mind.part.pieces, mind.earlier]
    for unit in mind.units:
        pieces += [*unit.pieces, *layout.after(specials, unit.generated)]
    return layout.joined(pieces)
