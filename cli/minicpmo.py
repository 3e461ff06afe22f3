"""The options of the minicpmo stage."""

from __future__ import annotations

import click

from .stage_options import StageOptions

OPTIONS = StageOptions(
    "minicpmo",
    model={"metavar": "DIR", "help": "a folder with a MiniCPM-o 4.5 checkpoint."},
    thinker={"type": click.Choice(["torch", "vllm"]), "help": "what runs its language model (torch)."},
    vocoder={"metavar": "PATH", "help": "a folder with Token2Wav; without it answers are a steady tone."},
)
