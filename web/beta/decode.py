"""A beta client's frames: today's, but for what it says of its session."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from antiphon.projections.beta import names
from antiphon.web.realtime import frames as f
from antiphon.web.realtime.decode import RealtimeDecoder
from antiphon.web.realtime.session import check_can_be_kept
from antiphon.web.realtime.undecodable import Undecodable, decode, nested_too_deeply
from antiphon.web.wishes import Wish


class BetaDecoder(RealtimeDecoder):
    """Implements Decoder."""

    def at_once(self, frame: f.ClientEvent) -> list[Wish]:
        """What is wrong is told by the names that the client used."""
        try:
            return super().at_once(_today(frame) if type(frame) is f.SessionUpdate else frame)
        except Undecodable as bad:
            told = names.parameter(bad.param)
            raise Undecodable(bad.code, bad.message, told, bad.client_event) from bad
        except RecursionError as error:
            raise nested_too_deeply() from error


def _today(frame: f.SessionUpdate) -> f.SessionUpdate:
    """The update by today's names."""
    given = decode(frame.session, dict[str, Any], "session", frame.event_id)
    check_can_be_kept(given, frame.event_id)
    return replace(frame, session=msgspec.Raw(msgspec.json.encode(names.nested(given))))
