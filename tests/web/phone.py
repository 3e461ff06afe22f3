"""A client of half-duplex calls under test: it says what a test has it say, faster than people speak."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import wave
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.serving import RunningServer

from .wire import Wire, wire

QUESTION = Path(__file__).parents[2] / "bench/questions/01-what-is-the-capital-of-france.wav"
RATE = 16_000
CHUNK = RATE // 2
COLD_START_S = 0.55
PLAYS_S = 0.6
"""The usual answer of half_duplex_script.toml plays for half as long."""


def question() -> np.ndarray:
    """Mono float32 at 16 kHz, 1.6 s."""
    with wave.open(str(QUESTION)) as file:
        assert (file.getframerate(), file.getnchannels()) == (RATE, 1)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(RATE * seconds), np.float32)


def of(kind: str, frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [frame for frame in frames if frame["type"] == kind]


def sound(frames: list[dict[str, Any]]) -> np.ndarray:
    """What the chunks among the frames sound like."""
    pieces = [base64.b64decode(one["audio_data"]) for one in of("chunk", frames) if one["audio_data"]]
    return np.frombuffer(b"".join(pieces), "<f4")


class Phone(Wire):
    """The call of one client."""

    async def prepare(self, **members: Any) -> dict[str, Any]:
        await self.send({"type": "prepare", **members})
        return await self.next("prepared")

    async def begin(self, **config: Any) -> dict[str, Any]:
        """Prepared, and the cold start over."""
        prepared = await self.prepare(config=config)
        await asyncio.sleep(COLD_START_S)
        return prepared

    async def chunk(self, samples: np.ndarray) -> None:
        encoded = base64.b64encode(samples.astype("<f4").tobytes()).decode()
        await self.send({"type": "audio_chunk", "audio_base64": encoded})

    async def speak(self, samples: np.ndarray) -> None:
        for start in range(0, len(samples), CHUNK):
            await self.chunk(samples[start : start + CHUNK])

    async def ask(self, end: str = "turn_done") -> list[dict[str, Any]]:
        """A question, and every frame up to the end of its answer."""
        await self.speak(np.concatenate([silence(0.3), question(), silence(1.0)]))
        return await self.until(end)


@contextlib.asynccontextmanager
async def phone(server: RunningServer, name: str, query: str = "", **options: Any) -> AsyncIterator[Phone]:
    async with wire(server, query, path=f"/ws/half_duplex/{name}", **options) as client:
        yield Phone(client.socket)
