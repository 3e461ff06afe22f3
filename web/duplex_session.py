"""`[duplex_session]`: what the server owns of every session, by the protocol's names. No client raises it.

The defaults are the protocol's where it has one, but for two: nothing is forgotten of a journal, because the
log is it, and as many sessions are admitted as the stages have room for.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from antiphon.actors.admission import Admission
from antiphon.events.vocabulary import Terms

from .catching_up import ReplayLimits

Seconds = Annotated[float, Meta(ge=0)]
Interval = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]


class DuplexSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of a session. TOML has no null: where there may be no limit, 0 is none."""

    idle_ttl_s: Seconds = 300.0
    """A session in which nothing at all happens for so long is over; 0: never."""
    disconnect_grace_s: Seconds = 30.0
    """How long a client whose connection went may take to come back; 0: the session ends with it."""
    reaper_interval_s: Interval = 5.0
    """How often sessions are looked for that a stopped process left and nobody came back to."""
    max_session_s: Seconds = 0.0
    """How long a session lasts; 0: as long as its clients want. It is over when the turn is."""
    turn_grace_s: Seconds = 30.0
    """How much longer, at most, it lasts for that."""
    max_sessions: Annotated[int, Meta(ge=0)] = 0
    """How many at once; 0: as many as the stages have room for. Never more than that."""
    resume_replay_ttl_s: Seconds = 0.0
    """What was missed and is older is not told again: the client must begin anew. 0: everything is."""
    resume_replay_max_bytes_per_session: Annotated[int, Meta(ge=0)] = 0
    """The same, of more than so many bytes of frames. 0: however many."""
    max_pending_input_bytes_per_session: Count = 16 * 1024 * 1024
    """PCM that may wait for the stage."""
    max_pending_turns_per_session: Count = 4
    """Items that may wait for an answer to end."""
    max_pending_output_bytes_per_session: Annotated[int, Meta(ge=64 * 1024)] = 8 * 1024 * 1024
    """Frames that may wait for a client that does not read. Then it is let go, and can come back."""
    server_vad_model_path: str = ""
    """Another file of the voice detector than the one that is installed; `model_path` of `[stage.vad]`."""
    completed_append_cache_size: Count = 256
    """Of how many of a client's latest frames the ids are known, so that they can be sent again."""

    @property
    def admission(self) -> Admission:
        terms = Terms(
            idle_ttl_s=self.idle_ttl_s or None,
            disconnect_grace_s=self.disconnect_grace_s,
            max_session_s=self.max_session_s or None,
            turn_grace_s=self.turn_grace_s,
            remembered_commands=self.completed_append_cache_size,
            pending_turns=self.max_pending_turns_per_session,
            pending_input_bytes=self.max_pending_input_bytes_per_session,
        )
        return Admission(terms=terms, max_sessions=self.max_sessions or None)

    @property
    def keep_alive_s(self) -> float | None:
        """How often to say of a client that it is there, of which only its socket says so; None: never."""
        return self.idle_ttl_s / 3 or None

    @property
    def replay_limits(self) -> ReplayLimits:
        return ReplayLimits(
            self.resume_replay_ttl_s or None, self.resume_replay_max_bytes_per_session or None
        )
