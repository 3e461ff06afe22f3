"""A checkpoint's config.json, as far as this stage needs it.

The language model's numbers stand at the top (they are Qwen3's), those of the other parts below a name of
their own. `qwen3-8b` is MiniCPM-o 4.5 as vllm_omni 0.30 has it; `tiny` is for tests, and a CPU runs it in
real time.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from antiphon.actors.stages.contract import EngineRefused

MODEL_TYPE = "minicpmo"
ENCODED = 50
"""Positions of the encoder for a second."""
CODES = 6562
CODE_END = 6561
CODE_SILENCE = 4218


class Decoder(Struct, frozen=True, kw_only=True):
    """A decoder of the Llama family; `qk_norm` makes it Qwen3's."""

    hidden_size: int = 4096
    num_hidden_layers: int = 36
    num_attention_heads: int = 32
    num_key_value_heads: int = 8
    head_dim: int = 128
    intermediate_size: int = 12288
    vocab_size: int = 151_748
    rope_theta: float = 1_000_000.0
    rms_norm_eps: float = 1e-6
    tie_word_embeddings: bool = False
    max_position_embeddings: int = 40_960
    initializer_range: float = 0.02


class Audio(Struct, frozen=True, kw_only=True):
    """A Whisper encoder; what is projected is pooled by `audio_pool_step`."""

    d_model: int = 1024
    encoder_layers: int = 24
    encoder_attention_heads: int = 16
    encoder_ffn_dim: int = 4096
    num_mel_bins: int = 80
    max_source_positions: int = 1500

    @property
    def seconds(self) -> int:
        """How many the encoder has positions for."""
        return self.max_source_positions // ENCODED


class Vision(Struct, frozen=True, kw_only=True):
    """A SigLIP encoder, the last layer of which is not used."""

    hidden_size: int = 1152
    num_hidden_layers: int = 27
    num_attention_heads: int = 16
    intermediate_size: int = 4304
    image_size: int = 980
    patch_size: int = 14

    @property
    def grid(self) -> int:
        """Patches along a side of the images that it was trained on."""
        return self.image_size // self.patch_size


class Talker(Struct, frozen=True, kw_only=True):
    """A Llama that turns words and states into codec tokens."""

    hidden_size: int = 768
    num_hidden_layers: int = 20
    num_attention_heads: int = 12
    num_key_value_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 4096
    num_text_tokens: int = 152_064
    num_audio_tokens: int = CODES
    llm_dim: int = 4096
    audio_bos_token_id: int = 151_687
    text_eos_token_id: int = 151_692

    @property
    def decoder(self) -> Decoder:
        return Decoder(
            hidden_size=self.hidden_size,
            num_hidden_layers=self.num_hidden_layers,
            num_attention_heads=self.num_attention_heads,
            num_key_value_heads=self.num_key_value_heads,
            head_dim=self.hidden_size // self.num_attention_heads,
            intermediate_size=self.intermediate_size,
            vocab_size=self.num_audio_tokens,
            rope_theta=10_000.0,
            max_position_embeddings=self.max_position_embeddings,
        )


class Shape(Decoder, frozen=True, kw_only=True):
    """The whole model. `vision_config` None: it sees nothing; else a resampler of `query_num` queries makes
    positions of what it sees."""

    model_type: str = MODEL_TYPE
    version: str = "4.5"
    audio_pool_step: int = 5
    query_num: int = 64
    audio_config: Audio = Audio()
    vision_config: Vision | None = None
    tts_config: Talker = Talker()


def named(size: str) -> Shape:
    """Raises KeyError for a name that is none."""
    return {"qwen3-8b": Shape(vision_config=Vision()), "tiny": _tiny()}[size]


SIZES = ("tiny", "qwen3-8b")


def _tiny() -> Shape:
    talker = Talker(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=128,
        num_text_tokens=320,
        llm_dim=128,
        audio_bos_token_id=318,
        text_eos_token_id=319,
    )
    return Shape(
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        intermediate_size=256,
        vocab_size=320,
        max_position_embeddings=8192,
        initializer_range=0.15,
        audio_config=Audio(d_model=64, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=128),
        vision_config=Vision(
            hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=64, image_size=224
        ),
        tts_config=talker,
    )


def read_shape(folder: Path) -> Shape:
    """Of a checkpoint. Raises EngineRefused."""
    try:
        shape = msgspec.json.decode((folder / "config.json").read_bytes(), type=Shape)
    except (OSError, msgspec.DecodeError) as error:
        raise EngineRefused("bad_model", f"{folder / 'config.json'}: {error}") from error
    if shape.model_type != MODEL_TYPE or not shape.version.startswith("4.5"):
        told = f"{folder} is a {shape.model_type} {shape.version}, this stage runs minicpmo 4.5"
        raise EngineRefused("bad_model", told)
    return shape
