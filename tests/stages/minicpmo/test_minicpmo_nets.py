"""The encoder and the talker's decoder beside transformers' Whisper and Llama, with the same random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from antiphon.actors.stages.minicpmo.handing import Words
from antiphon.actors.stages.minicpmo.shapes import named

pytestmark = pytest.mark.minicpmo
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from antiphon.actors.stages.minicpmo.nets import audio, decoder, talker  # noqa: E402  # after importorskip
from antiphon.actors.stages.minicpmo.nets.mel import TAIL, Mel, filters  # noqa: E402
from antiphon.actors.stages.minicpmo.nets.weights import random  # noqa: E402

SHAPE = named("tiny")
CPU = torch.device("cpu")


def noise(wanted: dict[str, tuple[int, ...]], seed: int) -> dict[str, Any]:
    return random(wanted, CPU, torch.float32, std=0.15, seed=seed)


def second(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, 16_000).astype(np.float32)


@pytest.fixture(scope="module")
def encoder() -> dict[str, Any]:
    return noise(audio.names(SHAPE), 1)


@pytest.fixture(scope="module")
def ears(encoder: dict[str, Any]) -> audio.Ears:
    return audio.Ears(SHAPE, encoder, noise(audio.projection_names(SHAPE), 2))


def test_the_bands_are_whispers() -> None:
    from transformers.audio_utils import mel_filter_bank

    theirs = mel_filter_bank(201, 80, 0.0, 8000.0, 16_000, norm="slaney", mel_scale="slaney")
    np.testing.assert_allclose(filters(80).numpy().T, theirs, atol=1e-7)


def test_a_first_second_is_encoded_as_by_whisper(ears: audio.Ears, encoder: dict[str, Any]) -> None:
    shape = SHAPE.audio_config
    config = transformers.WhisperConfig(
        d_model=shape.d_model,
        encoder_layers=shape.encoder_layers,
        encoder_attention_heads=shape.encoder_attention_heads,
        encoder_ffn_dim=shape.encoder_ffn_dim,
        num_mel_bins=shape.num_mel_bins,
        max_source_positions=audio.POSITIONS,
    )
    whisper = transformers.models.whisper.modeling_whisper.WhisperEncoder(config).eval()
    places = "embed_positions.weight"
    whisper.load_state_dict({**encoder, places: encoder[places][: audio.POSITIONS]})
    sound = second(3)
    with torch.no_grad():
        frames = Mel(80, CPU).frames(torch.cat((torch.zeros(TAIL), torch.from_numpy(sound))))
        theirs = ears._project(whisper(frames[None]).last_hidden_state[0]).numpy()
    np.testing.assert_allclose(ears.hear(audio.Hearing(), sound), theirs, atol=1e-4)


def test_what_was_heard_before_counts_and_after_thirty_seconds_it_begins_anew(ears: audio.Ears) -> None:
    hearing = audio.Hearing()
    embedded = [ears.hear(hearing, second(count % 2)) for count in range(32)]
    assert all(one.shape == (10, SHAPE.hidden_size) for one in embedded)
    assert not np.allclose(embedded[1], embedded[3]), "the same sound, after another past"
    assert hearing.position == 2 * audio.POSITIONS


def test_a_second_has_its_length(ears: audio.Ears) -> None:
    with pytest.raises(ValueError, match="16000"):
        ears.hear(audio.Hearing(), second(1)[:-1])


def test_the_talkers_decoder_is_llamas() -> None:
    shape = SHAPE.tts_config.decoder
    weights = noise(decoder.names(shape, qk_norm=False), 4)
    config = transformers.LlamaConfig(
        vocab_size=8,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        rms_norm_eps=shape.rms_norm_eps,
        rope_parameters={"rope_theta": shape.rope_theta, "rope_type": "default"},
    )
    llama = transformers.LlamaModel(config).eval()
    llama.load_state_dict({**weights, "embed_tokens.weight": torch.zeros(8, shape.hidden_size)})
    ours = decoder.Decoder(shape, weights, qk_norm=False, slots=2, length=64)
    given = torch.randn(1, 20, shape.hidden_size, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        theirs = llama(inputs_embeds=given).last_hidden_state
        first = ours.forward(given[:, :13], torch.tensor([0]), first=1, span=64)
        second = ours.forward(given[:, 13:], torch.tensor([13]), first=1, span=64)
    np.testing.assert_allclose(torch.cat((first, second), dim=1).numpy(), theirs.numpy(), atol=1e-4)


def test_what_the_talker_is_given_has_a_place_for_each_word_and_for_where_it_stands() -> None:
    shape = SHAPE.tts_config
    conditions = talker.Conditions(shape, noise(talker.names(shape), 6))
    states = np.random.default_rng(7).normal(0, 1, (3, shape.llm_dim)).astype(np.float32)
    whole = conditions.of(Words((1, 2, 3), states), last=False)
    assert whole.shape == (4, shape.hidden_size)
    by_words = conditions.of(Words((1, 2, 3), None), last=True)
    assert by_words.shape == (5, shape.hidden_size)
    added = whole[:3] - by_words[:3]
    np.testing.assert_allclose(np.linalg.norm(added, axis=1), 1, atol=1e-4)
    assert conditions.of(Words((), None), last=True).shape == (2, shape.hidden_size)
