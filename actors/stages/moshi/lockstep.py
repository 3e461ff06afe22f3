"""One step of the language model for every slot: the user's codes in, text and the agent's codes out.

The step of the `moshi` package serves one batch that begins, ends and draws its tokens together. This is the
same arithmetic over its modules (LMModel) for slots that come and go: each has its own frame count, its own
generator, and tokens that a prompt may force. On a GPU all of it is one CUDA graph.

Rows of the token ring are text, the agent's codebooks, the user's. A codebook with a delay of d is
predicted, and heard, d frames after the others (Moshi, section 3.4.4). What the depth transformer of
PersonaPlex predicts of the user is not used: the user is there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .draws import choices, draw, put
from .package import CUDAGraphed
from .sizes import AGENT_CODEBOOKS
from .stepper import Sampling

FREE = -1
"""In the place of a forced token: the model chooses."""
_USER = 1 + AGENT_CODEBOOKS
_NOTHING = -2


class Lockstep:
    """The slots of one language model; `lm` is a moshi.models.lm.LMModel in evaluation mode."""

    def __init__(self, lm: Any, slots: int) -> None:
        self._lm, self.slots = lm, slots
        self.device: torch.device = lm.device
        self.tokens_each_frame = 1 + lm.dep_q
        self._delays = torch.tensor(lm.delays, device=self.device)
        self._most = max(lm.delays)
        self._ring = self._most + 2
        self._tokens = torch.full(
            (slots, 1 + lm.n_q, self._ring), _NOTHING, dtype=torch.long, device=self.device
        )
        self._frames = torch.zeros(slots, dtype=torch.long, device=self.device)
        self._live = torch.zeros(slots, dtype=torch.bool, device=self.device)
        self._initial = torch.full((1 + lm.n_q, 1), lm.initial_token_id, device=self.device)
        self._initial[0] = lm.text_initial_token_id
        self._text, self._audio = choices(slots, self.device)
        lm.set_streaming_detached(True)
        lm.streaming(slots).__enter__()
        self._graphed = CUDAGraphed(self._step, disable=self.device.type != "cuda")

    def begin(self, slot: int, sampling: Sampling) -> None:
        """Whatever the slot held is gone."""
        fresh = torch.zeros(self.slots, dtype=torch.bool, device=self.device)
        fresh[slot] = True
        self._lm.reset_streaming(fresh)
        self._frames[slot] = 0
        self._tokens[slot] = _NOTHING
        put(self._text, self._audio, slot, sampling)

    def put_back(self, slot: int, ring: Tensor, frames: int) -> None:
        """`ring` [rows, its length] holds the tokens that a voice left after so many frames."""
        for frame in range(frames, frames + self._most + 1):
            self._tokens[slot, :, frame % self._ring] = ring[:, frame % ring.shape[-1]].to(self.device)

    def step(
        self, live: Tensor, user: Tensor, text: Tensor, agent: Tensor, numbers: Tensor, embedding: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Give the slots that are `live` (bool [slots]) a frame of `user` codes [slots, 8].

        `text` [slots] and `agent` [slots, 8] are forced where they are not FREE, the latter as they stand in
        the ring: the delayed ones are of the frame before. `numbers` [slots, tokens_each_frame] draw what is
        free. `embedding` [slots, dim] is heard in the place of tokens where it is not all NaN.

        Returns text tokens [slots] and codes [slots, 8], both of the frame before this one, and where there
        are any (bool [slots]).
        """
        self._lm.set_exec_mask(live)
        with torch.no_grad():
            out: tuple[Tensor, Tensor, Tensor] = self._graphed(live, user, text, agent, numbers, embedding)
        return out

    def _step(
        self, live: Tensor, user: Tensor, text: Tensor, agent: Tensor, numbers: Tensor, embedding: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        self._write(_USER, self._frames[:, None] + self._delays[_USER:], user, live)
        hidden = self._think(live, embedding)
        logits = self._lm.text_linear(hidden)[:, 0]
        said = torch.where(text != FREE, text, draw(logits, self._text, numbers[:, 0]))
        codes = self._speak(said, hidden, agent, numbers)
        self._frames += live
        now = self._frames[:, None].expand(-1, _USER)
        self._write(0, now, torch.cat([said[:, None], codes[:, :AGENT_CODEBOOKS]], dim=1), live)
        past = (now - self._most + self._delays[:_USER]) % self._ring
        whole = self._tokens[:, :_USER].gather(2, past[:, :, None])[:, :, 0]
        return whole[:, 0].clone(), whole[:, 1:].clone(), live & (self._frames > self._most)

    def _write(self, first: int, frames: Tensor, tokens: Tensor, live: Tensor) -> None:
        """Tokens [slots, rows] into the rows from `first` on, each at its frame [slots, rows]."""
        rows = self._tokens[:, first : first + tokens.shape[1]]
        places = (frames % self._ring)[:, :, None]
        kept = rows.gather(2, places)
        rows.scatter_(2, places, torch.where(live[:, None, None], tokens[:, :, None], kept))

    def _think(self, live: Tensor, embedding: Tensor) -> Tensor:
        """What the temporal transformer makes of the tokens of this frame: [slots, 1, dim]."""
        lm, here = self._lm, (self._frames % self._ring)[:, None, None].expand(-1, 1 + self._lm.n_q, 1)
        early = (self._frames[:, None] <= self._delays)[:, :, None] | ~live[:, None, None]
        tokens = torch.where(early, self._initial, self._tokens.gather(2, here))
        heard = lm.text_emb(tokens[:, 0])
        for number, table in enumerate(lm.emb):
            heard = heard + table(tokens[:, 1 + number])
        given = embedding.to(heard)[:, None]
        hidden = lm.transformer(torch.where(given.isnan(), heard, given))
        normed: Tensor = lm.out_norm(hidden) if lm.out_norm else hidden
        return normed

    def _speak(self, text: Tensor, hidden: Tensor, agent: Tensor, numbers: Tensor) -> Tensor:
        """The depth transformer: codebook after codebook, each given the one before. [slots, dep_q]"""
        lm, last, codes = self._lm, text, []
        with lm.depformer.streaming(self.slots):
            for codebook in range(lm.dep_q):
                logits = lm.forward_depformer(codebook, last[:, None, None], hidden)[:, 0, 0]
                last = draw(logits, self._audio, numbers[:, 1 + codebook])
                if codebook < AGENT_CODEBOOKS:
                    forced = agent[:, codebook]
                    last = torch.where(forced != FREE, forced, last)
                codes.append(last)
        return torch.stack(codes, dim=1)
