"""The options of the moshi stage."""

from __future__ import annotations

import click

from .stage_options import StageOptions

OPTIONS = StageOptions(
    "moshi",
    weights={"help": "a folder with the model's files, or its id on the hub."},
    random_weights={"is_flag": True, "help": "noise, to try the rest with."},
    size={"help": "nano, moshi, personaplex, or echo for no model (personaplex)."},
    batch_size={"type": click.IntRange(1), "help": "conversations at once (1)."},
)
