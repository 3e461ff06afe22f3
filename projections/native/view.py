"""What the dialect must remember: what the duplex dialect does, and one thing more."""

from __future__ import annotations

from antiphon.projections.duplex import view as duplex


class View(duplex.View, frozen=True, gc=False):
    """`cancelling`: the client cancelled its input, and what is cleared next is that."""

    cancelling: bool = False
