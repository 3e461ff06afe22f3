"""What a client's socket took is reported: at once, then in company, and at the latest when it goes."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from antiphon.actors.hosted import Hosted
from antiphon.actors.runtime import Published
from antiphon.actors.session import commands
from antiphon.events.envelope import Stored
from antiphon.events.ids import Fence, ResponseId, Seq, SessionId
from antiphon.events.units import Moment
from antiphon.events.vocabulary import EpochAdvanced
from antiphon.projections.base import Digest
from antiphon.web import attach
from antiphon.web.attach import Attachment
from antiphon.web.outbox import Letter
from antiphon.web.realtime.dialect import REALTIME

S = SessionId("s")
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
async def client(session: Session) -> Attachment:
    attachment = Attachment(REALTIME, lambda code: None)
    attachment.hosted = cast(Hosted, session)
    attachment.outbox.use(lambda payload, binary: True, forever)
    return attachment


async def forever() -> None:
    await asyncio.Event().wait()


async def at_once() -> None:
    return


def sends(client: Attachment, until: int) -> None:
    client.outbox.put(Letter(b"audio", until, b"frame", b"sound", ResponseId("r"), until))


def untils(session: Session) -> list[int]:
    return [report.audio[0].until_sample for report in session.asked]


async def test_first_audio_is_reported_at_once(client: Attachment, session: Session) -> None:
    sends(client, 1920)
    await asyncio.sleep(0)
    assert untils(session) == [1920]


async def test_later_audio_is_reported_with_the_clients_own_once_a_report_is_due(
    client: Attachment, session: Session, monkeypatch: pytest.MonkeyPatch
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
    assert reported.sent.audio[0].until_sample == 5760
    assert client.with_report(AUDIO) is AUDIO
    assert untils(session) == [1920, 3840]


async def test_what_is_not_reported_when_the_client_goes_is_reported_then(
    client: Attachment, session: Session
) -> None:
    sends(client, 1920)
    await asyncio.sleep(0)
    sends(client, 3840)
    client.gone("closed", 1000)
    assert [type(one).__name__ for one in session.asked] == ["ReportSent", "ReportSent", "Detach"]
    assert session.asked[1].audio[0].until_sample == 3840


async def test_frames_without_audio_are_reported_too(
    client: Attachment, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "REPORT_EVERY_S", 0.0)
    monkeypatch.setattr(attach, "COMPANY_S", 0.0)
    client.outbox.put(Letter(b"words", 7, b"words"))
    client.outbox.put(Letter(b"an answer that no event holds"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [(report.through, report.audio) for report in session.asked] == [(7, ())]


async def test_audio_that_is_taken_back_is_named_and_not_in_the_digest(
    client: Attachment, session: Session
) -> None:
    sends(client, 1920)
    client.outbox.use(lambda payload, binary: False, forever)  # the socket is full
    sends(client, 3840)
    client.outbox.put(Letter(b"words", 3841, b"words"))
    client.publish([_interruption()])
    client.outbox.use(lambda payload, binary: False, at_once)
    await _let_it_send(client)
    client.gone("closed", 1000)

    *_, report, _ = session.asked
    digest = Digest()
    digest.add(b"frame", b"sound")
    digest.add(b"words", b"")
    assert (report.through, report.withheld) == (3841, (3840,))
    assert (report.digest, report.meaning) == (digest.of_bytes(), digest.of_meaning())


def _interruption() -> Published:
    event = EpochAdvanced(cancelled=Fence(S, 0, 0, 1), next=Fence(S, 0, 1, 1), reason="barge_in")
    return Published(Stored(Seq(60), Moment(0, 0), event, None, None, True))


async def _let_it_send(client: Attachment) -> None:
    """Until the outbox has nothing left, and then no longer."""

    async def send(payload: bytes, binary: bool) -> None:
        assert not binary
        sent.append(payload)

    async def close(code: int, reason: str) -> None:
        return

    sent: list[bytes] = []
    client.outbox.close(1000, "done")
    await client.outbox.run(send, close)
    assert sent == [b"words"]
