"""`antiphon replay play`: what a recorded client sent, sent again to a live server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..log.lines import printable
from ..log.progress import bar
from ..log.store import INTERRUPTED, JSON, LIFE, complete, fail, told
from .lives import DATA, one_life

if TYPE_CHECKING:
    from antiphon.clients.call import Call
    from antiphon.clients.exchange import Event
    from antiphon.replay.playing import Due
    from antiphon.replay.sources import Life

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

    if not url.startswith(("ws://", "wss://")):
        raise click.BadParameter(f"{url} does not begin with ws:// or wss://", param_hint="--to")
    with told():
        recorded = one_life(what, data, life)
        try:
            key = os.environ.get("ANTIPHON_API_KEY")
            held = asyncio.run(_play(recorded, url, key, speed, wait_s, quiet=as_json))
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
    _show(held)


def _show(held: dict[str, Any]) -> None:
    for line in held["answers"]:
        said = f"{line['status']:10}  {line['text'] or '…'}"
        click.echo(f"{line['at_s']:7.2f} s  {printable(said)}")
    for missing in held["not_sent"]:
        click.echo(f"not sent  {missing}", err=True)
    for refused in held["errors"]:
        click.echo(f"refused  {printable(refused)}", err=True)
    click.echo(f"session  {printable(held['session'])}")


async def _play(
    recorded: Life, url: str, key: str | None, speed: float, wait_s: float, *, quiet: bool
) -> dict[str, Any]:
    from antiphon.clients.call import connect
    from antiphon.replay.playing import frames, opening
    from antiphon.replay.rerun.names import Named
    from antiphon.replay.rerun.wishes import script_of

    script, named = script_of(recorded.events()), Named()
    for stored in recorded.events():
        named.note(stored.event)
    async with connect(url, key=key, session=opening(script)) as call:
        live = _Live(call)
        hearing = asyncio.create_task(live.hear())
        try:
            with bar(quiet=quiet) as shown:
                task = shown.add_task("speaking", total=script.lasted_ns / 1e9 / speed)
                due = frames(script, named, recorded.payload)
                await live.send(due, speed, lambda at_s: shown.update(task, completed=at_s))
            await live.settled(wait_s)
            if hearing.done():
                hearing.result()  # the connection is lost
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
        return {"session": str(call.session.get("id", "")), **live.heard}


class _Live:
    """The call at the server: what it names things, and what it answers."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._heard = asyncio.Event()
        self._names: dict[str, list[str]] = {"item": [], "call": []}
        self._open: dict[str, dict[str, Any]] = {}
        self._answers: list[dict[str, Any]] = []
        self._errors: list[str] = []
        self._not_sent: list[str] = []

    @property
    def heard(self) -> dict[str, Any]:
        return {"answers": self._answers, "errors": self._errors, "not_sent": self._not_sent}

    async def send(self, due: Iterable[Due], speed: float, advance: Callable[[float], object]) -> None:
        """Each frame when it is due. What is about something that is not there is left out."""
        from antiphon.replay.rerun.names import NoCounterpart

        began = self._loop.time()
        for one in due:
            await asyncio.sleep(began + one.at_s / speed - self._loop.time())
            advance(one.at_s / speed)
            try:
                frame = one.addressed(self._names)
            except NoCounterpart as missing:
                self._not_sent.append(f"{one.frame['type']} at {one.at_s:.2f} s: there is no {missing}")
            else:
                await self._call.send(frame)

    async def hear(self) -> None:
        async for event in self._call.events():
            self._heard.set()
            self._note(event)

    def _note(self, event: Event) -> None:
        body = event.body
        match event.type:
            case "response.created":
                response = body["response"]["id"]
                self._open[response] = {
                    "at_s": round(self._loop.time() - self._began, 3), "text": "", "status": "active",
                }  # fmt: skip
                self._answers.append(self._open[response])
            case "conversation.item.added":
                self._names["item"].append(body["item"]["id"])
            case "response.output_item.added" if body["item"]["type"] == "function_call":
                self._names["call"].append(body["item"]["call_id"])
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                self._open[body["response_id"]]["text"] += body["delta"]
            case "response.done":
                self._open.pop(body["response"]["id"], {})["status"] = body["response"]["status"]
            case "error":
                self._errors.append(f"{body['error'].get('code')}: {body['error'].get('message')}")

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
