"""What the drivers of livekit's plugin share: one session of it, held until it is over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from livekit.plugins.openai import realtime
from report import Complaints, Report, arguments

Converse = Callable[[realtime.RealtimeSession, bytes, Report], Awaitable[None]]


async def hold(converse: Converse, **options: Any) -> None:
    """`options` are those of the model, beside where it is."""
    url, pcm = arguments()
    report = Report()
    logging.getLogger().addHandler(Complaints(report))
    async with aiohttp.ClientSession() as http:
        base = f"{url.replace('ws', 'http', 1)}/v1"
        model = realtime.RealtimeModel(
            base_url=base, api_key="unused", model="any", http_session=http, **options
        )
        session = model.session()
        async with asyncio.timeout(60):
            await converse(session, pcm, report)
        await session.aclose()
    report.print()
