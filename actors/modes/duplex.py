"""Duplex sessions: the core as it is. Plain Realtime, its extension and the native dialect speak it."""

from __future__ import annotations

from antiphon.actors.session.mode import Mode

DUPLEX = Mode()
