"""Text tokens to words and back."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any, Protocol

UNSAID = frozenset({0, 3})
"""The end of a word's padding, and padding: nothing is said by them."""
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_MARKER = re.compile(r"<[^<>]*>")


class Words(Protocol):
    def tokens(self, text: str) -> list[int]: ...

    def said(self, token: int) -> bytes:
        """The UTF-8 that a token adds: maybe nothing, maybe a part of a character."""


class SentencePieces:
    """Of a released model: `path` is its sentencepiece file."""

    def __init__(self, path: Path) -> None:
        import sentencepiece

        self._pieces: Any = sentencepiece.SentencePieceProcessor(str(path))

    def tokens(self, text: str) -> list[int]:
        tokens: list[int] = self._pieces.encode(text)
        return tokens

    def said(self, token: int) -> bytes:
        if token in UNSAID or not 0 <= token < self._pieces.vocab_size():
            return b""
        piece: str = self._pieces.id_to_piece(token)
        if byte := _BYTE.fullmatch(piece):
            return bytes([int(byte[1], 16)])
        return b"" if _MARKER.fullmatch(piece) else piece.replace("▁", " ").encode()


class Letters:
    """For random weights, which have no words: a letter a token."""

    def __init__(self, card: int) -> None:
        self._card = card

    def tokens(self, text: str) -> list[int]:
        return [byte % self._card for byte in text.encode()]

    def said(self, token: int) -> bytes:
        if token in UNSAID:
            return b""
        letter = bytes([ord("a") + token % 26])
        return letter if token % 5 else b" " + letter


class Spelling:
    """Of one conversation: parts of characters are kept until the character is whole."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        return self._decoder.decode(self._words.said(token))
