"""A process with an engine of its own: says what the model said, then waits to be killed."""

from __future__ import annotations

import sys

from antiphon.actors.stages.vllm_streaming.options import Options
from antiphon.actors.stages.vllm_streaming.thinker import VllmThinker
from tests.vllm.asking import Talk
from tests.vllm.tiny import PROMPT

SAID = "said:"
"""Before it comes what vLLM logs."""


def main(model: str) -> None:
    options = Options(model=model, max_sessions=1, context_tokens=64, kv_blocks=9, eager=True)
    thinker = VllmThinker(options, progress=lambda told: None)
    tokens, _ = Talk(thinker, "a").say(PROMPT, max_tokens=5)
    print(SAID, *tokens, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
