"""What a server says of the thinker on vLLM, and what vLLM is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from antiphon.actors.stages.contract import EngineRefused

from .plugin import ARCHITECTURE, OWNER

ENVIRONMENT = {
    # Else its workers' queues listen on the host's own address, not on loopback.
    "VLLM_HOST_IP": "127.0.0.1",
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_SOCKET_IFNAME": "lo",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    # Bytes. What is sent beside a message, as embeddings would be, the engine core puts into pinned memory of
    # its own: asked of the driver with every append, while others are stepped, and held as long as a session.
    "VLLM_MSGPACK_ZERO_COPY_THRESHOLD": str(2 * 1024 * 1024),
}
"""What the operator has set stays."""
FORCED = {
    # The only one that processors have, and the one whose logits processors Drawer is.
    "VLLM_USE_V2_MODEL_RUNNER": "0",
    # A fork would have the stage's threads' locks, and its GPU.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}
"""With anything else nothing works, whatever the operator has set."""
VISIBLE = "CUDA_VISIBLE_DEVICES"


class VllmSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[stage.minicpmo.vllm]`: what vLLM alone has, the operator's to choose."""

    dtype: Literal["float32", "bfloat16", "auto"] = "auto"
    """auto: float32 on a processor, bfloat16 on a GPU."""
    gpu_memory: Annotated[float, Meta(gt=0, le=1)] = 0.55
    """The share of the GPU that vLLM takes: weights, and KV in all the rest."""
    kv_blocks: Annotated[int, Meta(ge=2)] | None = None
    """Of KV_BLOCK tokens. None: what is free."""
    eager: bool = False
    """No compiled graphs: quicker to start, slower to run. On a processor there are none anyway."""
    measuring: bool = False
    """Admit releases of vLLM that are good for measurements only (versions.py)."""


class Options(VllmSettings, frozen=True, kw_only=True):
    """`model` is a folder: a MiniCPM-o checkpoint, or any Qwen3 one."""

    model: str
    random_weights: bool = False
    """Only config.json is read. Of such a model no word means anything."""
    device: str = ""
    """As torch names it. "": a GPU if there is one."""
    max_sessions: Annotated[int, Meta(ge=1)] = 4
    context_tokens: Annotated[int, Meta(ge=64)] = 8192
    most_tokens: Annotated[int, Meta(ge=1)] = 64
    """Of one append: what it may generate at the most."""
    hidden: bool = True
    """Whether hidden states are given. Without a talker nobody needs them."""
    append_timeout_s: Annotated[float, Meta(gt=0)] = 20.0
    """An append, or the end of a session, that takes longer never ends: one way in which the engine breaks
    tells nobody."""


POSITIONS_OF_A_UNIT, MOST_GRAPHED = 16, 1024
GIVEN_ANEW = 512
KV_BLOCK = 32
SETTING = "antiphon"
"""The name of what is ours in vLLM's `additional_config`."""


def set_environment() -> None:
    """Before vllm is imported."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ.update(FORCED)
    os.environ[OWNER] = str(os.getpid())


def visible_device(device: str, visible: str | None, *, on_gpu: bool) -> str | None:
    """What the engine core must have as CUDA_VISIBLE_DEVICES, where the stage has `visible`: vLLM takes the
    first GPU that it sees. None: the same. Raises EngineRefused for a device that vLLM cannot be given."""
    kind, _, number = device.partition(":")
    if not device or (kind == ("cuda" if on_gpu else "cpu") and not number):
        return None
    seen = None if visible is None else visible.split(",")
    if kind != "cuda" or not on_gpu or not number.isdigit() or (seen and int(number) >= len(seen)):
        where = f"a GPU ({VISIBLE}={visible})" if on_gpu else "a processor"
        raise EngineRefused("bad_settings", f"device {device!r}: the vllm thinker runs on {where} here")
    return seen[int(number)] if seen else number


def graph_positions(sessions: int) -> int:
    """The longest step for which vLLM keeps a graph: a unit of each session. Its own choice counts tokens
    that are made, and sessions that are heard at the same moment would be run without one."""
    return min(MOST_GRAPHED, POSITIONS_OF_A_UNIT * sessions)


def step_positions(sessions: int) -> int:
    """The longest step of all: a unit of each session, and so much of a context that is given anew. vLLM
    would take 2048 at once (AsyncLLM's choice), and whoever speaks waits for all of them."""
    return POSITIONS_OF_A_UNIT * sessions + GIVEN_ANEW


def engine_arguments(options: Options, *, on_gpu: bool, additional: Mapping[str, Any]) -> dict[str, Any]:
    """For AsyncEngineArgs."""
    dtype = {"auto": "bfloat16" if on_gpu else "float32"}.get(options.dtype, options.dtype)
    eager = options.eager or not on_gpu
    return {
        "model": options.model,
        "hf_overrides": {"architectures": [ARCHITECTURE]},
        "load_format": "dummy" if options.random_weights else "auto",
        "skip_tokenizer_init": True,
        "dtype": dtype,
        "enforce_eager": eager,
        "max_model_len": options.context_tokens,
        "max_num_seqs": options.max_sessions,
        "max_num_batched_tokens": step_positions(options.max_sessions),
        "enable_chunked_prefill": True,
        "block_size": KV_BLOCK,
        "num_gpu_blocks_override": options.kv_blocks,
        "gpu_memory_utilization": options.gpu_memory,
        "max_cudagraph_capture_size": None if eager else graph_positions(options.max_sessions),
        # On: a session dies, or hangs without a word, at the append after a segment that stopped on its first
        # token (vllm issue 52693), and every segment in which the model listens is one.
        "async_scheduling": False,
        # Placeholders have the same ids whatever stands in their place.
        "enable_prefix_caching": False,
        "mm_processor_cache_gb": 0,
        "skip_mm_profiling": True,
        "distributed_executor_backend": "uni",
        "logits_processors": [f"{__package__}.processor:Drawer"],
        "additional_config": dict(additional),
        "disable_log_stats": True,
    }
