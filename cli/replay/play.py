"""`antiphon replay play`: what a recorded client sent, sent again to a live server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..log.store import INTERRUPTED, JSON, LIFE, complete, fail, told
from .lives import DATA, one_life

if TYPE_CHECKING:
    from antiphon.clients.call import Call
    from antiphon.clients.exchange import Event
    from antiphon.replay.playing import Due

QUIET_S = 3.0
"""How long nothing must be said, behind the last thing sent, for the call to be over."""


@click.command()
@click.argument("what", metavar="SESSION|RECORDING", shell_complete=complete)
@DATA
@LIFE
@click.option(
    "--to", "url", default="ws://127.0.0.1:8765/v1/realtime", show_default=True, help="A Realtime endpoint."
)
@click.option(
    "--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="How many times as fast."
)
@click.option(
    "--wait", "wait_s", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True,
    help="Seconds to wait for answers at the end.",
)  # fmt: skip
@JSON
def play(
    what: str, data: Path, life: int | None, url: str, speed: float, wait_s: float, as_json: bool
) -> None:
    """Send a recorded call's input to a live server: the same audio, commits and cancels, at the same times.

    The session at the server is a new one; its id is printed, and `antiphon replay compare` shows both side
    by side. At another --speed than 1 its timings mean little. The API key is read from ANTIPHON_API_KEY.

    Exit codes: 0 the call was held, 1 not connected, refused or cut off, 130 stopped with Ctrl-C.
    """
    import msgspec

    from antiphon.clients.call import CallError, CallRefused
    from antiphon.replay.errors import RecordingError

    if not url.startswith(("ws://", "wss://")):
        raise click.BadParameter(f"{url} does not begin with ws:// or wss://", param_hint="--to")
    with told():
        recorded = one_life(what, data, life)
        try:
            held = asyncio.run(_play(recorded, url, os.environ.get("ANTIPHON_API_KEY"), speed, wait_s))
        except RecordingError as error:
            fail(str(error))
        except CallRefused as refused:
            fail(f"{refused.code}: {refused}")
        except CallError as lost:
            fail(str(lost))
        except KeyboardInterrupt:
            click.echo("stopped", err=True)
            sys.exit(INTERRUPTED)
    if as_json:
        click.echo(msgspec.json.encode(held).decode())
        return
    for line in held["answers"]:
        click.echo(f"{line['at_s']:7.2f} s  {line['status']:10}  {line['text'] or '…'}")
    for code in held["errors"]:
        click.echo(f"refused  {code}", err=True)
    click.echo(f"session  {held['session']}")


async def _play(recorded: Any, url: str, key: str | None, speed: float, wait_s: float) -> dict[str, Any]:
    from antiphon.clients.call import connect
    from antiphon.replay.playing import frames, opening
    from antiphon.replay.rerun.names import Named
    from antiphon.replay.rerun.wishes import script_of

    log, session, life = recorded.log, recorded.session, recorded.incarnation
    script, named = script_of(log.read(session, incarnation=life)), Named()
    for stored in log.read(session, incarnation=life):
        named.note(stored.event)

    def payload(ref: Any) -> bytes:
        return bytes(log.read_blob(session, ref, incarnation=life))

    async with connect(url, key=key, session=opening(script)) as call:
        live = _Live(call)
        hearing = asyncio.create_task(live.hear())
        try:
            with _bar(script.lasted_ns / 1e9 / speed) as advance:
                await live.send(frames(script, named, payload), speed, advance)
            await live.settled(wait_s)
            if hearing.done():
                hearing.result()  # the connection is lost
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
        return {"session": call.session.get("id", ""), "answers": live.answers, "errors": live.errors}


class _Live:
    """The call at the server: what it names things, and what it answers."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._heard = asyncio.Event()
        self._names: dict[str, list[str]] = {"response": [], "item": []}
        self._open: dict[str, dict[str, Any]] = {}
        self.answers: list[dict[str, Any]] = []
        self.errors: list[str] = []

    async def send(self, due: Any, speed: float, advance: Callable[[float], object]) -> None:
        began = self._loop.time()
        for one in due:
            await asyncio.sleep(began + one.at_s / speed - self._loop.time())
            advance(one.at_s / speed)
            for frame in one.frames:
                if self._name(one, frame):
                    await self._call.send(frame)

    def _name(self, due: Due, frame: dict[str, Any]) -> bool:
        """Put in what the live session calls what the frame is about; whether there is such a thing."""
        if due.named is None or "item_id" not in frame:
            return True
        kind, place = due.named
        there = self._names[kind]
        frame["item_id"] = there[place] if place < len(there) else ""
        return place < len(there)

    async def hear(self) -> None:
        async for event in self._call.events():
            self._heard.set()
            self._note(event)

    def _note(self, event: Event) -> None:
        body = event.body
        match event.type:
            case "response.created":
                response = body["response"]["id"]
                self._names["response"].append(response)
                self._open[response] = {
                    "at_s": round(self._loop.time() - self._began, 3), "text": "", "status": "active",
                }  # fmt: skip
                self.answers.append(self._open[response])
            case "conversation.item.added":
                self._names["item"].append(body["item"]["id"])
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                self._open[body["response_id"]]["text"] += body["delta"]
            case "response.done":
                self._open.pop(body["response"]["id"], {})["status"] = body["response"]["status"]
            case "error":
                self.errors.append(f"{body['error'].get('code')}: {body['error'].get('message')}")

    async def settled(self, wait_s: float) -> None:
        """Until nothing has been said for a while and no answer is under way, or for as long as is told."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while await self._says_something() or self._open:
                    pass

    async def _says_something(self) -> bool:
        self._heard.clear()
        try:
            await asyncio.wait_for(self._heard.wait(), QUIET_S)
        except TimeoutError:
            return False
        return True


@contextlib.contextmanager
def _bar(total_s: float) -> Iterator[Callable[[float], object]]:
    from rich.console import Console
    from rich.progress import Progress

    hidden = not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task("speaking", total=total_s)
        yield lambda at_s: bar.update(task, completed=at_s)
