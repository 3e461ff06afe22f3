"""What a projection is: a pure fold from stored events to a view and the frames a client sees.

The same stored events always give the same frames, ids included, so a frame sent once can be sent again by
projecting again. Bump `VERSION` of a dialect whenever equal events would give other frames.
"""

from __future__ import annotations

from antiphon.events.ids import Seq

FRAMES_PER_EVENT = 64


def frame_number(seq: Seq, k: int) -> int:
    """`server_event_seq` of an event's k-th frame: it grows, never restarts, and no dialect changes it."""
    return seq * FRAMES_PER_EVENT + k
