"""What must be remembered of a call to tell what happens in it next."""

from __future__ import annotations

from msgspec import Struct

from antiphon.events.ids import ItemId
from antiphon.events.vocabulary import Config


class View(Struct, frozen=True, gc=False):
    """`speaking`: the user, as far as the client was told. `spoken`: segments without an answer, with their
    samples; a call keeps few of them waiting. `words`, `chunks`: of the answer under way. `turns`: answers
    that ended by themselves since the call was prepared at `prepared_ns` (monotonic)."""

    attachment: int
    session: str = ""
    config: Config = Config()
    prepared_ns: int = 0
    speaking: bool = False
    turns: int = 0
    chunks: int = 0
    words: str = ""
    spoken: tuple[tuple[ItemId, int], ...] = ()
