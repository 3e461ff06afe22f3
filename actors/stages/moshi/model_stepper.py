"""Steps the model: Mimi's encoder, the language model, Mimi's decoder, for all slots at once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from antiphon.actors.stages.contract import EngineRefused

from .draws import Draws
from .lockstep import FREE, Lockstep
from .models import Models
from .prompts import Row, rows
from .sizes import AGENT_CODEBOOKS, USER_CODEBOOKS
from .stepper import FRAME_SAMPLES, Frame, Prompt, Sampling, Spoken
from .words import Spelling

WARM_UP_FRAMES = 7
"""Steps before the first conversation: on a GPU graphs are captured in the second of each kind."""


class _Slot:
    def __init__(self, draws: Draws, spelling: Spelling, prompt: deque[Row]) -> None:
        self.draws, self.spelling, self.prompt = draws, spelling, prompt


class ModelStepper:
    """Implements FrameStepper."""

    def __init__(self, models: Models, slots: int) -> None:
        self.slots = slots
        self._models, self._device = models, models.device
        self._lm = Lockstep(models.lm, slots)
        models.mimi.streaming(slots).__enter__()
        self._open: dict[int, _Slot] = {}
        self._prefilling: set[int] = set()
        self.step_s = self._warm_up()

    def _warm_up(self) -> float:
        took = []
        self.open(0, Prompt(), Sampling(seed=0))
        self.step({})
        for _ in range(WARM_UP_FRAMES):
            began = time.perf_counter()
            self.step({0: np.zeros(FRAME_SAMPLES, np.float32)})
            took.append(time.perf_counter() - began)
        self.close(0)
        return sorted(took)[len(took) // 2]

    def open(self, slot: int, prompt: Prompt, sampling: Sampling) -> None:
        models = self._models
        voices = models.voices
        if prompt.voice and voices is not None and prompt.voice not in voices:
            raise EngineRefused("voice_unknown", f"there is no voice {prompt.voice!r}")
        if prompt.persona and not models.takes_persona:
            raise EngineRefused(
                "persona_unsupported", "this model takes no persona: leave the instructions empty"
            )
        voice = None if voices is None else voices.get(prompt.voice)
        given = deque(rows(voice, prompt.persona, models.words, models.lm.card))
        draws = Draws(sampling.seed or 0, self._lm.tokens_each_frame)
        self._lm.begin(slot, sampling)
        models.mimi.reset_streaming(self._mask([slot]))
        self._open[slot] = _Slot(draws, Spelling(models.words), given)
        self._prefilling.add(slot)

    @property
    def prefilling(self) -> bool:
        return bool(self._prefilling)

    def step(self, heard: Mapping[int, Frame]) -> tuple[Mapping[int, Spoken], tuple[int, ...]]:
        given = {slot: self._open[slot].prompt for slot in self._prefilling}
        prompts = {slot: left.popleft() for slot, left in given.items() if left}
        said: Mapping[int, Spoken] = {}
        if heard or prompts:
            with torch.no_grad():
                said = self._step(heard, prompts)
        ready = tuple(sorted(slot for slot, left in given.items() if not left))
        self._prefilling.difference_update(ready)
        return said, ready

    def _step(self, heard: Mapping[int, Frame], prompts: Mapping[int, Row]) -> Mapping[int, Spoken]:
        mimi, ears = self._models.mimi, self._mask(heard)
        user = self._encode(heard, ears)
        text, agent = self._free()
        embedding = torch.full((self.slots, self._models.lm.dim), float("nan"), device=self._device)
        for slot, row in prompts.items():
            user[slot], agent[slot] = self._codes(row.user), self._codes(row.agent)
            text[slot] = row.text
            if row.embedding is not None:
                embedding[slot] = row.embedding.to(embedding)
        live = self._mask([*heard, *prompts])
        words, codes, whole = self._lm.step(
            live, user, text, agent, self._numbers([*heard, *prompts]), embedding
        )
        for slot, row in prompts.items():
            if row.ring is not None:
                self._lm.put_back(slot, row.ring, row.frames)
        if not heard:
            return {}
        mimi.set_exec_mask(whole & ears)
        said = mimi.decode(codes.clamp(min=0)[:, :, None])[:, 0].float()
        return self._spoken(heard, said.cpu().numpy(), words.cpu().numpy(), whole.cpu().numpy())

    def _encode(self, heard: Mapping[int, Frame], ears: Tensor) -> Tensor:
        """Mimi's codes of what is heard, [slots, 8]."""
        if not heard:
            return torch.zeros(self.slots, USER_CODEBOOKS, dtype=torch.long, device=self._device)
        sound = np.zeros((self.slots, 1, FRAME_SAMPLES), np.float32)
        for slot, frame in heard.items():
            sound[slot, 0] = frame
        self._models.mimi.set_exec_mask(ears)
        codes: Tensor = self._models.mimi.encode(torch.from_numpy(sound).to(self._device))
        return codes[:, :, 0].clone()

    def _spoken(
        self, heard: Mapping[int, Frame], said: np.ndarray, words: np.ndarray, whole: np.ndarray
    ) -> dict[int, Spoken]:
        return {
            slot: Spoken(said[slot], self._open[slot].spelling.add(int(words[slot])))
            if whole[slot]
            else Spoken(None)
            for slot in heard
        }

    def close(self, slot: int) -> None:
        self._open.pop(slot, None)
        self._prefilling.discard(slot)

    def _free(self) -> tuple[Tensor, Tensor]:
        text = torch.full((self.slots,), FREE, dtype=torch.long, device=self._device)
        return text, text[:, None].repeat(1, AGENT_CODEBOOKS)

    def _codes(self, codes: tuple[int, ...]) -> Tensor:
        return torch.tensor(codes, device=self._device)

    def _mask(self, slots: Iterable[int]) -> Tensor:
        mask = torch.zeros(self.slots, dtype=torch.bool)
        mask[list(slots)] = True
        return mask.to(self._device)

    def _numbers(self, slots: Iterable[int]) -> Tensor:
        numbers = np.zeros((self.slots, self._lm.tokens_each_frame), np.float32)
        for slot in slots:
            numbers[slot] = self._open[slot].draws.next()
        return torch.from_numpy(numbers).to(self._device)
