"""What the dialect must remember of the events so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.session.heard import heard_ms
from antiphon.actors.session.playback import move
from antiphon.actors.session.state import Played
from antiphon.events import vocabulary as v
from antiphon.events.ids import ItemId, ResponseId, SessionId
from antiphon.events.units import samples_to_ms
from antiphon.projections.measures import Measures

from . import frames as f
from .formats import Format, usual

Shown = Sequence[tuple[type[f.Frame], f.Json]]
"""Frames without their numbers: the kind of each and its members."""


class Answer(Struct, frozen=True, gc=False):
    """A response as far as it was shown.

    `format` is that of its audio. `voiced`: response.speak was said. `marked` counts the characters whose
    place in the audio was told. `calls` are its function calls, as items. `turn_over`: the model ended its
    turn with what follows.
    """

    created: v.ResponseCreated
    played: Played
    format: Format
    voiced: bool = False
    marked: int = 0
    calls: tuple[f.Json, ...] = ()
    turn_over: bool = False

    @property
    def scope(self) -> f.Json:
        """Members of whatever belongs to it."""
        fence = self.created.fence
        return {"response_id": self.created.response, "epoch": fence.epoch, "turn_id": fence.turn}

    @property
    def part(self) -> f.Json:
        """Members of whatever belongs to the content of its message."""
        return {**self.scope, "item_id": self.created.item}

    @property
    def cursors(self) -> f.Cursors:
        """As far as anybody has said: nothing is estimated here."""
        played = self.played
        heard = heard_ms(played, 0)
        most = max(played.played_ms, heard)
        return f.Cursors(samples_to_ms(played.generated), samples_to_ms(played.sent), most, heard)


class View(Struct, frozen=True, gc=False):
    """One attachment's. `turn_state` is the protocol's word for who speaks; `troubled`: that which ends the
    session was told."""

    attachment: int
    session: SessionId = SessionId("")
    incarnation: int = 0
    abilities: v.Abilities = v.Abilities(stage="", hears="utterances")
    terms: v.Terms = v.Terms()
    expires_at: int | None = None
    """Unix time, in seconds."""
    config: v.Config = v.Config()
    output: Format = usual("pcm16", output=True)
    generation: int = 0
    phase: str = "open"
    epoch: int = 0
    turn: int = 0
    turn_state: str = "idle"
    request: int | None = None
    troubled: bool = False
    speaking: Answer | None = None
    ended: tuple[Answer, ...] = ()
    measures: Measures | None = None
    """How long answers take, where the client wants to know."""
    spoken_s: tuple[tuple[ItemId, float], ...] = ()
    """Committed items that wait for their transcript, with their length in seconds."""

    def answer(self, response: ResponseId | None) -> Answer | None:
        speaking = self.speaking
        if speaking is not None and speaking.created.response == response:
            return speaking
        return next((one for one in reversed(self.ended) if one.created.response == response), None)

    @property
    def latest(self) -> Answer | None:
        return self.speaking or (self.ended[-1] if self.ended else None)

    @property
    def last_two(self) -> tuple[Answer, ...]:
        """The answers of which anything may still be heard."""
        return self.ended[-2:] if self.speaking is None else (*self.ended[-1:], self.speaking)


def put(view: View, answer: Answer) -> View:
    """The view with one answer replaced."""
    response = answer.created.response
    speaking = view.speaking
    if speaking is not None and speaking.created.response == response:
        return replace(view, speaking=answer)
    kept = tuple(answer if one.created.response == response else one for one in view.ended)
    return replace(view, ended=kept)


def moved(view: View, event: Any) -> tuple[View, Answer | None]:
    """The cursors of the answer that the event (or a report's AudioSent) is about, after it."""
    answer = view.answer(event.response)
    if answer is None:
        return view, None
    answer = replace(answer, played=move(answer.played, event))
    return put(view, answer), answer
