"""What a conversation is given before its first frame: a voice, then a persona (PersonaPlex' hybrid prompt).

In order: the voice; half a second of silence; the persona between two `<system>`, a token a frame; half a
second of silence. Meanwhile the agent's codes are silence and the user's a steady tone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from msgspec import Struct
from torch import Tensor

from antiphon.actors.stages.contract import EngineRefused

from .lockstep import FREE
from .words import Words

SILENCE = (948, 243, 1178, 546, 1736, 1030, 1978, 2008)
TONE = (430, 1268, 381, 1611, 1095, 1495, 56, 472)
"""Mimi's codes of silence and of a sine of 440 Hz."""
PAUSE_FRAMES = 6
PADDING = 3
"""The text token that says nothing."""


class Row(Struct, frozen=True):
    """One frame of a prompt; `embedding` [dim] where a voice was kept as what the transformer heard. With
    `ring` and `frames` the voice is over, and these are the tokens it left."""

    text: int = PADDING
    agent: tuple[int, ...] = SILENCE
    user: tuple[int, ...] = TONE
    embedding: Tensor | None = None
    ring: Tensor | None = None
    frames: int = 0


def rows(voice: Path | None, persona: str, words: Words, card: int) -> Iterator[Row]:
    """`card`: how many codes there are. Raises EngineRefused."""
    silence, tone = tuple(code % card for code in SILENCE), tuple(code % card for code in TONE)
    if voice is not None:
        yield from _voice(voice, tone)
    elif not persona:
        return
    pause = [Row(agent=silence, user=tone)] * PAUSE_FRAMES
    yield from pause
    if persona:
        for token in words.tokens(f"<system> {persona} <system>"):
            yield Row(text=token, agent=silence, user=tone)
        yield from pause


def _voice(path: Path, tone: tuple[int, ...]) -> Iterator[Row]:
    """As it was released: `embeddings` [frames, 1, 1, dim], `cache` [1, rows, ring]."""
    try:
        kept = torch.load(path, map_location="cpu", weights_only=True)
        embeddings, ring = kept["embeddings"][:, 0, 0], kept["cache"][0]
    except Exception as problem:  # noqa: BLE001  # whatever torch has to say of a file
        raise EngineRefused("voice_unreadable", f"the voice {path.stem} cannot be read: {problem}") from None
    last = len(embeddings) - 1
    for number, embedding in enumerate(embeddings):
        over = number == last
        yield Row(
            agent=(FREE,) * len(SILENCE),
            user=tone,
            embedding=embedding,
            ring=ring if over else None,
            frames=len(embeddings) if over else 0,
        )
