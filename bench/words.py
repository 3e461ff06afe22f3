"""Word error rate: how many words of a transcript are wrong, missing or too many, per word spoken.

Before words are compared they are put in lower case, freed of all punctuation but apostrophes within words,
split at hyphens, and whole numbers up to twelve are written out. Nothing else is forgiven: spelling variants
count as errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NUMBERS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def normal(text: str) -> list[str]:
    words = re.findall(r"\w+(?:'\w+)*", text.lower().replace("’", "'").replace("-", " "))
    return [NUMBERS[int(word)] if word.isdecimal() and int(word) < len(NUMBERS) else word for word in words]


def edits(spoken: list[str], heard: list[str]) -> int:
    """The fewest words to replace, leave out or put in that make one of the other."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(spoken, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Over all pairs of (spoken, heard) together, so that long sentences weigh more; None of nothing."""
    wrong = words = 0
    for spoken, heard in pairs:
        reference = normal(spoken)
        wrong += edits(reference, normal(heard))
        words += len(reference)
    return wrong / words if words else None
