"""The parts in torch, with a checkpoint's weights or with noise of its shape."""

from __future__ import annotations

from pathlib import Path

import torch
from msgspec import structs
from torch import Tensor

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.minicpmo.options import MiniCpmOSettings
from antiphon.actors.stages.minicpmo.parts import Parts, Progress, thinker_facts
from antiphon.actors.stages.minicpmo.shapes import Shape
from antiphon.actors.stages.minicpmo.thinker import Facts, Thinker
from antiphon.actors.stages.minicpmo.torch_thinker import TorchThinker
from antiphon.actors.stages.minicpmo.words import Words

from . import audio, decoder, talker, vision
from .steps import Steps
from .weights import Weights, has, random
from .weights import load as load_weights

SEED = 20
Wanted = dict[str, tuple[int, ...]]


class Source:
    """Where the weights of a part come from."""

    def __init__(self, chosen: MiniCpmOSettings, folder: Path, shape: Shape) -> None:
        self._folder, self._shape, self._random = folder, shape, chosen.weights == "random"
        self.device = torch.device(chosen.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32

    def has(self, prefix: str) -> bool:
        return not self._random and has(self._folder, prefix)

    def part(self, prefix: str, wanted: Wanted, *, missing_is_noise: bool = False) -> Weights:
        """Raises EngineRefused where weights are missing, or are of another shape."""
        if self._random or (missing_is_noise and not self.has(prefix)):
            std = self._shape.initializer_range
            return random(wanted, self.device, self.dtype, std=std, seed=SEED)
        found = load_weights(self._folder, prefix, self.device, self.dtype)
        wrong = [name for name, size in wanted.items() if name not in found or found[name].shape != size]
        if wrong:
            told = f"{prefix}{wrong[0]} is missing or not of the shape {wanted[wrong[0]]}"
            raise EngineRefused("bad_model", f"{self._folder}: {told} (and {len(wrong) - 1} more)")
        return found


def load(chosen: MiniCpmOSettings, folder: Path, shape: Shape, words: Words, progress: Progress) -> Parts:
    source = Source(chosen, folder, shape)
    progress(f"loading {folder.name} ({chosen.weights}) on {source.device}")
    hearing = audio.Ears(
        shape,
        source.part("apm.", audio.names(shape)),
        source.part("audio_projection_layer.", audio.projection_names(shape)),
    )
    eyes = None
    if shape.vision_config is not None:
        eyes = vision.Eyes(
            shape,
            source.part("vpm.", vision.names(shape)),
            source.part("resampler.", vision.resampler_names(shape)),
        )
    speech = shape.tts_config
    spoken = source.part("tts.", talker.names(speech), missing_is_noise=True)
    conditions = talker.Conditions(speech, spoken)
    is_random = not source.has("tts.")
    speaking = _talker(chosen, shape, spoken, progress)
    try:  # last: it may be a process of its own, which nothing that fails may leave behind
        thinking = _thinker(chosen, source, shape, words, progress)
    except BaseException:
        speaking.stop()
        raise
    return Parts(
        shape=shape,
        words=words,
        thinker=thinking,
        ears=hearing,
        hearing=audio.Hearing,
        eyes=eyes,
        conditions=conditions,
        talker=speaking,
        talker_is_random=is_random,
    )


def _thinker(
    chosen: MiniCpmOSettings, source: Source, shape: Shape, words: Words, progress: Progress
) -> Thinker:
    if chosen.thinker == "vllm":
        return _on_vllm(chosen, shape, words, progress)
    facts = thinker_facts(chosen, shape, f"torch {source.device.type}")
    size = (shape.vocab_size, shape.hidden_size)
    wanted = {f"model.{name}": one for name, one in decoder.names(shape, qk_norm=True).items()}
    table = "model.embed_tokens.weight"
    head = table if shape.tie_word_embeddings else "lm_head.weight"
    found = source.part("llm.", {**wanted, table: size, head: size})
    own = {name.removeprefix("model."): weight for name, weight in found.items()}
    made = decoder.Decoder(shape, own, qk_norm=True, slots=facts.max_sessions, length=facts.context_tokens)
    return TorchThinker(Steps(made, found[table], found[head]), facts, words.characters, progress)


def _on_vllm(chosen: MiniCpmOSettings, shape: Shape, words: Words, progress: Progress) -> Thinker:
    """Its own releases of torch and of others are needed: docs/vllm.md."""
    from antiphon.actors.stages.vllm_streaming.options import Options
    from antiphon.actors.stages.vllm_streaming.thinker import VllmThinker

    facts = thinker_facts(chosen, shape, "vllm")
    options = Options(
        model=chosen.model,
        random_weights=chosen.weights == "random",
        device=chosen.device,
        max_sessions=facts.max_sessions,
        context_tokens=facts.context_tokens,
        most_tokens=chosen.unit_tokens,
        append_timeout_s=chosen.append_timeout_s,
        **structs.asdict(chosen.vllm),
    )
    return VllmThinker(options, characters=words.characters, progress=progress)


def _talker(chosen: MiniCpmOSettings, shape: Shape, found: dict[str, Tensor], progress: Progress) -> Thinker:
    speech = shape.tts_config
    length = speech.max_position_embeddings
    facts = Facts(
        name="torch talker",
        max_sessions=chosen.max_sessions,
        context_tokens=length,
        kv_tokens=chosen.max_sessions * length,
        hidden=speech.hidden_size,
        vocabulary=speech.num_audio_tokens,
        can_truncate=True,
        gives_hidden=False,
    )
    inner = {
        name.removeprefix(talker.DECODER): one
        for name, one in found.items()
        if name.startswith(talker.DECODER)
    }
    made = decoder.Decoder(speech.decoder, inner, qk_norm=False, slots=facts.max_sessions, length=length)
    steps = Steps(made, found[talker.TABLE], talker.head(found))
    return TorchThinker(steps, facts, [0] * speech.num_audio_tokens, progress)
