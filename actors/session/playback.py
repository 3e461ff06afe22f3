"""Playback: what was generated, what was sent, what was heard. Three cursors per response.

Reports come late, twice and out of order; cursors take the maximum. What the user heard is, in this order:
the client's truncation (a permanent cap that only falls), else its acknowledgements, else an estimate. The
estimate is made for clients that never say: the whole, once the audio has had time to play out; and when
the user breaks in, the smaller of what was sent and the time since its first audio. The first real
acknowledgement of a response switches that response to acknowledgements. A response without audio is heard
when it ends. Where the session's policy is another nothing is estimated: `ack_only` counts what was
acknowledged, `commit_all_on_done` also what has ended by itself. Before a new response is created every
earlier one has its estimate, so that no prompt is built on an undecided history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from antiphon.events.units import Millis, Moment, Samples, samples_to_ms
from antiphon.events.vocabulary import (
    AudioSent,
    AudioSpoken,
    EpochAdvanced,
    Event,
    FramesSent,
    ItemTruncated,
    OutputCleared,
    PlaybackAcknowledged,
    PlaybackEstimated,
    ResponseCreated,
    ResponseEnded,
    TextSpoken,
    WriterOpened,
)

from .commands import AcknowledgePlayback, ReportSent, TruncateItem
from .heard import is_playing, playing_ms
from .refusals import InvalidValue, ItemNotFound, PlaybackMismatch, PlaybackNotFound
from .state import Mark, Played, Session, put_played


def _undecided(state: Session) -> Iterator[Played]:
    """Responses whose end of playback nobody has told or estimated: the last one or two."""
    return (played for played in reversed(state.played[-2:]) if not _is_decided(played))


def _is_decided(played: Played) -> bool:
    return (
        played.policy != "estimate"
        or played.interrupted
        or played.cap_ms is not None
        or played.acknowledged_ms is not None
        or (played.estimated_ms or 0) >= samples_to_ms(played.generated)
    )


def record_sent(state: Session, command: ReportSent, at: Moment) -> list[Event]:
    """A report is a fact if it tells of frames that no earlier one told of. That of a connection whose place
    another has taken may still come."""
    if command.attachment == state.attached.count and command.through <= state.attached.reported:
        return []
    return [
        FramesSent(
            attachment=command.attachment,
            through=command.through,
            projection=command.projection,
            digest=command.digest,
            meaning=command.meaning,
            withheld=command.withheld,
            audio=tuple(_within(state, command.audio)),
        )
    ]


def _within(state: Session, reported: Iterable[AudioSent]) -> Iterator[AudioSent]:
    """What is new, and no more of a response than was generated."""
    for sent in reported:
        played = state.playback(sent.response)
        if played is not None and (until := min(sent.until_sample, played.generated)) > played.sent:
            yield AudioSent(sent.response, Samples(until), sent.first_mono_ns)


def acknowledge(state: Session, command: AcknowledgePlayback, at: Moment) -> list[Event]:
    """Of the named response; a repetition is a fact only for clients that are told of each."""
    played = _named(state, command)
    generated = samples_to_ms(played.generated)
    heard = min(max(command.heard_ms, 0), generated)
    if command.truncate:
        cut = ItemTruncated(item=played.item, response=played.response, audio_end_ms=Millis(heard))
        return [cut]
    known = played.acknowledged_ms is not None and heard <= played.acknowledged_ms
    if known and played.policy == "estimate":
        return []
    told = None if command.played_ms is None else Millis(min(max(command.played_ms, 0), generated))
    return [PlaybackAcknowledged(response=played.response, heard_ms=Millis(heard), played_ms=told)]


def _named(state: Session, command: AcknowledgePlayback) -> Played:
    """The response that an acknowledgement is about: named by itself, by its item, by both, or by neither."""
    if command.response is not None:
        played = state.playback(command.response)
        if played is None:
            raise PlaybackNotFound(f"no response {command.response}", parameter="response_id")
        if command.item not in (None, played.item):
            told = f"item {command.item} is not of response {command.response}, {played.item} is"
            raise PlaybackMismatch(told, parameter="item_id")
        return played
    if command.item is not None:
        found = next((one for one in reversed(state.played) if one.item == command.item), None)
        if found is None:
            raise PlaybackNotFound(f"item {command.item} is not an answer's", parameter="item_id")
        return found
    playing = [one for one in state.played[-2:] if is_playing(one)]
    if len(playing) == 1:
        return playing[0]
    if not state.played:
        raise PlaybackNotFound("nothing has been said yet", parameter="response_id")
    return state.played[-1]


def truncate_item(state: Session, command: TruncateItem, at: Moment) -> list[Event]:
    """Clamp rather than refuse: clients measure with their own clocks, often across items."""
    entry = state.entry(command.item)
    if entry is None:
        raise ItemNotFound(f"no item {command.item}", parameter="item_id")
    if entry.item.role != "assistant":
        raise InvalidValue("only an assistant's message can be truncated", parameter="item_id")
    if command.audio_end_ms < 0:
        raise InvalidValue("audio_end_ms must not be negative", parameter="audio_end_ms")
    played = None if entry.response is None else state.playback(entry.response)
    generated = 0 if played is None else samples_to_ms(played.generated)
    return [
        ItemTruncated(
            item=command.item,
            response=entry.response,
            audio_end_ms=Millis(min(command.audio_end_ms, generated)),
            content_index=command.content_index,
        )
    ]


def estimate_interrupted(state: Session, event: EpochAdvanced, at: Moment) -> list[Event]:
    """The moment the fence moved is the moment the user stopped hearing."""
    return [
        PlaybackEstimated(response=played.response, heard_ms=Millis(playing_ms(played, at.mono_ns)))
        for played in state.played[-2:]
        if _wants_estimate(played)
    ]


def estimate_cleared(state: Session, event: OutputCleared, at: Moment) -> list[Event]:
    """What a client throws away it stops hearing at that moment."""
    played = state.playback(event.response)
    if played is None or not _wants_estimate(played):
        return []
    return [PlaybackEstimated(response=played.response, heard_ms=Millis(playing_ms(played, at.mono_ns)))]


def _wants_estimate(played: Played) -> bool:
    return (
        played.generated > 0
        and played.policy == "estimate"
        and played.estimated_ms is None
        and played.acknowledged_ms is None
        and played.cap_ms is None
    )


def estimate_earlier(state: Session, event: ResponseCreated, at: Moment) -> list[Event]:
    """Decide every response's history before the next one is created."""
    return [
        PlaybackEstimated(response=played.response, heard_ms=Millis(playing_ms(played, at.mono_ns)))
        for played in _undecided(state)
        if played.estimated_ms is None and played.generated > 0
    ]


def playout_due_ns(state: Session) -> int | None:
    """When the audio of the earliest undecided, fully generated response has had time to play out."""
    earliest = None
    for played in state.played[-2:]:
        if not played.ended or played.first_mono_ns is None or played.sent < played.generated:
            continue  # asked first, because it is asked of every frame: nearly always it is still generated
        due = played.first_mono_ns + samples_to_ms(played.generated) * 1_000_000
        if (earliest is None or due < earliest) and not _is_decided(played):
            earliest = due
    return earliest


def estimate_played_out(state: Session, at: Moment) -> list[Event]:
    return [
        PlaybackEstimated(response=played.response, heard_ms=samples_to_ms(played.generated))
        for played in _undecided(state)
        if played.ended
        and played.first_mono_ns is not None
        and played.sent >= played.generated
        and at.mono_ns >= played.first_mono_ns + samples_to_ms(played.generated) * 1_000_000
    ]


def move(played: Played, event: Event | AudioSent) -> Played:
    """One response's cursors after an event about it. Commutative: maximum and minimum instead of order."""
    match event:
        case AudioSpoken(until_sample=until):
            return replace(played, generated=max(played.generated, until))
        case TextSpoken(text=text, from_sample=start):
            return replace(played, marks=(*played.marks, Mark(start, text)))
        case AudioSent(until_sample=until, first_mono_ns=first):
            earliest = first if played.first_mono_ns is None else min(first, played.first_mono_ns)
            return replace(played, sent=max(played.sent, until), first_mono_ns=earliest)
        case PlaybackAcknowledged(heard_ms=heard, played_ms=told):
            most = max(played.played_ms, heard if told is None else told)
            return replace(played, acknowledged_ms=max(heard, played.acknowledged_ms or 0), played_ms=most)
        case PlaybackEstimated(heard_ms=heard):
            return replace(played, estimated_ms=max(heard, played.estimated_ms or 0))
        case ItemTruncated(audio_end_ms=cap):
            return replace(played, cap_ms=cap if played.cap_ms is None else min(cap, played.cap_ms))
        case OutputCleared():
            return replace(played, interrupted=True)
        case ResponseEnded(outcome=outcome):
            return replace(played, ended=True, whole=outcome in ("completed", "incomplete"))
        case _:
            return played


def fold(state: Session, event: Event, at: Moment) -> Session:
    match event:
        case ResponseCreated(response=response, item=item, modalities=modalities):
            begun = Played(response, item, "audio" in modalities, state.config.playback)
            return replace(state, played=(*state.played, begun))
        case FramesSent(audio=reported):
            for sent in reported:
                if (played := state.playback(sent.response)) is not None:
                    state = put_played(state, move(played, sent))
            return state
        case (
            AudioSpoken(response=response)
            | TextSpoken(response=response)
            | PlaybackAcknowledged(response=response)
            | PlaybackEstimated(response=response)
            | OutputCleared(response=response)
            | ItemTruncated(response=response)
            | ResponseEnded(response=response)
        ) if response is not None:
            played = state.playback(response)
            return state if played is None else put_played(state, move(played, event))
        case _:
            return state


def fold_resumed(state: Session, event: Event, at: Moment) -> Session:
    """Nothing plays while nobody is connected: what was sent has been heard, and the rest begins now."""
    for played in state.played[-2:]:
        if played.first_mono_ns is not None and not (played.ended and played.sent >= played.generated):
            begins = at.mono_ns - samples_to_ms(played.sent) * 1_000_000
            first = max(played.first_mono_ns, begins)
            state = put_played(state, replace(played, first_mono_ns=first))
    return state


def fold_ends(state: Session, event: Event, at: Moment) -> Session:
    """What fixes the cursors of whatever is playing: an interruption, a new boot."""
    match event:
        case EpochAdvanced():
            for played in state.played[-2:]:
                if played.generated > 0 or not played.ended:  # else nothing of it was still to be heard
                    state = put_played(state, replace(played, interrupted=True))
            return state
        case WriterOpened(boot=boot) if boot != state.boot:
            # Monotonic times of another boot mean nothing here: what was playing has played out.
            moved = tuple(
                played if played.first_mono_ns is None else replace(played, first_mono_ns=0)
                for played in state.played
            )
            return replace(state, played=moved)
        case _:
            return state
