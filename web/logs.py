"""Diagnostics: one JSON object a line on stderr, or coloured lines for a person at a terminal.

Event names are static. No query string, key or word of a conversation is ever logged; what a user said is
in the session's own event log and nowhere else.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys

import structlog


class Stderr:
    """Writes lines to descriptor 2. What cannot be written (a full disk, a reader that has gone) is lost: a
    server must not fall over what it says of itself.
    """

    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError):
            os.write(2, message.encode("utf-8", "backslashreplace") + b"\n")

    log = debug = info = warning = error = critical = exception = msg


def configure(level: str) -> None:
    """Route structlog and the standard library's loggers to stderr."""
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: Stderr(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared))
    logging.basicConfig(handlers=[handler], level=max(number, logging.WARNING), force=True)
    # uvicorn logs the address of every WebSocket with its query string, and that may hold a key.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_meant)


def _is_meant(record: logging.LogRecord) -> bool:
    """uvicorn takes a refusal before the upgrade for a handshake left undone, and says so as an error."""
    return record.msg != "ASGI callable returned without completing handshake."
