"""Half-duplex calls: the user says something, then the assistant does, and nobody breaks in.

A call begins when its client has prepared it, and again each time that it does. While an answer is generated
or played nothing of the user's is heard: the microphone hears the assistant. Whole segments of speech are
turns; one that was heard before the answer to another began is answered when that has been played. Nobody
comes back to a call: it ends with its connection.
"""

from __future__ import annotations

from antiphon.actors.session.commands import AppendAudio, Park
from antiphon.actors.session.mode import Mode, Timer
from antiphon.events.vocabulary import (
    CallPrepared,
    ClientDetached,
    InputCommitted,
    PlaybackEstimated,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    SpeechStarted,
    SpeechStopped,
    StageLost,
    StageRefused,
)

from . import ending, hearing, preparing
from .call import Call
from .commands import Prepare

HALF_DUPLEX = Mode(
    slice=Call,
    cases={
        Prepare: preparing.prepare,
        AppendAudio: hearing.append_audio,
        Park: ending.end_with_process,
    },
    rules={
        ClientDetached: ending.end_with_client,
        SpeechStarted: hearing.go_on,
        SpeechStopped: hearing.commit,
        InputCommitted: hearing.recognise,
        ResponseEnded: hearing.listen_again,
        PlaybackEstimated: hearing.answer_next,
        StageRefused: ending.end_with_stage,
        StageLost: ending.end_with_stage,
    },
    before={
        SessionClosed: ending.end_speech,
        SessionExpired: ending.end_speech,
        SessionFailed: ending.end_speech,
    },
    folds={
        SessionOpened: (preparing.fold,),
        CallPrepared: (preparing.fold,),
        InputCommitted: (hearing.fold,),
        ResponseCreated: (hearing.fold,),
    },
    timers={
        "silence": Timer(hearing.silence_due_ns, hearing.stop_late),
        "deadline": Timer(ending.due_ns, ending.end),
    },
)
