"""How much of the engine is taken: pure counting, so that nothing is ever left to vLLM's own waiting queue,
where a request that does not fit waits silently and for ever.
"""

from __future__ import annotations

from typing import Literal

from antiphon.actors.stages.minicpmo.drawing import Drawing
from antiphon.actors.stages.minicpmo.thinker import Append, Facts, Key, Rejected, check

from .versions import Dialect

State = Literal["open", "busy", "closing"]


def room_in(blocks: int, block: int, context_tokens: int) -> int:
    """Positions that `blocks` of KV have for sessions of `context_tokens`: whole ones, each in whole blocks.
    One block is vLLM's own."""
    return (blocks - 1) // -(-context_tokens // block) * context_tokens


class Account:
    """Of one session."""

    def __init__(self, row: int) -> None:
        self.row = row
        self.state: State = "open"
        self.context_len = 0
        self.next_append = 0


class Accounts:
    """Who holds which row, and what may begin. Either it is done, or Rejected is raised and nothing has
    changed."""

    def __init__(self, facts: Facts, dialect: Dialect, most_tokens: int) -> None:
        self._facts, self._dialect, self._most_tokens = facts, dialect, most_tokens
        self._held: dict[Key, Account] = {}
        self._free = list(range(facts.places))

    def __len__(self) -> int:
        return len(self._held)

    @property
    def kv_tokens(self) -> int:
        return sum(account.context_len for account in self._held.values())

    def open(self, key: Key) -> Account:
        if key in self._held:
            raise Rejected("out_of_order", f"{key} is open")
        if not self._free:
            raise Rejected("resource_exhausted", f"all {self._facts.places} places are taken")
        account = self._held[key] = Account(self._free.pop(0))
        return account

    def begin(self, key: Key, append: Append) -> Account:
        account = self._held.get(key)
        if account is None or account.state == "closing":
            raise Rejected("out_of_order", f"{key} is not open")
        if account.state == "busy":
            raise Rejected("busy", f"an append of {key} is under way")
        if append.number != account.next_append:
            raise Rejected("out_of_order", f"append {append.number}, {account.next_append} is next")
        if append.max_tokens > self._most_tokens:
            raise Rejected("out_of_order", f"{append.max_tokens} tokens, an append has {self._most_tokens}")
        check(self._facts, account.context_len, append)
        if not self._dialect.max_tokens_per_append and not _ends_by_itself(append):
            told = f"vllm {self._dialect.version} ends a segment at a stop token only, and nothing forces one"
            raise Rejected("out_of_order", told)
        account.state = "busy"
        account.next_append += 1
        return account

    def ended(self, account: Account, context_len: int) -> None:
        account.context_len = context_len
        if account.state == "busy":
            account.state = "open"

    def closing(self, key: Key) -> Account | None:
        """From here on nothing begins; its place is still taken. None: it is not open."""
        account = self._held.get(key)
        if account is not None:
            account.state = "closing"
        return account

    def closed(self, key: Key) -> None:
        account = self._held.pop(key)
        self._free.append(account.row)


def _ends_by_itself(append: Append) -> bool:
    drawing: Drawing = append.drawing
    at_once = append.max_tokens == 1 and bool(drawing.first) and set(drawing.first) <= append.stop
    return at_once or (drawing.last is not None and drawing.last in append.stop)
