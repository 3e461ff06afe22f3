"""The fence moving on."""

from ..ids import Fence
from .base import Event


class EpochAdvanced(Event, frozen=True, kw_only=True):
    """Whatever was generated under `cancelled` is void; `next` holds from here on."""

    cancelled: Fence
    next: Fence
    reason: str
