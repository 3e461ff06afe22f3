"""Who may come in, and how they are told that they may not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from antiphon.web.app import PAGE_HEADERS
from antiphon.web.auth import Denied, Doorkeeper
from antiphon.web.settings import SettingsError, load
from tests.serving import RunningServer, running

from .wire import wire


@pytest.fixture(scope="module")
def guarded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    data = tmp_path_factory.mktemp("guarded") / "data"
    with running(data, env={"ANTIPHON_KEYS": "open-sesame,another"}) as server:
        yield server


@pytest.mark.parametrize(
    "options",
    [
        {"additional_headers": {"Authorization": "Bearer open-sesame"}},
        {"additional_headers": {"authorization": "bearer another"}},
        {"additional_headers": {"api-key": "open-sesame"}},
        {"subprotocols": ["realtime", "openai-insecure-api-key.open-sesame"]},
    ],
)
async def test_a_key_comes_by_header_or_by_subprotocol(
    guarded_server: RunningServer, options: dict[str, Any]
) -> None:
    async with wire(guarded_server, **options) as client:
        await client.next("session.created")
        assert client.socket.subprotocol == ("realtime" if "subprotocols" in options else None)


async def test_a_key_may_stand_in_the_query_and_never_in_the_log(guarded_server: RunningServer) -> None:
    async with wire(guarded_server, "?api_key=open-sesame") as client:
        await client.next("session.created")
    assert "sesame" not in guarded_server.log()


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({}, 401),
        ({"additional_headers": {"Authorization": "Bearer close-sesame"}}, 401),
        ({"additional_headers": {"Authorization": "Basic open-sesame"}}, 401),
        (
            {"additional_headers": {"Authorization": "Bearer open-sesame"}, "origin": "https://evil.example"},
            403,
        ),
    ],
)
async def test_who_may_not_come_in_is_told_before_the_upgrade(
    guarded_server: RunningServer, options: dict[str, Any], status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with wire(guarded_server, **options):
            pass
    assert refused.value.response.status_code == status
    assert b'"code"' in (refused.value.response.body or b"")


async def test_a_refusal_is_no_error_of_the_server(guarded_server: RunningServer) -> None:
    for _ in range(20):
        with pytest.raises(InvalidStatus):
            async with wire(guarded_server):
                pass
    assert '"error"' not in guarded_server.log()


async def test_the_page_of_the_server_itself_may_connect(echo_server: RunningServer) -> None:
    async with wire(echo_server, origin=f"http://127.0.0.1:{echo_server.port}") as client:
        await client.next("session.created")


def test_a_foreign_name_for_this_machine_is_not_served(echo_server: RunningServer) -> None:
    assert echo_server.get("/live", headers={"host": "rebound.example"}).status_code == 403
    assert echo_server.get("/live", headers={"host": f"localhost:{echo_server.port}"}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/app.js", "/live"])
def test_whatever_a_browser_is_given_says_what_it_may_do(echo_server: RunningServer, path: str) -> None:
    headers = echo_server.get(path).headers
    assert headers.get_list("content-security-policy") == [PAGE_HEADERS["content-security-policy"]]
    assert headers["x-content-type-options"] == "nosniff"


def test_an_address_that_others_reach_needs_a_key() -> None:
    with pytest.raises(SettingsError, match="API key"):
        load(environment={"ANTIPHON_HOST": "0.0.0.0"})
    assert load(environment={"ANTIPHON_HOST": "0.0.0.0", "ANTIPHON_KEYS": "k"}).keys == ("k",)


def test_settings_are_strict() -> None:
    with pytest.raises(SettingsError, match="prot"):
        load(environment={}, flags={"prot": 1})
    with pytest.raises(SettingsError, match="port"):
        load(environment={"ANTIPHON_PORT": "many"})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("port = 70000", "port"),
        ("port = 0", "port"),
        ("[stage.cascad]\nthreads = 1", "cascad"),
        ("[stages.echo]\nmax_sessions = 1", "stages"),
        ("[stage]\nfoo = 1", "stages"),
        ("keys = ['']", "blank"),
        ("keys = ['good', ' ']", "blank"),
        ("keys = 'abc'", "keys"),
        ("keys = 'abc'\nkeys_file = 'KEYS'", "keys"),
        ("keys_file = 5", "keys_file"),
        ("keys_file = 'EMPTY'", "no key"),
        ("keys_file = 'BINARY'", "not a text"),
        ("keys_file = 'missing'", "missing"),
    ],
)
def test_a_settings_file_that_means_something_else_is_refused(
    tmp_path: Path, written: str, said: str
) -> None:
    (tmp_path / "KEYS").write_text("secret-one\n")
    (tmp_path / "EMPTY").write_text("\n\n")
    (tmp_path / "BINARY").write_bytes(b"\xff\xfesecret")
    for name in ("KEYS", "EMPTY", "BINARY"):
        written = written.replace(f"'{name}'", f"'{tmp_path / name}'")
    (tmp_path / "config.toml").write_text(written)
    with pytest.raises(SettingsError, match=said) as refused:
        load(tmp_path / "config.toml", environment={})
    assert "secret" not in str(refused.value).replace(str(tmp_path), "")


def test_keys_that_are_named_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("one\ntwo\n")
    (tmp_path / "config.toml").write_text(f"keys = ['zero']\nkeys_file = '{tmp_path / 'keys'}'")
    assert load(tmp_path / "config.toml", environment={}).keys == ("zero", "one", "two")
    with pytest.raises(SettingsError, match="blank"):
        load(environment={"ANTIPHON_KEYS": ","})


@pytest.mark.parametrize("host", ["talk.example", "talk.example:443", "localhost:8765", "127.0.0.1"])
def test_behind_a_proxy_nobody_is_on_this_machine(host: str) -> None:
    """What a proxy passes on may have any name in it that somebody far away has chosen."""
    doors = Doorkeeper(load(environment={"ANTIPHON_HOSTS": "talk.example"}))
    with pytest.raises(Denied) as refused:
        doors.admit_operator({"host": host})
    assert (refused.value.status, refused.value.code) == (403, "no_operators")
    assert doors.admit({"host": host}) is None
    keyed = Doorkeeper(
        load(environment={"ANTIPHON_HOSTS": "talk.example", "ANTIPHON_OPERATOR_KEYS": "watching"})
    )
    assert keyed.admit_operator({"host": host, "authorization": "Bearer watching"}) is not None


def test_who_sits_at_the_machine_needs_no_key() -> None:
    for environment in ({}, {"ANTIPHON_HOSTS": "localhost"}):
        assert Doorkeeper(load(environment=environment)).admit_operator({"host": "localhost:8765"}) is None
