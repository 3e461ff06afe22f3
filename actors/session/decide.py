"""decide(state, command, at): the only place where anything is accepted or refused.

    1. A session that has ended accepts nothing but what its stages and connections still report.
    2. A command has one case. It looks at the state, and either raises Refused (nothing changes) or says
       what happened. What the log already knows, said again, is no event at all.
    3. A fact may have consequences: the rule of its type, which sees the state after it. Consequences stand
       right behind their fact and name it as their cause. Some facts need another to stand before them.
       When all is settled, a stage that takes one thing at a time is given the next.
    4. What differs between modes are entries laid over the tables below (mode.py).
    5. Time, ids, model output and probabilities come in as data: the same log always gives the same state.

Tables below; the rules themselves stand in the module of their idea.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from antiphon.actors.modes import MODES
from antiphon.events.envelope import Draft
from antiphon.events.ids import Operation, Seq
from antiphon.events.units import Moment
from antiphon.events.vocabulary import (
    ClientDetached,
    EpochAdvanced,
    Event,
    InputCommitted,
    InputTranscribed,
    OutputCleared,
    OverlapDecided,
    ResponseCreated,
    ResponseEnded,
    SessionClosed,
    SessionExpired,
    SessionFailed,
    SpeechStarted,
    SpeechStopped,
    StageAway,
    StageLost,
    StageRefused,
    UnitCompleted,
    UnitRefused,
    UnitSubmitted,
    WriterOpened,
)

from . import (
    absence,
    attachment,
    commands,
    commits,
    configuration,
    decisions,
    effects,
    fence,
    history,
    images,
    input,
    lease,
    life,
    limits,
    overlap,
    playback,
    timers,
    turns,
    units,
    voice,
    words,
)
from .evolve import evolve
from .mode import Case, Happened, Mode, Rule, laid_over
from .refusals import Refused, SessionOver
from .state import Session


def _append(state: Session, command: commands.AppendAudio, at: Moment) -> Happened:
    """Audio of the user, with whatever travels along. Plain audio takes no step more than it must."""
    if command.images or state.config.overlap is not None:
        happened = _append_seen(state, command, at)
    else:
        happened = input.append_audio(state, command, at)
    return happened if command.sent is None else [*happened, *playback.record_sent(state, command.sent, at)]


def _append_seen(state: Session, command: commands.AppendAudio, at: Moment) -> Happened:
    """With the images that came with it, and with what becomes of it over an answer."""
    decided = overlap.over_answer(state, command, at)
    if decided and decided[0].action == "drop":
        command = replace(command, speech=False)
    return [*images.with_audio(state, command, at), *input.append_audio(state, command, at), *decided]


CASES: dict[type[commands.Command], Case] = {
    commands.OpenWriter: life.open_writer,
    commands.OpenSession: life.open_session,
    commands.Configure: configuration.configure,
    commands.CloseSession: life.close_session,
    commands.Park: life.park,
    commands.Fork: life.fork,
    commands.Expire: lease.expire,
    commands.Attach: attachment.attach,
    commands.Resume: attachment.resume,
    commands.ConfirmClient: attachment.confirm,
    commands.KeepAlive: lease.keep_alive,
    commands.Detach: attachment.detach,
    commands.ReportSent: playback.record_sent,
    commands.FireTimer: timers.fire,
    commands.AppendAudio: _append,
    commands.AppendText: history.append_text,
    commands.SignalTurn: attachment.signal_turn,
    commands.AcknowledgeEvents: attachment.acknowledge_events,
    commands.CommitInput: commits.commit_input,
    commands.ClearInput: input.clear_input,
    commands.CreateResponse: turns.create_response,
    commands.CancelResponse: fence.cancel_response,
    commands.BargeIn: fence.barge_in,
    commands.CancelInput: fence.cancel_input,
    commands.ClearOutput: fence.clear_output,
    commands.AcknowledgePlayback: playback.acknowledge,
    commands.TruncateItem: playback.truncate_item,
    commands.AddItem: lambda state, command, at: images.with_item(
        state, command, history.add_item(state, command, at)[0], at
    ),
    commands.RemoveItem: history.remove_item,
    commands.RecordStage: lambda state, command, at: (
        configuration.settle(state, command, at)
        if command.what in ("configured", "config_refused")
        else life.record_stage(state, command, at)
    ),
    commands.RecordScores: voice.record_scores,
    commands.RecordHeard: input.record_heard,
    commands.RecordRoute: words.record_route,
    commands.RecordSpeech: words.record_speech,
    commands.RecordConsumed: decisions.record_consumed,
    commands.RecordTurnEnd: decisions.record_turn_end,
    commands.RecordCall: words.record_call,
    commands.RecordMeasure: words.record_measure,
    commands.RecordFinish: decisions.record_finish,
    commands.RecordFailure: decisions.record_failure,
}

RULES: dict[type[Event], Rule] = {
    WriterOpened: lambda state, event, at: [
        *fence.void_interrupted(state, event, at),
        *turns.fail_interrupted(state, event, at),
    ],
    ClientDetached: attachment.end_alone,
    SpeechStarted: lambda state, event, at: (
        fence.interrupt(state, event, at)
        if state.config.overlap is None
        else overlap.let_in(state, event, at)
    ),
    OverlapDecided: fence.give_way,
    SpeechStopped: commits.commit_speech,
    InputCommitted: lambda state, event, at: [
        *input.transcribe(state, event, at),
        *turns.answer_commit(state, event, at),
    ],
    InputTranscribed: turns.ask_model,
    UnitCompleted: input.use_recognition,
    UnitRefused: input.do_without_recognition,
    UnitSubmitted: turns.start_effect,
    EpochAdvanced: playback.estimate_interrupted,
    OutputCleared: playback.estimate_cleared,
    ResponseCreated: turns.ask_model,
    ResponseEnded: turns.answer_owed,
    StageRefused: life.without_stage,
    StageLost: life.without_stage,
    StageAway: absence.interrupt,
}

BEFORE: dict[type[Event], Rule] = {
    ResponseCreated: playback.estimate_earlier,
    SessionClosed: life.end_response,
    SessionExpired: life.end_response,
    SessionFailed: life.end_response,
}


class _Tables(Struct, frozen=True):
    """What a session goes by."""

    cases: Mapping[type[commands.Command], Case]
    rules: Mapping[type[Event], Rule]
    before: Mapping[type[Event], Rule]
    effects: Mapping[type[Event], effects.Derive]


def _of(mode: Mode) -> _Tables:
    return _Tables(
        laid_over(CASES, mode.cases),
        laid_over(RULES, mode.rules),
        laid_over(BEFORE, mode.before),
        laid_over(effects.EFFECTS, mode.effects),
    )


_TABLES_OF = {name: _of(mode) for name, mode in MODES.items()}

AFTER_THE_END = (commands.OpenWriter, commands.Detach, commands.ReportSent, commands.RecordStage)
SILENT_AFTER_THE_END = (
    commands.StageWord,
    commands.RecordScores,
    commands.FireTimer,
    commands.CloseSession,
    commands.Park,
    commands.Expire,
    commands.ConfirmClient,
    commands.KeepAlive,
)


def _next_work(state: Session) -> list[UnitSubmitted]:
    """What a stage that takes one thing at a time is given next: units and configurations, in order."""
    if state.phase != "open" or state.units.flight is not None:
        return []
    unit, put = units.prepare(state), configuration.put(state)
    if put is not None and (unit is None or unit.until_sample > state.proposals[0].until):
        return [put]
    return [] if unit is None else [unit]


class Decision(Struct, frozen=True, gc=False):
    """What happened, the state after it, and what must be done outside once it is in the log."""

    drafts: tuple[Draft, ...]
    state: Session
    effects: tuple[effects.Effect, ...] = ()


def decide(state: Session, command: commands.Command, at: Moment, by: int = 0) -> Decision:
    """What `command` amounts to in `state`. Raises Refused; then nothing has changed.

    `by` is the connection that it came from; 0: from a stage, a timer, or the process itself.
    """
    if by and attachment.is_void(state, command, by):
        report = command.sent if isinstance(command, commands.AppendAudio) else None
        return Decision((), state) if report is None else decide(state, report, at)
    if state.phase == "closed" and not isinstance(command, AFTER_THE_END):
        if isinstance(command, SILENT_AFTER_THE_END):
            return Decision((), state)
        raise SessionOver("the session has ended")
    at = _not_before(state, at, command.boot if isinstance(command, commands.OpenWriter) else state.boot)
    happened = _TABLES_OF[state.mode].cases[type(command)](state, command, at)
    accepted = attachment.taken_in(state, command, by) if by else None
    if accepted is not None:
        happened = [accepted, *happened]
    able = state.abilities
    plain = len(happened) == 1 and not able.unit_ms and not able.confirms_config
    alone = _settle_alone(state, happened[0], at) if plain else None
    return alone or settle(state, happened, at)


def refused(
    state: Session, refusal: Refused, attachment_number: int, client_event: str | None, at: Moment
) -> Decision:
    """What a refusal amounts to: a fact that changes nothing, or the end of an abusive session."""
    at = _not_before(state, at, state.boot)
    return settle(state, limits.refuse(state, refusal, attachment_number, client_event, at), at)


def _not_before(state: Session, at: Moment, boot: str) -> Moment:
    """The present, but never before what has already happened. A new boot has its own monotonic clock."""
    if at.mono_ns >= state.at.mono_ns and at.wall_ns >= state.at.wall_ns:
        return at
    mono = at.mono_ns if boot != state.boot else max(at.mono_ns, state.at.mono_ns)
    return Moment(mono, max(at.wall_ns, state.at.wall_ns))


def settle(state: Session, happened: Happened, at: Moment) -> Decision:
    """Fold what happened, each fact followed by its consequences."""
    drafts: list[Draft] = []
    asked: list[effects.Effect] = []
    waiting: list[tuple[Event | Draft, Seq | None]] = [(one, None) for one in reversed(happened)]
    while True:
        if not waiting:
            due = _next_work(state) if state.proposals or state.abilities.unit_ms else []
            if not due:
                break
            waiting.extend((one, Seq(state.seq - 1)) for one in due)
        one, cause = waiting.pop()
        event = one.event if isinstance(one, Draft) else one
        before = _TABLES_OF[state.mode].before.get(type(event))
        preceding = () if before is None else before(state, event, at)
        if preceding:
            waiting.append((one, cause))
            waiting.extend((earlier, cause) for earlier in reversed(preceding))
            continue
        seq = state.seq
        blob = one.blob if isinstance(one, Draft) else None
        drafts.append(Draft(event, at, blob, cause))
        state = evolve(state, event, at)
        tables = _TABLES_OF[state.mode]
        derive = tables.effects.get(type(event))
        if derive is not None:
            asked.extend(derive(state, event, Operation(seq)))
        rule = tables.rules.get(type(event))
        if rule is not None:
            waiting.extend((later, seq) for later in reversed(rule(state, event, at)))
    return Decision(tuple(drafts), state, tuple(asked))


def _settle_alone(state: Session, one: Event | Draft, at: Moment) -> Decision | None:
    """What `settle` does, in a third of the time, for a fact to which no rule applies: all audio."""
    event, blob = (one.event, one.blob) if isinstance(one, Draft) else (one, None)
    kind, tables = type(event), _TABLES_OF[state.mode]
    if kind in tables.rules or kind in tables.before:
        return None
    after, derive = evolve(state, event, at), tables.effects.get(kind)
    asked = () if derive is None else tuple(derive(after, event, Operation(state.seq)))
    return Decision((Draft(event, at, blob),), after, asked)
