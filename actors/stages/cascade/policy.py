"""How an answer is cut into clauses, and what of a clause is spoken.

The first clause is cut early, because the listener waits for it; the later ones are longer, because they are
made while earlier ones play and sound better so. A clause ends

* after an end mark, unless that belongs to a title ("Mr."), an initial or the number of a list entry;
* after a comma or semicolon, once it has enough words;
* at the end of a line;
* when it has reached its limit of words, or of tokens (digits are one word of many tokens).

Clauses are cut where white space is followed by something else and keep that white space, so that joined they
are the text again, character by character.
"""

import re
import unicodedata

from msgspec import Struct

NOTHING_TO_SAY = "I am not sure what to say to that."
"""Said instead of an answer in which nothing can be spoken (bare emoji, say)."""


class Measure(Struct, frozen=True):
    """When a clause may end (`comma_words`) and when it must (`max_words`, `max_tokens`)."""

    comma_words: int
    max_words: int
    max_tokens: int


FIRST = Measure(comma_words=3, max_words=6, max_tokens=12)
LATER = Measure(comma_words=5, max_words=14, max_tokens=40)
MAX_WORD = 60
"""Characters after which even a word is cut: what has no white space must be spoken some time, too."""

_TITLES = frozenset(
    ["mr", "mrs", "ms", "dr", "prof", "st", "sr", "jr", "vs", "etc", "e.g", "i.e", "mt", "lt", "capt"]
)
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*$")
_END_OF_ITS_OWN = re.compile(r"[。！？]")
_COMMA = re.compile(r"[,;:—–][\"'”’)\]*_]*$")
_GAP = re.compile(r"\s+(?=\S)")


class Clauses:
    """Cuts a text into clauses while it is being written."""

    def __init__(self) -> None:
        self._rest = ""
        self._tokens = 0
        self._measure = FIRST

    def feed(self, token: str) -> list[str]:
        """The clauses that are complete now that the text goes on with `token`."""
        self._rest += token
        self._tokens += 1
        clauses = []
        while end := self._end(self._rest):
            clauses.append(self._rest[:end])
            self._rest, self._tokens, self._measure = self._rest[end:], 1, LATER
        return clauses

    def finish(self) -> list[str]:
        """What is left: one clause or none."""
        rest, self._rest = self._rest, ""
        return [rest] if rest else []

    def _end(self, text: str) -> int:
        """Where the first clause of `text` ends; 0 while that cannot be said."""
        if own := _END_OF_ITS_OWN.search(text, 0, len(text) - 1):
            return own.end()
        gaps = list(_GAP.finditer(text))
        for gap in gaps:
            head = text[: gap.start()]
            if head and self._ends(head, line_ends="\n" in gap.group()):
                return gap.end()
        if self._tokens >= self._measure.max_tokens and gaps and gaps[-1].start():
            return gaps[-1].end()
        one_word = not any(gap.start() for gap in gaps)
        return MAX_WORD if one_word and len(text) > MAX_WORD else 0

    def _ends(self, head: str, *, line_ends: bool) -> bool:
        words = head.split()
        if line_ends or len(words) >= self._measure.max_words:
            return bool(words)
        if _END.search(head):
            return not _is_abbreviation(words)
        return len(words) >= self._measure.comma_words and _COMMA.search(head) is not None


def ends_sentence(text: str) -> bool:
    """Whether `text` may well be the whole of what was to be said: it ends with an end mark of its own."""
    words = text.split()
    return bool(words) and _END.search(text) is not None and not _is_abbreviation(words)


def _is_abbreviation(words: list[str]) -> bool:
    """Whether the full stop after the last word ends that word and not the sentence."""
    word = words[-1].lstrip("\"'“‘([*_")
    if not word.endswith(".") or word.endswith(".."):
        return False
    stem = word[:-1]
    initial = len(stem) == 1 and stem.isupper() and stem != "I"
    entry = stem.isdigit()
    return initial or entry or stem.lower() in _TITLES


_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_LINE_START = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|[-*+•][ \t]+|>[ \t]*)")
_EMPHASIS = re.compile(r"(?<!\w)[*_]+(?=\S)|(?<=\S)[*_]+(?!\w)|\*{2,}|~~|`+|\|")
_SPACE = re.compile(r"\s+")
_JOINERS = frozenset("\u200d\ufe0f\u20e3")
_SYMBOLS = frozenset({"So", "Sk", "Cs", "Co", "Cn"})
_FIRST_SYMBOL = "\u2190"
"""Below are signs that are read aloud, such as the degree sign."""


def spoken(clause: str, *, line_start: bool = True) -> str:
    """The clause without markup and pictures, white space as single blanks; maybe empty.

    `line_start` says whether the clause begins a line: a dash there is a bullet, elsewhere it is a dash.
    """
    text = _LINK.sub(r"\1", clause)
    text = _LINE_START.sub("", text) if line_start else text
    text = _EMPHASIS.sub("", text)
    text = "".join(c for c in text if not _is_picture(c))
    return _SPACE.sub(" ", text)


def is_audible(text: str) -> bool:
    """Whether a voice has anything to say of it."""
    return any(c.isalnum() for c in text)


def _is_picture(c: str) -> bool:
    return c in _JOINERS or (c >= _FIRST_SYMBOL and unicodedata.category(c) in _SYMBOLS)
