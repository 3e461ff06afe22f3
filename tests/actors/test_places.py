"""The page on which serving processes count their sessions, with real processes on it."""

from __future__ import annotations

import os
import subprocess
import sys

from antiphon.actors.processes.places import Places

TAKER = """
import sys
from antiphon.actors.processes.places import Places

fd, mine, tries = map(int, sys.argv[1:])
places = Places(fd, 3, mine)
print(sum(places.take(100) for _ in range(tries)))
"""


def test_no_two_processes_take_the_last_place() -> None:
    fd = Places.make(3)
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(fd), str(mine), "80"], pass_fds=(fd,), stdout=subprocess.PIPE
        )
        for mine in range(3)
    ]
    taken = [int(taker.communicate(timeout=30)[0]) for taker in takers]

    assert sum(taken) == 100
    assert Places(fd, 3).taken == 100
    os.close(fd)


def test_a_place_is_free_when_its_session_is_over_or_its_process_is_no_more() -> None:
    fd = Places.make(2)
    first, second = Places(fd, 2, 0), Places(fd, 2, 1)
    assert first.take(3)
    assert second.take(3)
    assert second.take(3)
    assert not first.take(3)

    first.leave()
    assert second.taken == 2
    assert first.take(3)

    first.clear(1)
    assert first.taken == 1


def test_who_is_in_already_is_counted_whatever_the_limit() -> None:
    fd = Places.make(2)
    first, second = Places(fd, 2, 0), Places(fd, 2, 1)
    assert first.take(1)

    assert second.take(None)
    first.leave()

    assert second.taken == 1
    assert not first.take(1)
