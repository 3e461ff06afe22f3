"""What a client's socket took is reported: at once, then in company, and at the latest when it goes."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from antiphon.actors.host import Hosted
from antiphon.actors.session import commands
from antiphon.events.ids import ResponseId
from antiphon.web import attach
from antiphon.web.attach import RealtimeAttachment
from antiphon.web.outbox import Letter

AUDIO = commands.AppendAudio(pcm=bytes(3840))


class Session:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def ask(self, sink: object, command: commands.Command) -> None:
        self.asked.append(command)


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
async def client(session: Session) -> RealtimeAttachment:
    attachment = RealtimeAttachment(lambda code: None)
    attachment.hosted = cast(Hosted, session)
    attachment.outbox.send_now = lambda text: True
    return attachment


def sends(client: RealtimeAttachment, until: int) -> None:
    client.outbox.put(Letter(b"audio", ResponseId("r"), until))


async def test_first_audio_is_reported_at_once(client: RealtimeAttachment, session: Session) -> None:
    sends(client, 1920)
    await asyncio.sleep(0)
    assert [report.until_sample for report in session.asked] == [1920]


async def test_later_audio_is_reported_with_the_clients_own_once_a_report_is_due(
    client: RealtimeAttachment, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    sends(client, 1920)
    await asyncio.sleep(0)
    sends(client, 3840)
    assert client.with_report(AUDIO) is AUDIO  # not yet due

    client.report()
    monkeypatch.setattr(attach, "REPORT_EVERY_S", 0.0)
    sends(client, 5760)
    reported = client.with_report(AUDIO)

    assert reported.pcm == AUDIO.pcm
    assert reported.sent is not None
    assert reported.sent.until_sample == 5760
    assert client.with_report(AUDIO) is AUDIO
    assert [report.until_sample for report in session.asked] == [1920, 3840]


async def test_what_is_not_reported_when_the_client_goes_is_reported_then(
    client: RealtimeAttachment, session: Session
) -> None:
    sends(client, 1920)
    await asyncio.sleep(0)
    sends(client, 3840)
    client.gone("closed", 1000)
    assert [type(one).__name__ for one in session.asked] == ["ReportSent", "ReportSent", "Detach"]
    assert session.asked[1].until_sample == 3840
