"""Half-duplex calls under test: prepared, and heard in the windows of the voice detector."""

from __future__ import annotations

from typing import Any

from antiphon.actors.modes.half_duplex.commands import Prepare
from antiphon.actors.session import commands as c
from antiphon.events.vocabulary import Event, SpeechStarted, SpeechStopped, TurnDetection
from tests.actors.session.given import WINDOW, Talk

PHONE = TurnDetection(
    threshold_permille=800,
    prefix_padding_ms=30,
    silence_duration_ms=800,
    min_speech_ms=128,
    create_response=False,
    interrupt_response=False,
    kind="segment",
)
WINDOW_MS = 32


def asked(detection: TurnDetection = PHONE, lasts_ms: int = 180_000, **members: Any) -> Prepare:
    configuration = c.Configure(turn_detection=detection, **members)
    return Prepare(configuration=configuration, lasts_ms=lasts_ms, settings={"timeout_s": lasts_ms / 1000})


class PhoneCall(Talk):
    """A call, prepared unless told otherwise, and the cold start behind it."""

    def __init__(self, *, prepared: bool = True, **members: Any) -> None:
        super().__init__(detection=None, mode="half_duplex", **members)
        if prepared:
            self.do(asked())
            self.now_ms += 500

    def windows(self, *scores: float, of: int = 0) -> list[Event]:
        """One window for each probability, in chunks of `of` windows (0: one chunk), then its scores."""
        happened: list[Event] = []
        size = of or len(scores)
        for start in range(0, len(scores), size):
            piece = scores[start : start + size]
            heard = self.do(c.AppendAudio(pcm=b"\x01\x00" * WINDOW * len(piece)))
            happened += heard
            if any(type(event).__name__ == "InputAppended" for event in heard):
                happened += self.score(*(round(1000 * one) for one in piece))
            self.now_ms += WINDOW_MS * len(piece)
        return happened

    def says_something(self, text: str = "hello") -> list[Event]:
        """A segment of 320 ms, understood."""
        happened = self.windows(*[0.9] * 10, *[0.1] * 25, of=5)
        return happened + self.understand(text)

    def plays_out(self) -> list[Event]:
        """What was generated is sent, and plays."""
        played = self.state.played[-1]
        ms = played.generated // 24
        return self.send(ms) + self.wait(ms + 1)


def edges(events: list[Event]) -> list[bool]:
    """Where speech began and ended."""
    return [
        isinstance(one, SpeechStarted) for one in events if isinstance(one, SpeechStarted | SpeechStopped)
    ]
