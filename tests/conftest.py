"""Servers that many tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving import RunningServer, running


@pytest.fixture(scope="session")
def echo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """`antiphon serve --stage echo`, for tests that leave it as they found it. Who is lost is not waited for."""
    folder = tmp_path_factory.mktemp("echo")
    config = folder / "antiphon.toml"
    config.write_text("[duplex_session]\ndisconnect_grace_s = 0.5\n")
    with running(folder / "data", "--config", str(config)) as server:
        yield server


@pytest.fixture(scope="session")
def cascade_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """`antiphon serve`, the embedded default with its real models."""
    with running(tmp_path_factory.mktemp("cascade") / "data", stage="cascade") as server:
        yield server
