"""The page's pure modules, run where they will run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import Watched, chromium

pytestmark = pytest.mark.browser

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "web" / "page"


@pytest.fixture(scope="module")
def watched(live_server: str) -> Iterator[Watched]:
    with chromium(device=False) as context:
        yield Watched(context, live_server)


def run(watched: Watched, module: str, body: str) -> Any:
    return watched.page.evaluate(f"async () => {{ const m = await import('/{module}'); {body} }}")


def test_half_a_sample_waits_for_its_other_half(watched: Watched) -> None:
    whole, cut = run(
        watched,
        "pcm.js",
        """
        const bytes = m.encode(Float32Array.from({ length: 999 }, (_, k) => Math.sin(k)));
        const decoded = (cuts) => {
          const decoder = new m.Decoder();
          return cuts.slice(1).flatMap((until, k) => [...decoder.decode(m.toBase64(bytes.subarray(cuts[k], until)))]);
        };
        return [decoded([0, 1998]), decoded([0, 1, 2, 7, 7, 1000, 1323, 1998])];
        """,
    )
    assert len(whole) == 999
    assert whole == cut


def test_samples_survive_the_wire(watched: Watched) -> None:
    given = [0.0, 1.0, -1.0, 0.5, -0.25, 2.0, -2.0]
    returned = run(
        watched,
        "pcm.js",
        f"return [...new m.Decoder().decode(m.toBase64(m.encode(Float32Array.from({given}))))];",
    )
    assert returned == pytest.approx([0.0, 1.0, -1.0, 0.5, -0.25, 1.0, -1.0], abs=1e-4)


RESAMPLE = """
    const loudness = (samples) => Math.sqrt(samples.reduce((sum, one) => sum + one * one, 0) / samples.length);
    const tone = Float32Array.from({ length: FROM }, (_, k) => Math.sin((2 * Math.PI * HERTZ * k) / FROM));
    const resampler = new m.Resampler(FROM, 24000);
    const parts = [];
    for (let k = 0; k < tone.length; k += 128) parts.push(...resampler.push(tone.subarray(k, k + 128)));
    return [parts.length, loudness(parts.slice(2000, -2000)), parts.slice(2000, 4000)];
"""


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 44100, 48000, 96000])
def test_a_tone_keeps_its_length_loudness_and_pitch_at_every_rate(watched: Watched, rate: int) -> None:
    length, level, piece = run(
        watched, "resample.js", RESAMPLE.replace("FROM", str(rate)).replace("HERTZ", "1000")
    )
    assert length == pytest.approx(24000, abs=60)
    assert level == pytest.approx(0.5**0.5, rel=0.01)
    crossings = sum((a < 0) != (b < 0) for a, b in pairwise(piece))
    assert crossings == pytest.approx(2 * 1000 * 2000 / 24000, abs=1)


def test_what_the_lower_rate_cannot_hold_does_not_fold_back(watched: Watched) -> None:
    _, level, _ = run(watched, "resample.js", RESAMPLE.replace("FROM", "48000").replace("HERTZ", "14000"))
    assert level < 0.001


GUARD = """
    const guard = new m.EchoGuard();
    guard.forMs = FOR_MS;
    guard.playbackBegan(0);
    const passed = [];
    for (let at = 0; at < 3000; at += 60) if (guard.admits(at, heard(at), PLAYING)) passed.push(at);
    return passed;
"""


def guarded(watched: Watched, heard: str, *, playing: float = 0.2, for_ms: int = 1500) -> list[int]:
    body = GUARD.replace("FOR_MS", str(for_ms)).replace("PLAYING", str(playing))
    return list(run(watched, "guard.js", f"const heard = {heard};{body}"))


@pytest.mark.parametrize("gain", [0.02, 0.1, 0.5, 0.9])
def test_our_own_echo_does_not_pass_in_the_first_moments(watched: Watched, gain: float) -> None:
    passed = guarded(watched, f"(at) => {0.2 * gain} * (0.8 + 0.2 * Math.sin(at))")
    assert passed[0] >= 1500


def test_somebody_louder_than_the_echo_passes_and_keeps_the_line_open(watched: Watched) -> None:
    passed = guarded(watched, "(at) => at > 600 && at < 700 ? 0.2 : 0.02")
    assert 600 <= passed[0] <= 720
    assert passed[:8] == list(range(passed[0], passed[0] + 8 * 60, 60))


def test_a_guard_that_is_turned_off_holds_nothing_back(watched: Watched) -> None:
    assert len(guarded(watched, "() => 0.02", for_ms=0)) == 50


HEARD = """
    const words = new m.Words();
    words.add("One two. ", 0);
    words.add("Three ", 1000);
    words.add("four.", 1000);
    const at = (ms) => words.text.slice(0, words.heard(ms, 2000));
    words.complete = COMPLETE;
    return [at(0), at(300), at(1000), at(1400), at(1900), at(2000)];
"""


def test_words_whose_audio_began_were_heard(watched: Watched) -> None:
    seen = run(watched, "heard.js", HEARD.replace("COMPLETE", "true"))
    assert seen == ["", "One", "One two. ", "One two. Three", "One two. Three four.", "One two. Three four."]


def test_every_state_can_be_left_and_ended(watched: Watched) -> None:
    table = run(
        watched,
        "phases.js",
        """
        const steps = ["start", "loading", "loaded", "ready", "lost", "speechStarted", "speechStopped", "asked",
          "sounding", "quiet", "stop", "fail"];
        const reached = new Set(["idle"]);
        for (const phase of reached) for (const step of steps) reached.add(m.next(phase, step));
        const ends = [...reached].filter((phase) => !m.isOver(phase)).map((phase) => m.next(phase, "stop"));
        return [[...reached].sort(), Object.keys(m.NAMES).sort(), [...new Set(ends)]];
        """,
    )
    reached, named, ends = table
    assert reached == named
    assert ends == ["closed"]


def test_while_the_connection_is_restored_nothing_else_is_shown(watched: Watched) -> None:
    seen = run(
        watched,
        "phases.js",
        """
        const talking = ["listening", "hearing", "thinking", "speaking", "connecting"];
        const during = ["speechStarted", "speechStopped", "asked", "sounding", "quiet", "lost"];
        return [
          talking.map((phase) => m.next(phase, "lost")),
          during.map((step) => m.next("restoring", step)),
          m.next("restoring", "ready"),
        ];
        """,
    )
    assert seen == [["restoring"] * 5, ["restoring"] * 6, "listening"]


def test_attempts_come_ever_later_up_to_four_seconds(watched: Watched) -> None:
    assert run(watched, "line.js", "return [0, 1, 2, 3, 4, 5, 60].map(m.waitMs);") == [
        *(250, 500, 1000, 2000, 4000, 4000, 4000)
    ]


def test_frames_have_numbers_and_replies_have_none(watched: Watched) -> None:
    ids = ["event_8448", "event_reply_1", "event_0", "event_1x", ""]
    numbers = run(watched, "protocol.js", f"return {ids}.map((event_id) => m.numberOf({{ event_id }}));")
    assert numbers == [8448, None, 0, None, None]


PASS_OVER = """
    const silent = { began: () => {}, drained: () => {}, silenced: () => {} };
    const playback = new m.Playback(silent);
    playback.passOver("item", 250);
    const told = [];
    for (let k = 0; k < 4; k++) {
      playback.play("item", new Float32Array(2400));
      told.push([playback.receivedMs("item"), playback.sounding, playback.heardMs("item") >= 100 * Math.min(k + 1, 2.5)]);
    }
    playback.close();
    return told;
"""


def test_what_was_heard_before_is_not_played_again_and_counts_as_heard(watched: Watched) -> None:
    assert run(watched, "playback.js", PASS_OVER) == [
        [100, False, True],
        [200, False, True],
        [300, True, True],
        [400, True, True],
    ]


SILENCED = """
    class StubContext extends EventTarget {
      state = "suspended";
      asked = 0;
      resume() { this.asked += 1; }
    }
    const stub = new StubContext();
    const told = [];
    await new Promise((told_so) => m.wake(stub, (is) => { told.push(is); told_so(); }));
    document.body.click();
    stub.state = "running";
    stub.dispatchEvent(new Event("statechange"));
    document.body.click();
    return [told, stub.asked];
"""


def test_a_page_that_the_browser_silences_is_woken_by_a_click_and_says_so_meanwhile(watched: Watched) -> None:
    """The context is a stub: the browser's driver touches pages in ways that count as a person's."""
    told, asked = run(watched, "wake.js", SILENCED)
    assert told == [True, False]
    assert asked == 2, "at first, and by the click before it was heard"


@pytest.mark.skipif(shutil.which("tsc") is None, reason="needs TypeScript's compiler")
def test_the_types_hold() -> None:
    options = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2023"]
    options += ["--lib", "es2023,dom,dom.iterable", "--module", "esnext", "--moduleResolution", "bundler"]
    modules = [str(path) for path in PAGE.rglob("*.js")]
    done = subprocess.run(
        ["tsc", *options, str(HERE / "worklet.d.ts"), *modules], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
