"""What must be remembered of a continuous call to tell what happens in it next."""

from __future__ import annotations

from msgspec import Struct

from antiphon.events.vocabulary import Config


class View(Struct, frozen=True, gc=False):
    """`ready`: the model is. `greeted`: this client has been told so. `returns`: it may come back."""

    attachment: int
    session: str = ""
    config: Config = Config()
    ready: bool = False
    greeted: bool = False
    returns: bool = False
