"""Why a server cannot run."""

from __future__ import annotations


class LaunchError(Exception):
    """`address_unavailable`, `actor_system_failed`, `actor_system_hangs`, `not_on_loopback`,
    `stage_keeper_failed`, `serving_failed`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
