"""Whisper's log-mel frames, 10 ms each, of sound that comes second by second.

As Whisper's feature extractor has them (400 samples with a Hann window, 80 Slaney bands to 8 kHz, the log
within 80 dB of the loudest, scaled), but for two things that a stream cannot have: a frame's window ends
where the frame ends, since what follows is not there yet, and the loudest is that of the second.
"""

from __future__ import annotations

import torch
from torch import Tensor

RATE = 16_000
WINDOW, HOP = 400, 160
TAIL = WINDOW - HOP
"""Samples of the sound before that a first frame looks back on."""


class Mel:
    def __init__(self, bands: int, device: torch.device) -> None:
        self._window = torch.hann_window(WINDOW, device=device)
        self._filters = filters(bands).to(device)

    def frames(self, sound: Tensor) -> Tensor:
        """Of TAIL samples that were there already and n * HOP new ones: [bands, n] float32."""
        cut = sound.unfold(0, WINDOW, HOP) * self._window
        power = torch.fft.rfft(cut, dim=-1).abs() ** 2
        logs = (power @ self._filters.T).clamp(min=1e-10).log10().T
        return (torch.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0


def filters(bands: int) -> Tensor:
    """Triangles on Slaney's scale, each of the same area: [bands, WINDOW // 2 + 1]."""
    bins = torch.linspace(0, RATE / 2, WINDOW // 2 + 1, dtype=torch.double)
    most = float(_mels(torch.tensor(RATE / 2, dtype=torch.double)))
    corners = _hertz(torch.linspace(0, most, bands + 2, dtype=torch.double))
    widths = corners.diff()
    slopes = corners[:, None] - bins
    rising, falling = -slopes[:-2] / widths[:-1, None], slopes[2:] / widths[1:, None]
    triangles = torch.minimum(rising, falling).clamp(min=0)
    return (triangles * (2.0 / (corners[2:] - corners[:-2]))[:, None]).float()


_LINEAR = 3.0 / 200.0
"""Mels for a hertz below 1 kHz; above, 27 mels for a factor of 6.4 (Slaney's Auditory Toolbox)."""
_KNEE = 15.0


def _mels(hertz: Tensor) -> Tensor:
    above = _KNEE + (hertz.clamp(min=1000.0) / 1000.0).log() * 27.0 / torch.log(torch.tensor(6.4))
    return torch.where(hertz < 1000.0, hertz * _LINEAR, above)


def _hertz(mels: Tensor) -> Tensor:
    above = 1000.0 * torch.exp((mels.clamp(min=_KNEE) - _KNEE) * torch.log(torch.tensor(6.4)) / 27.0)
    return torch.where(mels < _KNEE, mels / _LINEAR, above)
