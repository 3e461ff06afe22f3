"""The official Moshi client's files: a stand-in for its build, at our path and at its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from antiphon.web import peers_page
from antiphon.web.settings import Settings, SettingsError
from tests.serving import running

from .moshi import READY, moshi
from .wire import wire


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>theirs</title>")
    (folder / "assets" / "decoderWorker.min.wasm").write_bytes(b"\0asm")
    return folder


async def test_beside_our_page_it_has_a_path_of_its_own(dist: Path, tmp_path: Path) -> None:
    with running(tmp_path / "data", "--static", str(dist)) as server:
        assert "theirs" in server.get("/moshi/").text
        assert "theirs" not in server.get("/").text
        wasm = server.get("/assets/decoderWorker.min.wasm")
        assert (wasm.content, wasm.headers["content-type"]) == (b"\0asm", "application/wasm")
        assert "wasm-unsafe-eval" in server.get("/moshi/").headers["content-security-policy"]
        assert "wasm-unsafe-eval" not in server.get("/").headers.get("content-security-policy", "")
        assert server.get("/assets/%2e%2e/index.html").status_code == 404
        async with moshi(server) as client:
            await client.until(READY)


async def test_alone_it_is_where_its_own_server_has_it_and_nothing_else_is(
    dist: Path, tmp_path: Path
) -> None:
    with running(tmp_path / "data", "--static", str(dist), "--only", "personaplex") as server:
        assert "theirs" in server.get("/").text
        assert server.get("/assets/decoderWorker.min.wasm").content == b"\0asm"
        assert server.get("/health").status_code == 200
        assert server.get("/api/apps").status_code == 404
        async with moshi(server) as client:
            await client.until(READY)
        with pytest.raises(InvalidStatus):
            async with wire(server):
                pass


def test_a_folder_without_a_client_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"index\.html"):
        peers_page.check(Settings(static=str(tmp_path)))
