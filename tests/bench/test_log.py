"""The benchmark of logs gives every store the same, gets it back, and holds ours to its targets."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

log = pytest.importorskip("bench.log", exc_type=ImportError)
from bench.log_events import AUDIO_BYTES, conversation, typed_bytes  # noqa: E402  # needs what bench.log needs
from bench.log_measures import CONTENDERS, Contender  # noqa: E402


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda contender: contender.name)
def test_every_store_gives_back_what_it_was_given(tmp_path: Path, contender: Contender) -> None:
    drafts = conversation(24)
    with closing(contender.make(tmp_path)) as store:
        store.begin("a")
        store.begin("b")
        for seq, draft in enumerate(drafts):
            store.append(seq, [("a", draft), ("b", draft)])
    with closing(contender.make(tmp_path)) as store:
        for session in ("a", "b"):
            found = [(event.seq, event.at, event.event) for event in store.events(session)]
            assert found == [(seq, draft.at, draft.event) for seq, draft in enumerate(drafts)]
            assert store.audio(session) == 12 * AUDIO_BYTES


def test_half_of_a_conversation_is_audio() -> None:
    drafts = conversation(400)
    assert sum(draft.blob is not None for draft in drafts) == 200
    assert 200 * AUDIO_BYTES < typed_bytes(drafts) < 200 * AUDIO_BYTES + 400 * 150


def test_a_short_run_prints_every_table_and_writes_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "REPLAYED", 40)
    monkeypatch.setattr(log, "MANY", 5)
    monkeypatch.setattr("bench.log_measures.OPENED", 2)
    path = tmp_path / "found.json"
    done = CliRunner().invoke(log.main, ["--rounds", "1", "--seconds", "0.001", "--json", str(path)])
    assert done.exit_code == 0, done.output
    for contender in CONTENDERS:
        assert contender.name in done.output
    found = json.loads(path.read_text())
    assert {"name", "value", "unit", "bound", "at_least"} == set(found["targets"][0])
    assert len(found["targets"]) == 7
