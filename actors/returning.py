"""A stage is back, and the sessions that were with it are told so.

What each tells the stage then may be minutes of sound, read from its log. So they are told one in a turn of
the loop, which belongs to others too, and as fast as the stage reads: a link that holds too much breaks.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Mapping

from antiphon.events.ids import SessionId

from .hosted import Hosted
from .link.serving_end import PACE_S, StageLink
from .session_actor import StageBack

ENOUGH = 1024 * 1024
"""Bytes that the stage has not read, with which no further session is told."""


def bring_back(
    loop: AbstractEventLoop, link: StageLink, sessions: Mapping[SessionId, Hosted], told: StageBack
) -> None:
    """All that are in `sessions` now; the first at once. It ends when the stage is gone again."""
    waiting, stage = deque(sessions), link.descriptor

    def go_on() -> None:
        if not waiting or link.state != "ready" or link.descriptor is not stage:
            return
        if link.backlog <= ENOUGH:
            hosted = sessions.get(waiting.popleft())
            if hosted is not None:
                hosted.tell(told)
        loop.call_later(0.0 if link.backlog <= ENOUGH else PACE_S, go_on)

    go_on()
