"""Data folders with logs in them, and the command on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from antiphon.cli.main import main
from antiphon.events.segments.log import SegmentLog
from tests.replay.calls import Call, tone


def run(*arguments: str | Path, data: Path, typed: str | None = None) -> Result:
    return CliRunner().invoke(main, ["log", *map(str, arguments), "--data", str(data)], input=typed)


def rows(result: Result) -> list[dict[str, Any]]:
    """What --json printed."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def store_at(data: Path) -> SegmentLog:
    return SegmentLog(data, deliver=lambda call: call())


def one_call(data: Path, session: str = "sess_call", *, sealed: bool = True) -> Call:
    """A question and an answer of which half a second was heard."""
    call = Call(store_at(data), session)
    call.hear(1_000, tone(24_000, 300))
    call.answer(1_010)
    call.speak(1_200, tone(24_000, 700))
    call.sent(1_250, 24_000, first_ms=1_210)
    call.end_answer(1_260)
    call.heard(1_800, 500)
    if sealed:
        call.hang_up(2_500)
    return call


def file(data: Path, session: str, name: str, life: int = 0) -> Path:
    [path] = data.glob(f"sessions/*/{session}/{life}/{name}")
    return path


def damage(path: Path, offset: int) -> None:
    mode = path.stat().st_mode
    path.chmod(0o600)
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)
    path.chmod(mode)
