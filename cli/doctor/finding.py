"""What the doctor says of one thing that it looked at."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

Verdict = Literal["ok", "warn", "fail"]
WIDTH = 14
"""Of the column with the names."""


class Finding(Struct, frozen=True):
    """`check` names the thing, `told` says how it is, `do` what to do about it; "" where that is nothing."""

    check: str
    verdict: Verdict
    told: str
    do: str = ""

    def as_json(self) -> str:
        return msgspec.json.encode(self).decode()

    def as_lines(self) -> str:
        line = f"{self.verdict:4}  {self.check:{WIDTH}} {self.told}"
        return f"{line}\n{'':{WIDTH + 6}} -> {self.do}" if self.do else line
