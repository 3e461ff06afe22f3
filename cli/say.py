"""`antiphon say`: speak a recording to a server, hear what it answers, and how long it took.

Exit codes: 0 answered, 1 no connection or refused or cut off, 2 wrong usage (also a file that is no usable
WAV), 3 no complete answer in time, 130 stopped with Ctrl-C.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from antiphon.clients.exchange import Exchange

URL = "ws://127.0.0.1:8765/v1/realtime"
FAILED, TOO_LATE, INTERRUPTED = 1, 3, 130
PLAYERS = (("aplay", "-q"), ("paplay",), ("pw-play",))
"""Programs that play a WAV file, and how to keep them quiet."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--url", default=URL, show_default=True, help="The server's Realtime endpoint.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the answer to this WAV file instead of playing it.",
)
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(0, min_open=True),
    default=15.0,
    show_default=True,
    help="Seconds to wait for the answer after the recording has ended.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def say(file: Path, url: str, output: Path | None, wait_s: float, as_json: bool) -> None:
    """Speak FILE (a WAV of any rate) to a server in real time; print and play what it answers.

    The API key, where the server wants one, is read from ANTIPHON_API_KEY.

    Exit codes: 0 answered, 1 not connected, refused or cut off, 2 wrong usage, 3 no answer in time.
    """
    from antiphon.clients.call import CallError, CallRefused, NoAnswer

    if not url.startswith(("ws://", "wss://")):
        raise click.BadParameter(f"{url} does not begin with ws:// or wss://", param_hint="--url")
    pcm = _read(file)
    key = os.environ.get("ANTIPHON_API_KEY")
    try:
        exchange = asyncio.run(_converse(url, key, pcm, wait_s))
    except NoAnswer as late:
        _fail(TOO_LATE, "no_answer", str(late), late.exchange if as_json else None, as_json)
    except CallError as error:
        code = error.code if isinstance(error, CallRefused) else "call_lost"
        _fail(FAILED, code, str(error), None, as_json)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        sys.exit(INTERRUPTED)
    if output is not None:
        _write(exchange, output)
    _report(exchange, output, as_json)
    if output is None:
        _play(exchange)


def _read(file: Path) -> bytes:
    from antiphon.clients.exchange import RATE
    from antiphon.media.pcm import to_pcm
    from antiphon.media.resample import resample
    from antiphon.media.wav import WavError, read_wav

    try:
        sound = read_wav(file.read_bytes())
    except (OSError, WavError) as error:
        raise click.BadParameter(f"{file}: {error}", param_hint="FILE") from error
    return to_pcm(resample(sound.samples, sound.rate, RATE))


# --- the call ---------------------------------------------------------------------------------------------


async def _converse(url: str, key: str | None, pcm: bytes, wait_s: float) -> Exchange:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from antiphon.clients.call import connect
    from antiphon.clients.exchange import BYTES_PER_SECOND

    seconds = len(pcm) / BYTES_PER_SECOND
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task("connecting", total=None)
        async with connect(url, key=key) as call:
            bar.update(task, description="speaking", total=seconds)
            ticking = asyncio.create_task(_tick(bar, task, seconds))
            try:
                return await call.ask(pcm, wait_s=wait_s)
            finally:
                ticking.cancel()


async def _tick(bar: Progress, task: TaskID, seconds: float) -> None:
    """Move the bar as the recording is spoken; then say what is waited for."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while (spoken := loop.time() - began) < seconds:
        bar.update(task, completed=spoken)
        await asyncio.sleep(0.1)
    bar.update(task, description="listening", completed=seconds)


# --- what came of it --------------------------------------------------------------------------------------


def _report(exchange: Exchange, output: Path | None, as_json: bool) -> None:
    if as_json:
        _print_json({**_as_json(exchange), "output": None if output is None else str(output)})
        return
    click.echo(f"you     {exchange.question or '(no transcript)'}")
    click.echo(f"answer  {exchange.answer.strip() or '(no words)'}")
    if exchange.delay is not None:
        click.echo(f"delay   {exchange.delay:.2f} s from the end of the turn to the first sound")
    if output is not None:
        click.echo(f"saved   {output} ({exchange.audio_seconds:.1f} s)")


def _as_json(exchange: Exchange) -> dict[str, Any]:
    return {
        "question": exchange.question,
        "answer": exchange.answer.strip(),
        "status": exchange.status,
        "delay_s": None if exchange.delay is None else round(exchange.delay, 4),
        "audio_s": round(exchange.audio_seconds, 3),
        "underruns": len(exchange.underruns()),
    }


def _print_json(shown: dict[str, Any]) -> None:
    import msgspec

    click.echo(msgspec.json.encode(shown).decode())


def _fail(code: int, name: str, message: str, exchange: Exchange | None, as_json: bool) -> NoReturn:
    if as_json:
        partial = {} if exchange is None else _as_json(exchange)
        _print_json({**partial, "error": {"code": name, "message": message}})
    else:
        click.echo(f"{name}: {message}", err=True)
    sys.exit(code)


def _wav(exchange: Exchange) -> bytes:
    from antiphon.clients.exchange import RATE
    from antiphon.media.pcm import to_float
    from antiphon.media.wav import write_wav

    return write_wav(to_float(exchange.audio), RATE)


def _write(exchange: Exchange, output: Path) -> None:
    try:
        output.write_bytes(_wav(exchange))
    except OSError as error:
        raise click.BadParameter(f"{output}: {error.strerror}", param_hint="--output") from error


def _play(exchange: Exchange) -> None:
    """Play the answer with what the system has; say so where it has nothing."""
    import shutil
    import subprocess
    import tempfile

    player = next((one for one in PLAYERS if shutil.which(one[0])), None)
    if player is None:
        names = ", ".join(name for name, *_ in PLAYERS)
        click.echo(f"not played: none of {names} is installed; -o FILE.wav keeps the answer", err=True)
        return
    with tempfile.NamedTemporaryFile(suffix=".wav") as sound:
        sound.write(_wav(exchange))
        sound.flush()
        try:
            ended = subprocess.run((*player, sound.name), stdin=subprocess.DEVNULL, check=False)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
    if ended.returncode:
        click.echo(f"not played: {player[0]} ended with {ended.returncode}", err=True)
