"""An answer's audio as the client asked for it, however it was cut on its way."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.actors.runtime import Published
from antiphon.events.envelope import Stored
from antiphon.events.ids import Fence, ItemId, Operation, ResponseId, Seq, SessionId
from antiphon.events.units import Moment, Samples
from antiphon.events.vocabulary import (
    Abilities,
    AudioSpoken,
    Config,
    Event,
    Outcome,
    ResponseCreated,
    ResponseEnded,
    SessionOpened,
)
from antiphon.media.encodings import from_samples, to_samples
from antiphon.media.pcm import to_float, to_pcm
from antiphon.media.resample import Resampler
from antiphon.media.wav import read_wav
from antiphon.projections.duplex import frames as f
from antiphon.projections.duplex.projection import DuplexProjection
from antiphon.projections.slices import MOST_SLICES, SLICE, slices
from antiphon.web.duplex.voice import DuplexSound

S, R = SessionId("s"), ResponseId("r")
FORMATS = [
    ("pcm16", 24_000),
    ("pcm16", 16_000),
    ("pcm16", 48_000),
    ("g711_ulaw", 8_000),
    ("g711_alaw", 24_000),
    ("wav", 8_000),
]
RNG = np.random.default_rng(7)
SOUND = (0.3 * np.sin(np.arange(48_000) / 9) + RNG.normal(scale=0.01, size=48_000)).astype(np.float32)


def said(
    encoding: str, rate: int, pieces: list[bytes], outcome: Outcome = "completed"
) -> list[dict[str, Any]]:
    """The audio deltas of an answer in these pieces, as the client reads them."""
    config = Config(echo={"audio": {"output": {"format": {"type": encoding, "rate": rate}}}})
    events: list[tuple[Event, bytes | None]] = [
        (SessionOpened(session=S, incarnation=0, mode="duplex", abilities=Abilities(stage="x", hears="utterances"), config=config), None),
        (ResponseCreated(response=R, item=ItemId("i"), fence=Fence(S, 0, 0, 1, R)), None),
    ]  # fmt: skip
    until = 0
    for piece in pieces:
        until += len(piece) // 2
        spoken = AudioSpoken(
            response=R, samples=Samples(len(piece) // 2), until_sample=Samples(until), operation=Operation(1), index=0
        )  # fmt: skip
        events.append((spoken, piece))
    events.append((ResponseEnded(response=R, outcome=outcome), None))
    projection, sound, told, ends = DuplexProjection(), DuplexSound(), [], []
    view = projection.begin(1)
    for seq, (event, payload) in enumerate(events):
        stored = Stored(Seq(seq), Moment(0, 0), event)
        view, frames = projection.step(view, stored)
        for frame in frames:
            if isinstance(frame, f.AudioDelta):
                filled, end, response = sound.fill(frame, Published(stored, payload))
                told.append(json.loads(projection.encode(filled)))
                ends.append(end)
                assert response == R
    assert ends == sorted(ends)
    if outcome == "completed" and pieces:
        assert ends[-1] == until
    return told


def joined(told: list[dict[str, Any]]) -> np.ndarray:
    """The samples that a client hears."""
    raw = [base64.b64decode(delta["delta"]) for delta in told]
    if told[0]["format"] == "wav":
        return np.concatenate([read_wav(file).samples for file in raw])
    return to_samples(b"".join(raw), told[0]["format"])


def whole(samples: Any, encoding: Any, rate: int) -> Any:
    """The same sound converted at once."""
    pcm = to_float(to_pcm(samples))
    if rate != 24_000:
        resampler = Resampler(24_000, rate, quality="low")
        pcm = np.concatenate([resampler.feed(pcm), resampler.finish()])
    raw = from_samples(pcm, rate, encoding)
    return read_wav(raw).samples if encoding == "wav" else to_samples(raw, encoding)


@pytest.mark.parametrize(("encoding", "rate"), FORMATS)
def test_however_an_answer_is_cut_it_sounds_like_the_whole(encoding: str, rate: int) -> None:
    @settings(max_examples=25, deadline=None)
    @given(cuts=st.lists(st.integers(1, 20_000), min_size=1, max_size=8))
    def law(cuts: list[int]) -> None:
        pcm = to_pcm(SOUND)
        places = np.minimum(np.cumsum([0, *cuts]), len(SOUND))
        pieces = [pcm[2 * a : 2 * b] for a, b in pairwise(places) if b > a]
        heard, expected = joined(said(encoding, rate, pieces)), whole(SOUND[: places[-1]], encoding, rate)
        assert len(heard) == len(expected)
        assert np.max(np.abs(heard - expected), initial=0) < 0.02

    law()


def test_of_an_answer_that_is_cut_off_nothing_that_was_held_back_is_sent() -> None:
    piece = to_pcm(SOUND[:4_800])
    assert len(said("g711_ulaw", 8_000, [piece], "cancelled")) == 1
    assert len(said("g711_ulaw", 8_000, [piece])) == 2
    assert len(said("pcm16", 24_000, [piece])) == 1


@given(samples=st.integers(1, 24_000 * 60), rate=st.sampled_from([8_000, 24_000, 48_000]))
def test_slices_are_the_whole_and_few_and_short_enough_to_be_taken_back(samples: int, rate: int) -> None:
    cut = slices(samples, rate)
    assert sum(cut) == samples
    assert 0 < len(cut) <= MOST_SLICES
    if samples <= SLICE * MOST_SLICES // 2:
        assert max(cut) * max(rate, 24_000) // 24_000 <= SLICE
