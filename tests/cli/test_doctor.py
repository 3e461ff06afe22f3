"""`antiphon doctor`: what it says of this machine, and of ones that are not fit."""

from __future__ import annotations

import datetime
import json
import os
import re
import resource
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from antiphon.cli.doctor import machine, place, software
from antiphon.cli.doctor.finding import Finding
from antiphon.cli.main import main
from antiphon.web.settings import Settings, load
from bench.ports import free_port
from tests import certificates

CHECKS = (
    "python",
    "packages",
    "settings",
    "stage",
    "address",
    "TLS",
    "data folder",
    "disk",
    "open files",
    "memory",
    "cores",
    "sockets",
    "clock",
)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("ANTIPHON_")]:
        monkeypatch.delenv(name)


def doctor(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["doctor", *arguments])
    return done.exit_code, done.output


def sane(tmp_path: Path) -> list[str]:
    return ["--stage", "echo", "--port", str(free_port()), "--data", str(tmp_path / "data")]


def told(arguments: list[str]) -> dict[str, dict[str, Any]]:
    _, output = doctor(*arguments, "--json")
    return {one["check"]: one for one in map(json.loads, output.splitlines())}


def test_a_machine_that_is_fit_passes_and_is_left_as_it_was(tmp_path: Path) -> None:
    code, output = doctor(*sane(tmp_path))
    assert code == 0, output
    assert "13 looked at: 0 failed" in output
    assert not (tmp_path / "data").exists()
    assert tuple(told(sane(tmp_path))) == CHECKS


def test_a_port_that_is_taken_fails_and_says_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, output = doctor("--stage", "echo", "--port", port, "--data", str(tmp_path))
    assert code == 1
    assert re.search(rf"fail  address +127\.0\.0\.1 port {port}: Address already in use\n +-> stop", output)


def test_settings_that_cannot_be_meant_end_the_look(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text("prot = 1\n")
    code, output = doctor("--config", str(config))
    assert code == 1
    assert "fail  settings" in output
    assert "prot" in output
    assert "address" not in output


def test_a_data_folder_that_is_none_fails(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    found = told([*sane(tmp_path)[:-1], str(tmp_path / "data")])["data folder"]
    assert (found["verdict"], found["do"] != "") == ("fail", True)


def test_a_disk_with_less_room_than_a_session_needs_fails(tmp_path: Path) -> None:
    config = tmp_path / "server.toml"
    config.write_text('min_free = "900TB"\n')
    found = told(["--config", str(config), *sane(tmp_path)])["disk"]
    assert found["verdict"] == "fail"
    assert "no session begins" in found["told"]


@pytest.mark.parametrize(("kind", "verdict"), [("nfs4", "fail"), ("tmpfs", "warn"), ("ext4", "ok")])
def test_file_systems_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, verdict: str
) -> None:
    monkeypatch.setattr(place, "_file_system", lambda path: kind)
    assert place.data(Settings(data=str(tmp_path))).verdict == verdict


def test_the_file_system_is_that_of_the_nearest_mount() -> None:
    assert place._file_system(Path("/proc/self")) == "proc"
    assert place._file_system(Path("/")) not in ("", "proc")


@pytest.mark.parametrize(("hard", "verdict"), [(64, "fail"), (1024, "warn"), (65536, "ok"), (-1, "ok")])
def test_descriptors_are_few_or_enough(monkeypatch: pytest.MonkeyPatch, hard: int, verdict: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (64, hard))
    assert machine.descriptors().verdict == verdict


def test_memory_and_cores_are_those_that_the_settings_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_meminfo", lambda name: 800)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    echo, cascade, many = Settings(stage="echo"), Settings(stage="cascade"), Settings(stage="echo", workers=4)
    assert [machine.memory(one).verdict for one in (echo, cascade)] == ["ok", "warn"]
    assert [machine.cores(one).verdict for one in (echo, cascade, many)] == ["ok", "warn", "warn"]


def test_a_clock_that_went_back_is_found_by_what_was_written(tmp_path: Path) -> None:
    log = tmp_path / "sessions" / "00" / "sess_1" / "0" / "events.log"
    log.parent.mkdir(parents=True)
    log.touch()
    written = log.stat().st_mtime
    assert machine.clock(tmp_path, written).verdict == "ok"
    found = machine.clock(tmp_path, written - 3600)
    assert found.verdict == "fail"
    assert "3,600 s later" in found.told
    assert machine.clock(tmp_path / "none", 0.0).verdict == "fail"


def test_where_the_sockets_lie_is_told_when_it_is_not_where_one_would_think(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("x" * 80)))
    assert machine.sockets().verdict == "warn"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/tmp")
    assert machine.sockets().verdict == "ok"


@pytest.mark.parametrize(("found", "verdict"), [((3, 10), "fail"), ((3, 12), "ok"), ((3, 14), "warn")])
def test_pythons_are_told_apart(found: tuple[int, int], verdict: str) -> None:
    assert software.python(found).verdict == verdict


def test_packages_that_are_missing_or_other_than_pinned_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    assert software.packages().verdict == "ok"
    wanted = ["no-such-thing>=1", "thespian==3.0", 'extra-thing; extra == "cascade"']
    monkeypatch.setattr(software, "requires", lambda name: wanted)
    found = software.packages()
    assert found.verdict == "fail"
    assert found.told == "no-such-thing is missing; thespian is 4.0.1 and must be 3.0"


def test_a_stage_without_what_it_needs_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert software.stage(Settings(stage="chat")).verdict == "fail"
    elsewhere = {"llm_url": "http://127.0.0.1:1/v1", "llm_model": "m"}
    assert software.stage(Settings(stage="chat", stages={"chat": elsewhere})).verdict == "ok"

    monkeypatch.setattr(software, "find_spec", lambda name: object())
    lost = Settings(stage="cascade", stages={"cascade": {"gguf_path": str(tmp_path / "none.gguf")}})
    assert software.stage(lost).verdict == "fail"
    monkeypatch.setattr(software, "find_spec", lambda name: None)
    missing = software.stage(Settings(stage="cascade"))
    assert missing.verdict == "fail"
    assert "moonshine_voice" in missing.told


def test_an_address_for_others_without_tls_is_a_warning() -> None:
    found = place.certificate(load(None, {"ANTIPHON_KEYS": "key"}, {"host": "0.0.0.0"}))
    assert found.verdict == "warn"


def test_a_certificate_is_looked_at_as_a_client_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = certificates.make(tmp_path)
    files.key.chmod(0o600)
    settings = Settings(tls_certificate=str(files.certificate), tls_key=str(files.key))
    found = place.certificate(settings)
    assert found.verdict == "ok"
    assert _end_of(files.certificate) in found.told

    monkeypatch.setattr(place, "SOON_S", 100 * 365 * 24 * 3600.0)
    assert place.certificate(settings).verdict == "warn"

    files.key.chmod(0o644)
    assert "can read" in place.certificate(settings).told
    assert place.certificate(Settings(tls_certificate=str(files.certificate))).verdict == "fail"


def test_a_certificate_that_has_expired_fails(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    for made in (
        f"openssl req -newkey rsa:2048 -nodes -subj /CN=x -keyout {key} -out {tmp_path}/request",
        f"openssl x509 -req -in {tmp_path}/request -signkey {key} -days -1 -out {certificate}",
    ):
        subprocess.run(made.split(), capture_output=True, check=True)
    key.chmod(0o600)
    found = place.certificate(Settings(tls_certificate=str(certificate), tls_key=str(key)))
    assert found.verdict == "fail"
    assert "expired" in found.told


def _end_of(certificate: Path) -> str:
    command = ["openssl", "x509", "-enddate", "-noout", "-in", str(certificate)]
    said = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    until = datetime.datetime.strptime(said.partition("=")[2], "%b %d %H:%M:%S %Y %Z")
    return until.strftime("%Y-%m-%d")


def test_a_finding_says_what_to_do_on_a_line_of_its_own() -> None:
    assert Finding("disk", "fail", "full", "make room").as_lines() == (
        "fail  disk           full\n                     -> make room"
    )
    assert Finding("disk", "ok", "fine").as_lines() == "ok    disk           fine"
