"""Byte-level tokens to text and back.

A token is some bytes of UTF-8, written in the 256 letters of GPT-2's table. A character may be spread over
two tokens and two units: it is said when it is whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon.actors.stages.contract import EngineRefused

from .specials import Specials, resolve


def _letters() -> dict[str, int]:
    """GPT-2's table: printable bytes are themselves, the others letters from 256 on."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {chr(byte): byte for byte in shown}
    return table | {chr(256 + place): byte for place, byte in enumerate(hidden)}


class Words:
    """A checkpoint's tokenizer. `vocabulary` is the model's, which may have room for more tokens."""

    def __init__(self, vocabulary: int, tokens: Mapping[str, int], specials: Specials, encode: Any) -> None:
        letters = _letters()
        self.specials = specials
        self._encode = encode
        self._bytes = [b""] * vocabulary
        for token, number in tokens.items():
            if number < vocabulary and number not in specials.unsaid and all(one in letters for one in token):
                self._bytes[number] = bytes(letters[one] for one in token)
        self.characters = [_begun(said) for said in self._bytes]
        """How many characters begin in each token."""

    def tokens(self, text: str) -> list[int]:
        """Special tokens in a text are the letters that they are written in."""
        numbers: list[int] = self._encode(text)
        return numbers

    def spell(self, tokens: tuple[int, ...], text: str) -> bool:
        """Whether those tokens are a way to write the text: they may be of another checkpoint."""
        known = all(0 <= token < len(self._bytes) for token in tokens)
        return known and self.spelling().add(tokens, ends=True) == text

    def spelling(self) -> Spelling:
        return Spelling(self._bytes)


class Spelling:
    """Of one session."""

    def __init__(self, table: list[bytes]) -> None:
        self._table = table
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, tokens: tuple[int, ...], *, ends: bool = False) -> str:
        """What can be said by now. `ends`: nothing follows that could make a character whole."""
        text = self._decoder.decode(b"".join(self._table[token] for token in tokens), final=ends)
        if ends:
            self._decoder.reset()
        return text


def _begun(said: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in said)


def read_words(folder: Path, vocabulary: int) -> Words:
    """Of a checkpoint's tokenizer.json. Raises EngineRefused."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises bare Exceptions
        raise EngineRefused("bad_model", f"{folder / 'tokenizer.json'}: {error}") from error
    tokenizer.encode_special_tokens = True

    def encode(text: str) -> list[int]:
        numbers: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
        return numbers

    return Words(vocabulary, tokenizer.get_vocab(), resolve(tokenizer.token_to_id), encode)
