"""The recordings that are kept for ever, and what each was found to mean when it was made.

    golden/<version>/<name>.antiphon.zip    made by that version of the program
    golden/<version>/<name>.json            its events, and the state after each (states.py)

`python -m tests.golden.corpus` makes those of the present version that are not there yet: scenes, and calls
that a real server recorded of real clients. Others are never made again. With `--states` it writes down what
all of them mean today: after an event's version was raised, or when only the shape of the state has changed.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import msgspec

from antiphon import __version__
from antiphon.events.envelope import Draft, Stored
from antiphon.events.ids import Seq, SessionId
from antiphon.events.memory import MemoryLog
from antiphon.events.segments.log import SegmentLog
from antiphon.events.store import Expect, Log, Scope
from antiphon.replay import recording, sources
from tests.actors.session.given import Talk

from .calls import CALLS, record
from .scenes import SCENES
from .states import Meaning, changed, meanings

GOLDEN = Path(__file__).parents[2] / "golden"


def recordings() -> list[Path]:
    """All that are kept, of every version."""
    return sources.recordings(GOLDEN)


def stored(path: Path) -> list[Stored]:
    life = sources.of_recording(path)
    return list(life.log.read(life.session, incarnation=life.incarnation))


def meant(path: Path) -> list[Meaning]:
    """What the recording was found to mean when that was last written down."""
    return msgspec.json.decode(_states(path).read_bytes(), type=list[Meaning])


def means(path: Path) -> list[Meaning]:
    """What it means today."""
    life = sources.of_recording(path)
    return list(meanings(life.session, life.log.read(life.session, incarnation=life.incarnation)))


def _states(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".antiphon.zip") + ".json")


# --- making them ------------------------------------------------------------------------------------------


def make(folder: Path) -> None:
    """What is not in the folder yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for scene in SCENES:
        _keep(folder, scene.__name__, lambda data, scene=scene: _acted(scene()))
    for name in CALLS:
        _keep(folder, name, lambda data, name=name: _called(name, data))


def _keep(folder: Path, name: str, happen: Callable[[Path], tuple[Log, SessionId]]) -> None:
    path = folder / f"{name}.antiphon.zip"
    if path.exists():
        return
    click.echo(f"recording {path.relative_to(GOLDEN.parent)}")
    with tempfile.TemporaryDirectory() as data:
        log, session = happen(Path(data))
        with path.open("xb") as file:
            recording.write(log, session, file)
    write_meanings(path)


def _acted(talk: Talk) -> tuple[Log, SessionId]:
    """A scene as a log. Its audio is all the same sample, and not worth keeping."""
    log, session = MemoryLog(), talk.state.id
    lease, _ = log.open(session, expect=Expect.NEW, owner="golden")
    drafts = zip(talk.stored, talk.payloads, strict=True)
    batch = [Draft(stored.event, stored.at, payload, stored.cause) for stored, payload in drafts]
    log.append(lease, Seq(0), batch).result()
    log.seal(lease, "ended")
    log.erase(session, Scope.AUDIO)
    return log, session


def _called(name: str, data: Path) -> tuple[Log, SessionId]:
    record(name, data / "data")
    log = SegmentLog(data / "data", deliver=lambda call: call())
    (head,) = log.sessions()
    return log, head.session


def write_meanings(path: Path) -> None:
    lines = b",\n".join(msgspec.json.encode(meaning) for meaning in means(path))
    _states(path).write_bytes(b"[\n" + lines + b"\n]\n")


def write_states() -> None:
    """Every recording's meaning as of today, saying what is no longer as it was."""
    for path in recordings():
        differs = changed(meant(path), means(path)) if _states(path).exists() else None
        if differs is not None:
            click.echo(
                f"{path.name}: the state after {differs.type} version {differs.version} has another shape"
            )
        write_meanings(path)


if __name__ == "__main__":
    write_states() if sys.argv[1:] == ["--states"] else make(GOLDEN / __version__)
