"""Clients of a real server whose connections end at any moment, and who come back or move: all is there.

Twenty sessions of the echo talk at once, three of four in the duplex dialect. What each client kept of its
connections is compared with its log, projected again: every frame there, once, in order, as it was shown, but
for audio that a barge-in made void before it was sent. Whatever a client sent was taken in once, also
where it had to send it again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from antiphon.events.envelope import Stored
from antiphon.events.ids import SessionId
from antiphon.events.segments.log import SegmentLog
from antiphon.events.vocabulary import CommandRefused, CommandsAccepted, FramesSent
from antiphon.projections.base import frame_number, seq_of
from antiphon.projections.dialects import DIALECTS
from antiphon.replay.verify import verify
from bench.server import Server

from .comers import Comer, Connection, Frame, number
from .outcome import Tally, Violation
from .serving import public, without_audio
from .stores import handle

FULL, SHORT = 1_000, 60
SESSIONS = 20
PLAIN_ONE_IN = 4
COMPLAINTS = (b"Traceback", b"exception", b"session.failed", b"[error")
"""What a server says when something is wrong with it."""


def run(count: int, seed: int, folder: Path, tally: Tally) -> None:
    """`count` connections end, shared out among the sessions. Raises Violation."""
    tally.case = f"{SESSIONS} sessions at once"
    comers, said = lives(folder, seed, count)
    with handle(folder / "data") as log:
        for n, comer in enumerate(comers):
            tally.case = f"client {n}, session {comer.session}"
            tally.tried += comer.how.total()
            tally.found.update(comer.how)
            check(log, comer, tally)
    if any(complaint in said for complaint in COMPLAINTS):
        raise Violation("disturbed", f"the server complains: see {folder / 'serve.log'}")


def lives(folder: Path, seed: int, count: int) -> tuple[list[Comer], bytes]:
    """Clients who have lost their connections so many times, and what the server said of it."""
    server = Server("echo", folder)
    try:
        server.answered("/health")
        comers = asyncio.run(_live(server.url, seed, count))
    finally:
        server.stop()
    return comers, (folder / "serve.log").read_bytes()


async def _live(url: str, seed: int, count: int) -> list[Comer]:
    comers = [
        Comer(url, random.Random(f"{seed}/attach/{n}"), plain=n % PLAIN_ONE_IN == 0) for n in range(SESSIONS)
    ]
    shares = [count // SESSIONS + (n < count % SESSIONS) for n in range(SESSIONS)]
    try:
        async with asyncio.TaskGroup() as living:
            for comer, share in zip(comers, shares, strict=True):
                living.create_task(comer.live(share))
    except* Violation as broken:
        raise broken.exceptions[0] from None
    except* TimeoutError:
        raise Violation("disturbed", "somebody waits in vain") from None
    return comers


# --- what is there ----------------------------------------------------------------------------------------


def check(log: SegmentLog, comer: Comer, tally: Tally) -> None:
    """Raises Violation."""
    events = list(log.read(SessionId(comer.session)))
    withheld = {
        number for one in events if isinstance(one.event, FramesSent) for number in one.event.withheld
    }
    for connection, shown, upto in _projected(events, comer):
        _compare(connection, shown, withheld, upto)
        tally.found["frames compared"] += len(connection.frames)
    tally.found["frames withheld"] += len(withheld)
    if not comer.plain:
        _compare_commands(events, comer)
        tally.found["client events"] += len(comer.sent)
        tally.found["sent again"] += comer.sent_again
    if not verify(log, SessionId(comer.session)).same:
        raise Violation("undetected", "the log projects to other frames than were sent")


def _projected(events: list[Stored], comer: Comer) -> Iterator[tuple[Connection, dict[int, Frame], int]]:
    """Of each connection that was greeted, what the log's events amount to for it, by number, in order; and
    up to which number nobody else has told it to the client."""
    projection = DIALECTS["realtime" if comer.plain else "duplex"]
    view, position = projection.begin(1), 0
    nobody = Connection(comer.connections[-1].last)
    for connection, following in pairwise((*comer.connections, nobody)):
        begin = seq_of(connection.after)
        for stored in events[position:begin]:
            view, _ = projection.step(view, stored)
        position = max(position, begin)
        if not connection.generation:
            continue
        seen, shown = projection.adopt(view, connection.generation), dict[int, Frame]()
        for stored in events[position : seq_of(connection.last) + 1]:
            seen, frames = projection.step(seen, stored)
            for k, made in enumerate(frames):
                shown[frame_number(stored.seq, k)] = _frame(projection.encode(made), stored)
        yield connection, shown, following.after


def _frame(encoded: bytes, stored: Stored) -> Frame:
    """As the wire has it, audio as its checksum."""
    frame: Frame = msgspec.json.decode(encoded)
    if frame["type"] == "response.output_audio.delta" and stored.blob is not None:
        frame["delta"] = stored.blob.crc32c
    return frame


def _compare(connection: Connection, shown: dict[int, Frame], withheld: set[int], upto: int) -> None:
    """Frames beyond `upto` came as well, but the next connection was asked to tell them again."""
    came = [number(frame) for frame in connection.frames]
    if any(one >= other for one, other in pairwise((connection.after, *came))):
        raise Violation("repeated", f"after {connection.after} came {came}")
    due = {one for one in shown if connection.after < one <= min(upto, connection.last)}
    if missing := sorted(due - set(came) - withheld):
        raise Violation("lost", f"frames {missing} of those after {connection.after} up to {upto}")
    for frame in connection.frames:
        if without_audio(public(frame)) != public(shown.get(number(frame), {})):
            raise Violation("undetected", f"{frame['event_id']}, {frame['type']}, is not what was shown")


def _compare_commands(events: list[Stored], comer: Comer) -> None:
    taken_in: list[str] = []
    for stored in events:
        match stored.event:
            case CommandsAccepted(client_events=ids):
                taken_in += ids
            case CommandRefused(client_event=str(one)):
                taken_in.append(one)
    cleared = comer.cleared.difference(taken_in)
    sent = [event_id for event_id, _ in comer.sent if event_id not in cleared]
    if len(taken_in) != len(set(taken_in)):
        raise Violation("repeated", "a frame of the client was taken in twice")
    if taken_in != sent:
        wrong = next((pair for pair in zip(taken_in, sent, strict=False) if pair[0] != pair[1]), None)
        raise Violation("lost", f"of {len(sent)} client events {len(taken_in)} were taken in; first {wrong}")
