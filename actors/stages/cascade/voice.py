"""Hibari's voice `heart`: a clause's sound at 24 kHz, its own rate. The other voices would be downloaded."""

from hibari import Hibari  # type: ignore[import-untyped, import-not-found, unused-ignore]

from antiphon.media.pcm import to_pcm
from antiphon.media.resample import resample

RATE = 24_000
_SEED = 0
"""Of the breath noise: the same clause always sounds the same."""


class Voice:
    """One voice, one caller at a time."""

    def __init__(self) -> None:
        self._hibari = Hibari(voice="heart")
        self.pcm("Ready.")

    def pcm(self, clause: str, speed: float = 1.0) -> bytes:
        """The clause as PCM; empty if there is nothing to pronounce in it."""
        sound = self._hibari(clause, speed=speed, seed=_SEED)
        return to_pcm(resample(sound, self._hibari.sample_rate, RATE))
