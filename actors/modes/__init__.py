"""The modes: what differs between duplex, half-duplex, video and JoyVL sessions, each on the same core.

A mode builds on the core's ideas (state, voice, turns, input, ...), never on decide or evolve.
"""

from __future__ import annotations

from collections.abc import Mapping

from antiphon.actors.session.mode import Mode

from .duplex import DUPLEX
from .half_duplex import HALF_DUPLEX
from .joyvl import JOYVL
from .personaplex import PERSONAPLEX
from .video import VIDEO

MODES: Mapping[str, Mode] = {
    "duplex": DUPLEX,
    "half_duplex": HALF_DUPLEX,
    "video": VIDEO,
    "joyvl": JOYVL,
    "personaplex": PERSONAPLEX,
}
"""By the name that SessionOpened gives. A log of another mode cannot be gone on with (UnknownMode)."""
