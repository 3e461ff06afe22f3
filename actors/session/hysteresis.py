"""Voice hysteresis: from speech probabilities to where speech starts, pauses and stops. Of two kinds.

Of both a window counts as speech at `threshold` or above and as silence below `threshold - 0.15` (at least
0.01).

    onset       Speech starts when speech windows add up to `min_speech_ms` without a silent one between them;
                it is dated to the first of them. It stops when `silence_duration_ms` passed since the last
                speech window and the present window is silent.
    segment     Speech starts with the first speech window. It stops after `silence_duration_ms` of silent
                windows; any window that is not silent begins that time anew. A segment that is shorter than
                `min_speech_ms`, from its first window to the last that is not silent, was none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from antiphon.events.units import ms_to_samples
from antiphon.events.vocabulary import TurnDetection

from .state import Voice

PAUSE_MS = 200
"""Silence after which an utterance is worth recognising, before it is known to be over."""

LONGEST_TURN = ms_to_samples(120_000)
"""A turn that goes on for longer is closed all the same: no recogniser takes an endless utterance."""


class Crossing(Struct, frozen=True, gc=False):
    """Where the hysteresis changed its mind, and the state it was in just after."""

    what: Literal["started", "paused", "stopped"]
    sample: int
    speech_until: int | None = None
    """Where the last window of a segment ends that was not silent."""
    short: bool = False
    """There was too little speech in it for it to be a segment."""


def walk(
    voice: Voice, detection: TurnDetection, until: int, window: int, permille: tuple[int, ...]
) -> tuple[Voice, list[Crossing]]:
    """Take the windows one after another. `voice.speaking` is left to the events that follow."""
    silent_below = max(detection.threshold_permille - 150, 10)
    stop_after = ms_to_samples(detection.silence_duration_ms)
    pause_after = min(ms_to_samples(PAUSE_MS), stop_after // 2)
    start_after = ms_to_samples(detection.min_speech_ms)
    onset, run, silence, paused = voice.onset, voice.run, voice.silence, voice.paused
    speaking = voice.speaking is not None
    crossings: list[Crossing] = []
    end = until - window * len(permille)
    for score in permille:
        end += window
        if end <= voice.scored:
            continue  # said twice
        if speaking and onset is not None and end - onset >= LONGEST_TURN:
            if not paused:
                crossings.append(Crossing("paused", end))
            speaking, onset, run, silence, paused = False, None, 0, 0, False
            crossings.append(Crossing("stopped", end))
        elif score >= detection.threshold_permille:
            onset = end - window if onset is None else onset
            run, silence, paused = run + window, 0, False
            if not speaking and run >= start_after:
                speaking = True
                crossings.append(Crossing("started", onset))
        elif speaking:
            silence += window
            if not paused and silence >= pause_after:
                paused = True
                crossings.append(Crossing("paused", end))
            if silence >= stop_after and score < silent_below:
                speaking, onset, run, silence, paused = False, None, 0, 0, False
                crossings.append(Crossing("stopped", end))
        elif score < silent_below:
            onset, run = None, 0
    scored = max(voice.scored, until)
    return replace(voice, scored=scored, onset=onset, run=run, silence=silence, paused=paused), crossings


def walk_segments(
    voice: Voice, detection: TurnDetection, until: int, window: int, permille: tuple[int, ...]
) -> tuple[Voice, list[Crossing]]:
    """The same, of whole segments."""
    silent_below = max(detection.threshold_permille - 150, 10)
    stop_after = ms_to_samples(detection.silence_duration_ms)
    pause_after = min(ms_to_samples(PAUSE_MS), stop_after // 2)
    shortest = ms_to_samples(detection.min_speech_ms)
    onset, silence, paused = voice.onset, voice.silence, voice.paused
    crossings: list[Crossing] = []
    end = until - window * len(permille)
    for score in permille:
        end += window
        if end <= voice.scored:
            continue  # said twice
        if onset is None:
            if score < detection.threshold_permille:
                continue
            onset, silence, paused = end - window, 0, False
            crossings.append(Crossing("started", onset))
        silence = silence + window if score < silent_below else 0
        paused = paused and silence > 0
        spoken = end - silence
        short = spoken - onset < shortest
        over = silence >= stop_after or end - onset >= LONGEST_TURN
        if not paused and not short and (over or silence >= pause_after):
            paused = True
            crossings.append(Crossing("paused", end))
        if over:
            crossings.append(Crossing("stopped", end, spoken, short))
            onset, silence, paused = None, 0, False
    scored = max(voice.scored, until)
    return replace(voice, scored=scored, onset=onset, silence=silence, paused=paused), crossings


Walk = Callable[[Voice, TurnDetection, int, int, tuple[int, ...]], tuple[Voice, list[Crossing]]]

WALKS: Mapping[str, Walk] = {"onset": walk, "segment": walk_segments}
"""By TurnDetection.kind."""


def kept_until(detection: TurnDetection, stopped: Crossing) -> int:
    """How far a segment goes: as much of the silence behind it is kept as of what is before it."""
    spoken = stopped.sample if stopped.speech_until is None else stopped.speech_until
    return min(spoken + ms_to_samples(detection.prefix_padding_ms), stopped.sample)
