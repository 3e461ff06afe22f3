"""What the drivers of livekit's plugin share: one session of it, held until it is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import aiohttp
from livekit.plugins.openai import realtime
from report import Complaints, Report, arguments

Converse = Callable[[realtime.RealtimeSession, bytes, Report], Awaitable[None]]


async def hold(converse: Converse) -> None:
    url, pcm = arguments()
    report = Report()
    logging.getLogger().addHandler(Complaints(report))
    async with aiohttp.ClientSession() as http:
        model = realtime.RealtimeModel(
            base_url=f"{url.replace('ws', 'http', 1)}/v1", api_key="unused", model="any", http_session=http
        )
        session = model.session()
        async with asyncio.timeout(60):
            await converse(session, pcm, report)
        await session.aclose()
    report.print()
