"""Moonshine tiny-en: an utterance's words. English only.

`vad_threshold` 0 switches its own voice detection off, which invents short lines in silence. 100 ms of
silence after the last word give it the end punctuation, and some words. Its Python call copies the audio
sample by sample (30 % of the whole time); the C function behind it takes our array as it is.
"""

import ctypes

import numpy as np
from moonshine_voice.errors import check_error
from moonshine_voice.moonshine_api import ModelArch, TranscriptC
from moonshine_voice.transcriber import Transcriber
from moonshine_voice.utils import get_model_path

from antiphon.actors.stages.contract import EngineRefused
from antiphon.media.pcm import Float32, to_float
from antiphon.media.resample import resample

RATE = 16_000
SHORTEST = RATE // 10
"""Samples below which there is no word to find."""
_PAD = np.zeros(RATE // 10, np.float32)


class Recogniser:
    """One model, one caller at a time."""

    def __init__(self) -> None:
        folder = get_model_path("tiny-en")
        if not (folder / "encoder_model.ort").is_file():
            raise EngineRefused(
                "not_installed", "this release of moonshine-voice carries no model: install 0.0.73"
            )
        self._transcriber = Transcriber(str(folder), ModelArch.TINY, options={"vad_threshold": 0.0})
        self._recognise(np.zeros(RATE, np.float32))

    def text(self, pcm: bytes) -> str:
        """What is said in `pcm` (24 kHz); empty if nothing is."""
        samples = resample(to_float(pcm), 24_000, RATE)
        return self._recognise(samples) if len(samples) >= SHORTEST else ""

    def _recognise(self, samples: Float32) -> str:
        padded = np.concatenate([samples, _PAD])
        transcript = ctypes.POINTER(TranscriptC)()
        check_error(
            self._transcriber._lib.moonshine_transcribe_without_streaming(
                self._transcriber._handle,
                padded.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                len(padded),
                RATE,
                0,
                ctypes.byref(transcript),
            )
        )
        if not transcript:
            return ""
        lines = (transcript.contents.lines[k].text for k in range(transcript.contents.line_count))
        texts = (ctypes.string_at(line).decode("utf-8", errors="replace") for line in lines if line)
        return " ".join(filter(None, map(str.strip, texts)))

    def close(self) -> None:
        self._transcriber.close()
