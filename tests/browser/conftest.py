"""The server that the page talks to: the real one, with a stage that says what script.toml says."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.serving import RunningServer, running

HERE = Path(__file__).resolve().parent

# Without playwright these modules cannot even be imported; `-m browser` then finds nothing, which is an error.
collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("browser")
    config = folder / "antiphon.toml"
    config.write_text(
        f'hosts = ["antiphon.test"]\n[stage]\nuse = "scripted"\n'
        f'[stage.scripted]\nscript = "{HERE / "script.toml"}"\n'
    )
    with running(folder / "data", "--config", str(config), stage="scripted") as server:
        yield server


@pytest.fixture(scope="package")
def live_server(server: RunningServer) -> str:
    """The address of a running server, without a slash at its end."""
    return server.base
