"""What is used of the `moshi` package, which decides while it is imported whether torch compiles parts of it.

On a GPU it does, as in Moshi's own programs; on a CPU it would need a compiler at run time, and gain nothing.
"""

from __future__ import annotations

import os

import torch

if not torch.cuda.is_available():
    os.environ.setdefault("NO_TORCH_COMPILE", "1")

from moshi.models import loaders as loaders
from moshi.models.lm import LMModel as LMModel
from moshi.utils.compile import CUDAGraphed as CUDAGraphed
