"""MiniCPM-o's special tokens, by name: their numbers belong to a checkpoint, its tokenizer knows them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from antiphon.actors.stages.contract import EngineRefused

NAMES = {
    "im_start": "<|im_start|>",
    "im_end": "<|im_end|>",
    "unit": "<unit>",
    "unit_end": "</unit>",
    "image": "<image>",
    "image_end": "</image>",
    "audio": "<|audio_start|>",
    "audio_end": "<|audio_end|>",
    "listen": "<|listen|>",
    "speak": "<|speak|>",
    "tts_bos": "<|tts_bos|>",
    "tts_eos": "<|tts_eos|>",
    "tts_pad": "<|tts_pad|>",
    "chunk_eos": "<|chunk_eos|>",
    "chunk_tts_eos": "<|chunk_tts_eos|>",
    "turn_eos": "<|turn_eos|>",
}
"""The MiniCPM-o 4.5 names (vllm_omni 0.30)."""
STOPS = ("listen", "chunk_eos", "chunk_tts_eos")
STRUCTURE = ("im_start", "im_end", "unit", "unit_end", "image", "image_end", "audio", "audio_end")


class Specials(Struct, frozen=True, kw_only=True):
    """Their numbers in one checkpoint."""

    im_start: int
    im_end: int
    unit: int
    unit_end: int
    image: int
    image_end: int
    audio: int
    audio_end: int
    listen: int
    speak: int
    tts_bos: int
    tts_eos: int
    tts_pad: int
    chunk_eos: int
    chunk_tts_eos: int
    turn_eos: int
    stops: frozenset[int]
    """What ends a unit's segment. The end of a turn does not: it conditions the talker, and a chunk's end
    follows it."""
    structure: tuple[int, ...]
    """What only the layout says. A model that said it would break the units apart."""
    unsaid: frozenset[int]
    """Tokens that are no words."""


def resolve(number_of: Callable[[str], int | None]) -> Specials:
    """`number_of` asks a tokenizer; None: it has no such token. Raises EngineRefused."""
    asked = {field: number_of(name) for field, name in NAMES.items()}
    missing = [NAMES[field] for field, number in asked.items() if number is None]
    if missing:
        raise EngineRefused("bad_model", f"the tokenizer has no {', '.join(missing)}: no MiniCPM-o 4.5")
    found = {field: number for field, number in asked.items() if number is not None}
    return Specials(
        **found,
        stops=frozenset(found[field] for field in STOPS),
        structure=tuple(found[field] for field in STRUCTURE),
        unsaid=frozenset(found.values()),
    )
