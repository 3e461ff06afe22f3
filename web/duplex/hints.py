"""What a client says of its own audio, beside the audio: whether it is speech, and what it is to do.

The first that is said counts: `is_speech` or `speech`; what its detector says (`vad`), in words or as a
probability from a half on; `speech_probability`; and where nothing is said, how loud it is.
"""

from __future__ import annotations

from antiphon.actors.session.commands import OverlapHints
from antiphon.web.realtime.undecodable import Undecodable

from . import frames as f

SPEECH = 0.5

ACTIONS = {
    **dict.fromkeys(("barge_in", "interrupt", "cancel"), "barge_in"),
    **dict.fromkeys(("listen", "continue", "continue_output", "ack"), "listen"),
    **dict.fromkeys(("drop", "ignore", "silence"), "drop"),
}


def verdict(frame: f.Append) -> bool | None:
    """Whether it is speech, as far as the client says so."""
    for said in (frame.is_speech, frame.speech, None if frame.vad is None else _detected(frame.vad)):
        if said is not None:
            return said
    return _is_likely(frame.speech_probability)


def _detected(vad: f.Vad) -> bool | None:
    if vad.is_speech is not None:
        return vad.is_speech
    return _is_likely(vad.probability if vad.speech_probability is None else vad.speech_probability)


def _is_likely(probability: float | None) -> bool | None:
    return None if probability is None else probability >= SPEECH


def overlap_hints(frame: f.Append) -> OverlapHints | None:
    """What the client asks for, if this comes over an answer. Raises Undecodable."""
    asked = frame.overlap_action or frame.overlap
    transcript = frame.transcript or frame.text or ""
    started = None if frame.vad is None else frame.vad.speech_started
    forced = frame.force_barge_in or frame.force_listen
    if asked is None and started is None and not (transcript or forced):
        return None
    action = None if asked is None else ACTIONS.get(asked)
    if asked is not None and action is None:
        message = f"an overlap action is one of {', '.join(ACTIONS)}"
        raise Undecodable("invalid_value", message, "overlap_action", frame.event_id)
    return OverlapHints(
        action=action,  # type: ignore[arg-type]  # one of ACTIONS
        force_barge_in=frame.force_barge_in,
        force_listen=frame.force_listen,
        transcript=transcript[:1000],
        speech_started=started,
    )
