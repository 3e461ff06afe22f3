"""The shape of the repository: rooms where they are said to be, files and functions that fit in a head."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("events", "actors", "projections", "replay", "web", "clients", "media", "cli")
LONGEST_FILE, LONGEST_FUNCTION = 400, 40


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (ROOT / folder).rglob("*.py")


def lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_every_room_is_linked_into_the_package_and_nothing_else_is() -> None:
    package = ROOT / "src" / "antiphon"
    links = {path.name: path.readlink().as_posix() for path in package.iterdir() if path.is_symlink()}
    assert links == {room: f"../../{room}" for room in ROOMS}
    assert all((ROOT / room / "__init__.py").is_file() for room in ROOMS)


@pytest.mark.parametrize("path", sorted(sources(*ROOMS, "bench")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_holds_one_idea_and_a_function_fits_a_screen(path: Path) -> None:
    assert lines(path) <= LONGEST_FILE
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} (line {node.lineno}) has {length} lines"


def test_files_are_small_on_the_whole() -> None:
    sizes = sorted(lines(path) for path in sources(*ROOMS) if path.name != "__init__.py")
    assert statistics.median(sizes) <= 120
    assert sizes[len(sizes) * 9 // 10] <= 250


def test_every_package_says_what_it_is() -> None:
    for path in sources(*ROOMS):
        if path.name == "__init__.py":
            assert len(ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "") > 10, path
