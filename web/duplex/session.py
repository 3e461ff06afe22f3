"""The client's session object: from the wire to a Configure command. Strict: what cannot be meant is refused.

Flat names and nested ones say the same, nested ones win. Formats are written in one shape into what is shown
back. `extra_body` is the model's own: its public options reach the stage, what the server decides is refused.

The rule between turn taking and overlap: without server VAD answers are not broken off by what is heard
(`listen_only`), with it they are (`barge_in_on_speech`); asking for anything else is a contradiction.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from antiphon.actors.session.commands import Configure
from antiphon.events.vocabulary import Config, Overlap, PlaybackPolicy, TurnDetection
from antiphon.projections.duplex import formats
from antiphon.web.realtime.session import can_be_kept
from antiphon.web.realtime.undecodable import Undecodable, explain

from .formats import Named, input_format, output_format
from .limits import modalities, temperature, tokens
from .members import OURS, SERVER_OWNED, WINDOW, Json, Session
from .turn_detection import turn_detection

Policy = Literal["listen_only", "barge_in_on_speech"]

LONGEST_MS = 600_000
EDGE_OWNED = ("auto_response", "duplex_initial_user_text")
"""In extra_body these are no options of the stage."""


def configure(session: Json, present: Config, client_event: str | None, *, opening: bool) -> Configure:
    """What the session object asks for, over the configuration that holds. `opening`: no audio was heard yet.

    Raises Undecodable; then nothing of it counts.
    """
    asked = _read(session, client_event)
    _refuse_server_owned(asked, client_event)
    echo = _echo(session, asked, present, client_event)
    nested = asked.audio.input.turn_detection
    detection = asked.turn_detection if nested is UNSET else nested
    given = detection if detection is UNSET else turn_detection(detection, client_event)
    return Configure(
        client_event=client_event,
        model=asked.model or UNSET,
        instructions="" if asked.instructions is None else asked.instructions,
        voice=asked.audio.output.voice or asked.voice or UNSET,
        output_modalities=_modalities(asked, client_event),
        turn_detection=given,
        overlap=_overlap(asked, given, present, client_event),
        playback=_playback(asked, client_event),
        transcription=_transcription(session, asked),
        max_output_tokens=tokens(_first(asked), "session.max_output_tokens", client_event),
        temperature=temperature(asked.temperature, "session.temperature", client_event),
        auto_response=_auto_response(asked, client_event),
        tools=UNSET if asked.tools is UNSET else tuple(asked.tools or ()),
        tool_choice=asked.tool_choice,
        engine=_engine(asked, present, client_event, opening=opening),
        echo=echo,
    )


def _read(session: Json, client_event: str | None) -> Session:
    if not can_be_kept(session):
        message = "numbers have 64 bits, and objects lie in each other only so deep"
        raise Undecodable("invalid_value", message, "session", client_event)
    try:
        return msgspec.convert(session, Session)
    except msgspec.ValidationError as error:
        raise explain(error, client_event, "session") from error


def _refuse_server_owned(asked: Session, client_event: str | None) -> None:
    if asked.ref_audio_path is not None or asked.tts_ref_audio_path is not None:
        message = "no file of the server's is read: send ref_audio as a data URL"
        raise Undecodable("unsupported_ref_audio_path", message, "session.ref_audio_path", client_event)
    owned = sorted(key for key in asked.extra_body if key in SERVER_OWNED or key.startswith(WINDOW))
    if owned:
        message = f"{owned[0][:60]} is the server's to say"
        parameter = f"session.extra_body.{owned[0][:60]}"
        raise Undecodable("invalid_duplex_runtime_config", message, parameter, client_event)


# --- formats, and what is shown back ----------------------------------------------------------------------


def _echo(session: Json, asked: Session, present: Config, client_event: str | None) -> Json:
    """What is shown back, with the formats in their one shape."""
    shown = {key: value for key, value in session.items() if key not in OURS}
    sides = session.get("audio") or {}
    audio_in, audio_out = sides.get("input") or {}, sides.get("output") or {}
    heard = {key: audio_in[key] for key in ("noise_reduction", "transcription") if key in audio_in}
    said = {"speed": audio_out["speed"]} if "speed" in audio_out else {}
    coming, wanted = _coming(asked, present, client_event), _wanted(asked, present, client_event)
    if coming is not None:
        heard["format"] = coming.kept
    if wanted is not None:
        said["format"] = wanted.kept
    audio = {side: value for side, value in (("input", heard), ("output", said)) if value}
    return {**shown, "audio": audio} if audio else shown


def _coming(asked: Session, present: Config, client_event: str | None) -> formats.Format | None:
    named: Named = asked.audio.input.format or asked.input_audio_format
    rates = (asked.audio.input.sample_rate_hz, asked.sample_rate_hz, asked.sample_rate)
    if named is None and not any(rates):
        return None
    holds = formats.input_format(present)
    return input_format(named, rates, holds, "session.input_audio_format", client_event)


def _wanted(asked: Session, present: Config, client_event: str | None) -> formats.Format | None:
    named: Named = asked.audio.output.format or asked.output_audio_format or asked.response_format
    given = asked.audio.output.sample_rate_hz
    if named is None and not given:
        return None
    holds = formats.output_format(present)
    return output_format(named, given, holds, "session.output_audio_format", client_event)


def _transcription(session: Json, asked: Session) -> bool | UnsetType:
    nested = asked.audio.input.transcription
    flat = session.get("input_audio_transcription", UNSET)
    given = flat if nested is UNSET else nested
    return UNSET if given is UNSET else given is not None


# --- turns ------------------------------------------------------------------------------------------------


def _overlap(
    asked: Session,
    detection: TurnDetection | UnsetType | None,
    present: Config,
    client_event: str | None,
) -> Overlap | UnsetType:
    """How overlaps are decided. Raises Undecodable where that contradicts who takes turns."""
    given = (asked.overlap_policy, asked.overlap_short_ack_ms, asked.overlap_barge_in_ms)
    if detection is UNSET and all(one is None for one in given):
        return UNSET
    vad = present.turn_detection if detection is UNSET else detection
    follows: Policy = "listen_only" if vad is None else "barge_in_on_speech"
    if asked.overlap_policy not in (None, "listen_only", "barge_in_on_speech"):
        message = "overlap_policy is listen_only or barge_in_on_speech"
        raise Undecodable("invalid_value", message, "session.overlap_policy", client_event)
    if asked.overlap_policy not in (None, follows):
        message = f"{asked.overlap_policy} {'needs' if vad is None else 'contradicts'} server_vad"
        raise Undecodable("unsupported_turn_detection", message, "session.overlap_policy", client_event)
    holds = present.overlap or Overlap()
    return Overlap(
        policy=follows,
        short_ack_ms=_ms(asked.overlap_short_ack_ms, holds.short_ack_ms),
        barge_in_ms=_ms(asked.overlap_barge_in_ms, holds.barge_in_ms),
    )


def _ms(given: float | None, otherwise: int) -> int:
    return otherwise if given is None else int(min(max(given, 0), LONGEST_MS))


def _playback(asked: Session, client_event: str | None) -> PlaybackPolicy | UnsetType:
    match asked.playback_commit_policy:
        case None:
            return UNSET
        case "ack_only" | "commit_all_on_done" | "estimate" as policy:
            return policy
        case _:
            message = "playback_commit_policy is ack_only, commit_all_on_done or estimate"
            raise Undecodable("invalid_value", message, "session.playback_commit_policy", client_event)


def _auto_response(asked: Session, client_event: str | None) -> bool | UnsetType:
    given = asked.extra_body.get("auto_response")
    if given is None:
        return asked.auto_response
    if isinstance(given, bool):
        return given
    message = "auto_response is true or false"
    raise Undecodable("invalid_value", message, "session.extra_body.auto_response", client_event)


# --- the model --------------------------------------------------------------------------------------------


def _modalities(asked: Session, client_event: str | None) -> tuple[str, ...] | UnsetType:
    given = asked.output_modalities if asked.output_modalities is not None else asked.modalities
    return UNSET if given is None else modalities(given, "session.output_modalities", client_event)


def _first(asked: Session) -> int | str | UnsetType | None:
    """Of three names for the same thing, the first that is given."""
    for given in (asked.max_response_output_tokens, asked.max_output_tokens, asked.max_tokens):
        if given is not UNSET:
            return given
    return UNSET


def _engine(asked: Session, present: Config, client_event: str | None, *, opening: bool) -> Json | UnsetType:
    """The stage's own options: what was given, over what holds."""
    given = {key: value for key, value in asked.extra_body.items() if key not in EDGE_OWNED}
    first = asked.initial_user_text or asked.extra_body.get("duplex_initial_user_text")
    if first is not None:
        given["initial_user_text"] = first
    if asked.ref_audio is not None:
        if not opening and asked.ref_audio != present.engine.get("ref_audio"):
            message = "the voice to speak with is given when the session opens"
            raise Undecodable("ref_audio_update_unsupported", message, "session.ref_audio", client_event)
        given["ref_audio"] = asked.ref_audio
    return {**present.engine, **given} if given else UNSET
