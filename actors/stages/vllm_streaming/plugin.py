"""What vLLM calls in each of its processes (entry point `vllm.general_plugins`): our model's name, and that
MiniCPM-o's configuration is one that can be read without the checkpoint's own code.

Whoever has antiphon installed beside vLLM has it called: it imports nothing that vLLM has not.
"""

from __future__ import annotations

import ctypes
import os
import signal

ARCHITECTURE = "AntiphonThinker"
OWNER = "ANTIPHON_VLLM_OWNER"
"""The process that starts this one: the stage's, or vLLM's engine core. Whom it started does not see it
killed, and would keep the GPU's memory."""
_PR_SET_PDEATHSIG = 1


def register() -> None:
    from vllm import ModelRegistry

    from . import configuration

    configuration.register()
    ModelRegistry.register_model(ARCHITECTURE, f"{__package__}.model:Thinker")
    owner = os.environ.get(OWNER)
    if owner is not None and int(owner) != os.getpid():
        _die_with(int(owner))
        os.environ[OWNER] = str(os.getpid())


def _die_with(owner: int) -> None:
    """The kernel kills this process when the thread that started it ends (Linux)."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:  # it was gone before
        os.kill(os.getpid(), signal.SIGKILL)
