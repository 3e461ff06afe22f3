"""Words of callers and models are shown, and say nothing to the terminal that shows them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from antiphon.cli.log.lines import printable
from antiphon.cli.main import main
from antiphon.events.ids import ItemId, Operation, ResponseId
from antiphon.events.units import Samples
from antiphon.events.vocabulary import (
    Item,
    ItemAdded,
    Part,
    SessionClosed,
    StageMeasured,
    TextSpoken,
    ToolCalled,
)
from tests.golden.corpus import GOLDEN
from tests.replay.calls import Call

from .logs import run, store_at

EVIL = "\x1b]0;mine\x07\x9b2J[/dim]\u202e[red]x"
SHOWN = "\\x1b]0;mine\\x07\\x9b2J[/dim]\\u202e[red]x"
"""What people see of it: the brackets are words, too."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A call in which everybody says it."""
    call = Call(store_at(tmp_path / "data"))
    written = Item(id=ItemId("item_0"), role="user", content=(Part(kind="input_text", text=EVIL),))
    call.say(10, ItemAdded(item=written))
    call.answer(20)
    response, word = ResponseId("resp_1"), Operation(0)
    call.say(30, TextSpoken(response=response, text=EVIL, from_sample=Samples(0), operation=word, index=0))
    call.say(
        40,
        ToolCalled(
            response=response,
            item=ItemId("item_2"),
            call_id="call_1",
            name=EVIL,
            arguments=EVIL,
            operation=word,
            index=1,
        ),
    )
    call.say(50, StageMeasured(operation=word, index=2, name=EVIL, value_ms=4))
    call.end_answer(60, outcome="failed", reason=EVIL)
    call.say(70, SessionClosed(reason=EVIL))
    call.log.seal(call.lease, "ended")
    return tmp_path / "data"


def plain(text: str) -> str:
    """Without what a table does with what is too long for a column."""
    return re.sub(r"[\s…]", "", text)


def test_what_begins_a_command_moves_the_cursor_or_turns_the_line_is_spelled_out() -> None:
    assert printable(EVIL) == SHOWN
    assert printable("one\ntwo\ttre\udc80") == "one\\ntwo\\ttre\\udc80"
    words = "Grüße, नमस्ते, می‌خواهم, 👩‍🚀 \u3000!"
    assert printable(words) == words


@pytest.mark.parametrize(
    "arguments",
    [
        ("log", "ls"),
        ("log", "show", "sess_call", "--all"),
        ("log", "state", "sess_call"),
        ("log", "stats"),
        ("replay", "compare", "sess_call", "sess_call"),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_no_command_passes_them_on(data: Path, arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*arguments, "--data", str(data)], color=False)
    assert result.exit_code == 0, result.output
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.output)
    assert plain(SHOWN)[:20] in plain(result.output)


def test_a_change_that_looks_like_markup_heads_its_column() -> None:
    spoken = GOLDEN / "0.2.0" / "spoken.antiphon.zip"
    result = CliRunner().invoke(main, ["replay", "rerun", str(spoken), "--set", "instructions=[/INST] Go."])
    assert result.exit_code == 0, result.output
    assert "[/INST]" in result.output


def test_a_call_whose_name_looks_like_markup_is_a_row_of_a_suite(tmp_path: Path) -> None:
    shutil.copy(GOLDEN / "0.2.0" / "spoken.antiphon.zip", tmp_path / "[red]call[b].antiphon.zip")
    result = CliRunner().invoke(main, ["replay", "suite", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "[red]call[b].antiphon.zip" in result.output


def test_json_is_what_was_said(data: Path) -> None:
    shown = run("show", "sess_call", "--json", data=data)
    assert "\\u001b]0;mine" in shown.stdout
