"""What a case needs beyond a log. A store that does not give it skips the case."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from ..ids import SessionId
from .disk import UnluckyDisk
from .processes import Children
from .under_test import StoreUnderTest

T = TypeVar("T")


@contextlib.contextmanager
def beside(store: StoreUnderTest) -> Iterator[StoreUnderTest]:
    """The store through another handle, which knows nothing but what is stored."""
    log = _given(store.another, "another")()
    try:
        yield store.through(log)
    finally:
        if log is not store.log:
            log.close()


@contextlib.contextmanager
def on_an_unlucky_disk(store: StoreUnderTest) -> Iterator[tuple[StoreUnderTest, UnluckyDisk]]:
    """The store through a handle whose disk fails as it is told."""
    disk = UnluckyDisk()
    log = _given(store.unlucky, "unlucky")(disk)
    try:
        yield store.through(log), disk
    finally:
        disk.heal()
        log.close()


@contextlib.contextmanager
def children(store: StoreUnderTest) -> Iterator[Children]:
    """Other processes of the store; whichever still live at the end are killed."""
    found = Children(_given(store.elsewhere, "elsewhere"))
    try:
        yield found
    finally:
        found.end()


def files(store: StoreUnderTest, session: SessionId) -> list[Path]:
    return list(_given(store.files, "files")(session))


def directory(store: StoreUnderTest) -> Path:
    return _given(store.directory, "directory")


def exclusive(store: StoreUnderTest) -> None:
    if not store.exclusive:
        pytest.skip("opening takes over in this store (StoreUnderTest.exclusive)")


def _given(what: T | None, name: str) -> T:
    if what is None:
        pytest.skip(f"the store does not give StoreUnderTest.{name}")
    return what
