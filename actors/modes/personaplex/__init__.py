"""Calls over the Moshi wire: both sides talk all the time, and the model is stepped as time passes.

Input streams, answers come by themselves, and overlap is the model's own affair: nothing is committed, and
nobody is cut off. A stage that hears in units is given one in each unit's time, of silence where the client
is late (clock.py). What comes before the model is ready nobody hears (hearing.py). A client that was given no
token cannot come back, and its session ends with its connection (ending.py).
"""

from __future__ import annotations

from antiphon.actors.session.commands import AppendAudio, Park
from antiphon.actors.session.mode import Mode, Timer
from antiphon.events.vocabulary import (
    ClientDetached,
    InputAppended,
    InputCleared,
    InputFinished,
    InputUndecodable,
    ResponseEnded,
    SessionOpened,
    StageOpened,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)

from . import clock, ending, hearing
from .call import Call
from .commands import Finish, ReportUndecodable

PERSONAPLEX = Mode(
    slice=Call,
    cases={
        AppendAudio: hearing.append_audio,
        ReportUndecodable: hearing.report_undecodable,
        Finish: ending.finish,
        Park: ending.park,
    },
    rules={
        ClientDetached: ending.end_with_client,
        InputUndecodable: hearing.give_up,
        InputFinished: ending.go_on,
        UnitCompleted: ending.go_on,
        UnitRefused: ending.go_without,
        ResponseEnded: ending.go_without,
    },
    folds={
        SessionOpened: (hearing.fold,),
        InputAppended: (hearing.fold,),
        InputUndecodable: (hearing.fold,),
        InputFinished: (ending.fold,),
        StageOpened: (clock.fold,),
        UnitSubmitted: (clock.fold, hearing.watch),
        InputCleared: (hearing.watch,),
        WriterOpened: (clock.fold,),
    },
    timers={"continuation": Timer(clock.due_ns, clock.give_silence)},
)
