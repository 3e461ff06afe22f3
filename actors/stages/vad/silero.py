"""Silero's voice detector, run by onnxruntime from the file inside the silero-vad package.

The package itself is never imported: it needs torch. A window without its 64 samples of context would be
answered with probabilities near 0 and no error, hence the fixed input shape here.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime

from antiphon.actors.stages.contract import EngineRefused
from antiphon.actors.stages.vad.stream import CONTEXT, DETECTOR_RATE, DETECTOR_WINDOW
from antiphon.media.pcm import Float32


def _model_file(given: str) -> Path:
    """The package's, unless another is given. Raises EngineRefused."""
    if given:
        if not Path(given).is_file():
            raise EngineRefused("bad_settings", f"[stage.vad] model_path: there is no file {given}")
        return Path(given)
    package = find_spec("silero_vad")
    places = package.submodule_search_locations if package else None
    if not places:
        raise EngineRefused("not_installed", "the voice detector needs the package silero-vad: `make setup`")
    return Path(places[0]) / "data" / "silero_vad.onnx"


class Silero:
    """The detector without any stream's memory; all of that goes in and out."""

    def __init__(self, model_path: str = "") -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            str(_model_file(model_path)), options, providers=["CPUExecutionProvider"]
        )
        self._rate = np.array(DETECTOR_RATE, np.int64)
        silent = np.zeros(CONTEXT + DETECTOR_WINDOW, np.float32)
        self.probabilities([silent], [np.zeros((2, 1, 128), np.float32)])

    def probabilities(self, windows: list[Float32], memories: list[Float32]) -> list[tuple[float, Float32]]:
        """Speech probability and memory after each window; one window per stream, all in one run."""
        output, after = self._session.run(
            None,
            {"input": np.stack(windows), "state": np.concatenate(memories, axis=1), "sr": self._rate},
        )
        return [(float(output[k, 0]), after[:, k : k + 1]) for k in range(len(windows))]
