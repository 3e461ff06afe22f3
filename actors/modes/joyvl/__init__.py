"""JoyVL watchers: frames come once a second, and with each is decided whether to speak, to stay silent, or to
have somebody else find something out.

One tick at a time. What is older than the present chunk of frames is remembered as summaries of it, and as
what was asked and answered. A reset ends the session: whatever comes late for it is for nobody.
"""

from __future__ import annotations

from antiphon.actors.session import commands as core
from antiphon.actors.session.mode import Mode, Timer
from antiphon.events.vocabulary import (
    ActionDecided,
    ChunkClosed,
    ClientDetached,
    DelegationFailed,
    DelegationReady,
    DelegationSubmitted,
    LongTermAdded,
    MidTermAdded,
    ModelWrote,
    PersonaSet,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SessionOpened,
    StageAway,
    SummaryAsked,
    SummaryFailed,
    TickBegan,
    TickFailed,
    WriterOpened,
)

from . import delegating, ending, hearing, summing, ticking
from .commands import SetPersona, Tick
from .watch import Watch

JOYVL = Mode(
    slice=Watch,
    cases={
        Tick: ticking.tick,
        SetPersona: ticking.set_persona,
        core.Park: ending.end_with_process,
        core.RecordSpeech: hearing.record_speech,
        core.RecordFinish: hearing.record_finish,
        core.RecordFailure: hearing.record_failure,
        core.RecordRoute: hearing.record_nothing,
        core.RecordMeasure: hearing.record_nothing,
        core.RecordCall: hearing.record_nothing,
    },
    rules={
        TickBegan: lambda state, event, at: [
            *delegating.poll(state, event, at),
            *ticking.skip(state, event, at),
        ],
        ActionDecided: delegating.submit,
        ChunkClosed: summing.go_on,
        MidTermAdded: summing.go_on,
        LongTermAdded: summing.go_on,
        SummaryFailed: lambda state, event, at: summing.go_on(state, event, at) if event.final else [],
        StageAway: ending.fail_with_stage,
        WriterOpened: ending.fail_interrupted,
        ClientDetached: ending.end_with_client,
    },
    before={
        SessionClosed: ending.end_tick,
        SessionExpired: ending.end_tick,
        SessionFailed: ending.end_tick,
    },
    folds={
        SessionOpened: (ending.fold,),
        TickBegan: (delegating.fold, ticking.fold),
        ModelWrote: (hearing.fold,),
        ActionDecided: (ticking.fold, delegating.fold),
        TickFailed: (ticking.fold,),
        PersonaSet: (ticking.fold,),
        ChunkClosed: (summing.fold,),
        SummaryAsked: (summing.fold,),
        SummaryFailed: (summing.fold,),
        MidTermAdded: (summing.fold,),
        LongTermAdded: (summing.fold,),
        DelegationSubmitted: (delegating.fold,),
        DelegationReady: (delegating.fold,),
        DelegationFailed: (delegating.fold,),
    },
    effects={TickBegan: ticking.ask, SummaryAsked: summing.ask, DelegationSubmitted: delegating.ask},
    timers={
        "deadline": Timer(ending.idle_due_ns, ending.expire),
        "silence": Timer(summing.due_ns, summing.try_again),
        "stage": Timer(ending.patience_due_ns, ending.give_up),
    },
)
