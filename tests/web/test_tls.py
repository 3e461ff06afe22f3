"""TLS: what is wrong with the files is said before anything starts; behind it all is as without it."""

from __future__ import annotations

import asyncio
import base64
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop
from openai import AsyncOpenAI
from websockets.asyncio.client import connect

from antiphon.web import handshake, tls
from antiphon.web.settings import Settings, SettingsError, load
from bench.ports import free_port
from tests import certificates
from tests.certificates import Files
from tests.serving import RunningServer, running

from .test_hostile import serving
from .test_openai_sdk import MANUAL, append, audio_of, tone, until
from .test_take_back import cut_off_answer
from .wire import Wire


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return certificates.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def server(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    data = tmp_path_factory.mktemp("secured") / "data"
    with running(data, *files.flags, trusted=files.certificate) as server:
        yield server


def trusting(files: Files) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(files.certificate))


# --- talking ----------------------------------------------------------------------------------------------


async def test_the_openai_sdk_talks_over_wss(
    server: RunningServer, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(files.certificate))
    pcm = tone(3.0)
    client = AsyncOpenAI(base_url=f"{server.base}/v1", api_key="unused")
    async with client.realtime.connect(model="anything") as connection:
        await connection.session.update(session={"type": "realtime", **MANUAL})  # type: ignore[typeddict-item]
        await append(connection, pcm)
        await connection.input_audio_buffer.commit()
        events = await until(connection, "response.done")
    assert audio_of(events) == pcm


async def test_a_large_frame_comes_and_goes_in_one_piece(server: RunningServer, files: Files) -> None:
    pcm = tone(40.0)
    url = f"wss://127.0.0.1:{server.port}/v1/realtime"
    async with connect(url, ssl=trusting(files), proxy=None, compression=None, max_size=None) as socket:
        client = Wire(socket)
        await client.manual()
        await client.append(pcm)
        await client.send({"type": "input_audio_buffer.commit"})
        events = await client.until("response.done")
    said = [base64.b64decode(e["delta"]) for e in events if e["type"] == "response.output_audio.delta"]
    assert b"".join(said) == pcm


def test_the_page_and_the_address_are_https(server: RunningServer) -> None:
    assert server.get("/").status_code == 200
    assert f"https://127.0.0.1:{server.port}/" in server.log()
    assert "can read" not in server.log()


async def test_who_does_not_speak_tls_gets_no_answer_and_leaves_no_trace(server: RunningServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    async with asyncio.timeout(10):
        assert not (await reader.read()).startswith(b"HTTP")
    writer.close()
    assert "Traceback" not in server.log()


async def test_a_request_that_comes_with_the_end_of_the_handshake_is_heard(
    server: RunningServer, files: Files
) -> None:
    """The client's last word of the handshake and its request in one piece."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting(files).wrap_bio(incoming, outgoing, server_hostname="localhost")
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    async with asyncio.timeout(10):
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
                incoming.write(await reader.read(65536))
        client.write(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        writer.write(outgoing.read())
        told = b""
        while b"\r\n\r\n" not in told:
            incoming.write(await reader.read(65536))
            try:
                told += client.read()
            except ssl.SSLWantReadError:
                continue
    writer.transport.abort()
    assert told.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_of_an_answer_that_nobody_reads_little_more_cannot_be_taken_back(loop: Any, files: Files) -> None:
    async def cut_off() -> None:
        made = tls.context(Settings(tls_certificate=str(files.certificate), tls_key=str(files.key)))
        assert made is not None
        await cut_off_answer({"http": handshake.behind(made)}, {"ssl": trusting(files)})

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(cut_off())


async def test_who_does_not_shake_hands_is_not_waited_for_for_ever(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake, "REQUEST_S", 0.1)
    made = tls.context(Settings(tls_certificate=str(files.certificate), tls_key=str(files.key)))
    assert made is not None

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("nobody asked for anything")

    async with serving(nothing, http=handshake.behind(made)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(10):
            assert await reader.read() == b""
        writer.close()


# --- the files --------------------------------------------------------------------------------------------


def written(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


BROKEN: list[tuple[str, Callable[[Files, Path], tuple[str, str]], str]] = [
    ("only one of them", lambda f, d: (str(f.certificate), ""), "belong together"),
    ("no such certificate", lambda f, d: (str(d / "no.crt"), str(f.key)), "No such file"),
    ("no such key", lambda f, d: (str(f.certificate), str(d / "no.key")), "No such file"),
    ("a folder", lambda f, d: (str(d), str(f.key)), "Is a directory"),
    ("no certificate in it", lambda f, d: (str(f.key), str(f.key)), "no PEM certificate"),
    ("no key in it", lambda f, d: (str(f.certificate), str(f.certificate)), "no PEM private key"),
    (
        "the key of another",
        lambda f, d: (str(f.certificate), str(certificates.make(d / "other").key)),
        "is not the key of",
    ),
    (
        "a locked key",
        lambda f, d: (str(f.certificate), written(d / "k", "-----BEGIN ENCRYPTED PRIVATE KEY-----")),
        "passphrase",
    ),
    (
        "a torn certificate",
        lambda f, d: (written(d / "c", f.certificate.read_text()[:200]), str(f.key)),
        "cannot be used",
    ),
]


@pytest.mark.parametrize(("paths", "told"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_is_wrong_with_the_files_is_said(
    files: Files, tmp_path: Path, paths: Callable[[Files, Path], tuple[str, str]], told: str
) -> None:
    certificate, key = paths(files, tmp_path)
    with pytest.raises(SettingsError, match=told):
        tls.context(Settings(tls_certificate=certificate, tls_key=key))


def test_without_files_there_is_no_tls() -> None:
    assert tls.context(Settings()) is None


def test_the_settings_come_from_the_environment_too(files: Files) -> None:
    given = {"ANTIPHON_TLS_CERTIFICATE": str(files.certificate), "ANTIPHON_TLS_KEY": str(files.key)}
    assert tls.context(load(environment=given)) is not None


def test_nothing_starts_with_files_that_cannot_be_used(files: Files, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "antiphon.cli", "serve", "--data", str(tmp_path / "data")]
    command += ["--port", str(free_port()), "--tls-certificate", str(files.certificate)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "tls_certificate and tls_key belong together" in ended.stderr
    assert not (tmp_path / "data").exists()


def test_a_key_that_everybody_can_read_is_warned_of(files: Files) -> None:
    settings = Settings(tls_certificate=str(files.certificate), tls_key=str(files.key))
    assert not tls.key_is_exposed(settings)
    files.key.chmod(0o644)
    try:
        assert tls.key_is_exposed(settings)
    finally:
        files.key.chmod(0o600)
