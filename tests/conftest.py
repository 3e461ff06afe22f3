"""Servers that many tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import RunningServer, running

ON_TORCH = {
    "test_moshi_model.py": "moshi",
    "test_draws.py": "minicpmo",
    "test_mouth.py": "minicpmo",
    "test_vision.py": "minicpmo",
    "test_torch_thinker.py": "minicpmo",
    "test_minicpmo_model.py": "minicpmo",
    "test_minicpmo_nets.py": "minicpmo",
    "test_minicpmo_engine.py": "minicpmo",
    "test_conforming_minicpmo.py": "minicpmo",
    "vllm": "vllm",
}


def pytest_configure() -> None:
    """Whoever runs the tests in the background, or under nohup, ignores these signals, and so would all that
    the tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The tests of models on torch import it where it is installed. Others test that they do without, so it is
    met only where those are asked for."""
    wanted = str(config.getoption("markexpr"))
    marker = ON_TORCH.get(collection_path.name)
    return True if marker and (marker not in wanted or f"not {marker}" in wanted) else None


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
