"""Servers that many tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.serving import RunningServer, running


@pytest.fixture(scope="session")
def echo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """`antiphon serve --stage echo`, for tests that leave it as they found it."""
    with running(tmp_path_factory.mktemp("echo") / "data") as server:
        yield server


@pytest.fixture(scope="session")
def cascade_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """`antiphon serve`, the embedded default with its real models."""
    with running(tmp_path_factory.mktemp("cascade") / "data", stage="cascade") as server:
        yield server
