"""Streaming video: a client shows images all the time, and now and then asks about them.

The latest images are kept, and a question is asked with some of them, spread evenly over time. A new question
ends the answer to the one before it. Of earlier questions the model is told the last one that was answered,
in words only. Nobody comes back to a stream: it ends with its connection, when its client has finished, or
when the client has been silent for too long.
"""

from __future__ import annotations

from antiphon.actors.session import commands as core
from antiphon.actors.session.mode import Mode, Timer
from antiphon.events.vocabulary import (
    ClientDetached,
    ClientSeen,
    InputAppended,
    InputCleared,
    ResponseEnded,
    SessionOpened,
    VideoFinished,
    VideoFrameFiltered,
    VideoFrameReceived,
    VideoFrameUnreadable,
    VideoQueried,
)

from . import ending, hearing, querying, seeing
from .commands import AppendSound, Finish, Query, Show
from .stream import Stream

VIDEO = Mode(
    slice=Stream,
    cases={
        Show: seeing.show,
        AppendSound: hearing.append_sound,
        Query: querying.query,
        Finish: ending.finish,
        core.KeepAlive: ending.keep_alive,
        core.Park: ending.end_with_process,
    },
    rules={
        VideoQueried: querying.answer,
        VideoFinished: ending.end_if_done,
        ResponseEnded: ending.end_if_done,
        ClientDetached: ending.end_with_client,
    },
    folds={
        SessionOpened: (ending.fold,),
        VideoFrameReceived: (seeing.fold, ending.fold),
        VideoFrameFiltered: (ending.fold,),
        VideoFrameUnreadable: (ending.fold,),
        VideoQueried: (querying.fold, hearing.fold, ending.fold),
        VideoFinished: (ending.fold,),
        InputAppended: (hearing.fold, ending.fold),
        InputCleared: (hearing.fold,),
        ClientSeen: (ending.fold,),
        ResponseEnded: (querying.fold, ending.fold),
    },
    effects={InputAppended: hearing.ask_nobody},
    timers={"deadline": Timer(ending.due_ns, ending.expire)},
)
