"""A comparison as one HTML file that needs nothing else: both courses over time, and turn by turn."""

from __future__ import annotations

from html import escape

from ..turns import Course, Turn
from .comparing import Comparison, Row

WIDTH, BAND = 960, 18
_SHORTEST = 3
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #667; --paper: #fff; --line: #d8dce2;
  --user: #3b6fb6; --assistant: #2f8f6b; --unheard: #b9c4cc; --changed: #fff3cf; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --dim: #9aa4b0; --paper: #16191d;
  --line: #333941; --user: #7aa7e6; --assistant: #67c29d; --unheard: #4b555f; --changed: #3b3418; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } p, td small { color: var(--dim); }
table { border-collapse: collapse; width: 100%; table-layout: fixed; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
th:first-child, td:first-child { width: 7rem; } th:last-child, td:last-child { width: 7rem; }
tr.changed td:last-child { background: var(--changed); color: var(--ink); }
svg { width: 100%; height: auto; } text { fill: var(--dim); font-size: 11px; }
.user { fill: var(--user); } .assistant { fill: var(--assistant); } .unheard { fill: var(--unheard); }
"""


def page(comparison: Comparison, *, first: str, second: str) -> str:
    """`first` and `second` say what either course is."""
    title = f"{comparison.first.session}: {first} | {second}"
    lasted_ms = max(comparison.first.lasted_ms, comparison.second.lasted_ms, 1)
    lines = [
        _track(name, course, top, lasted_ms)
        for name, course, top in ((first, comparison.first, 0), (second, comparison.second, 3 * BAND))
    ]
    rows = "".join(_row(row) for row in comparison.rows)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f"<h1>{escape(title)}</h1><p>{escape(summary(comparison))}</p>"
        f'<svg viewBox="0 0 {WIDTH} {6 * BAND}" role="img" aria-label="Both courses over time">'
        f"{''.join(lines)}</svg>"
        f"<table><thead><tr><th>turn</th><th>{escape(first)}</th><th>{escape(second)}</th><th>changed</th>"
        f"</tr></thead><tbody>{rows}</tbody></table></html>\n"
    )


def summary(comparison: Comparison) -> str:
    """In a sentence or two."""
    first, second = comparison.first, comparison.second
    told = (
        f"{comparison.count('decision')} turns were decided otherwise, {comparison.count('words')} have other"
        f" words ({comparison.words_changed:.0%} of them), {comparison.count('timing')} came at another time."
        f" Speech was heard to begin {first.starts} and {second.starts} times, answers were cut off"
        f" {first.interrupted} and {second.interrupted} times."
    )
    if comparison.first_wait_ms is None or comparison.second_wait_ms is None:
        return told
    waits = f"{comparison.first_wait_ms:.0f} and {comparison.second_wait_ms:.0f} ms"
    return f"{told} Median wait for an answer: {waits}."


def _track(name: str, course: Course, top: int, lasted_ms: int) -> str:
    bars = [f'<text x="0" y="{top + 12}">{escape(name)}</text>']
    for turn in course.turns:
        begin, heard, end = _times(turn)
        y = top + BAND if turn.who == "user" else top + 2 * BAND - 3
        title = f"<title>{escape(turn.words)}</title>"
        for kind, start, until in ((turn.who, begin, heard), ("unheard", heard, end)):
            if until > start:
                x = start * WIDTH / lasted_ms
                width = max((until - start) * WIDTH / lasted_ms, _SHORTEST)
                place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAND - 5}"'
                bars.append(f'<rect class="{kind}" {place} rx="2">{title}</rect>')
    return "".join(bars)


def _times(turn: Turn) -> tuple[int, int, int]:
    """When it began to sound, was last heard, and would have ended; ms of the call."""
    if turn.who == "user":
        lasted_ms = (turn.until_sample - turn.from_sample) // 24
        return turn.at_ms - lasted_ms, turn.at_ms + 1, turn.at_ms + 1
    begin = turn.at_ms + (turn.waited_ms or 0)
    return begin, begin + (turn.heard_ms or 0), begin + turn.audio_ms


def _row(row: Row) -> str:
    turn = row.first or row.second
    assert turn is not None, "a row is of one course at least"
    changed = ' class="changed"' if row.changed else ""
    return (
        f"<tr{changed}><td>{turn.at_ms / 1000:.2f} s<br><small>{turn.who}</small></td>"
        f"<td>{_cell(row.first)}</td><td>{_cell(row.second)}</td><td>{', '.join(row.changed)}</td></tr>"
    )


def _cell(turn: Turn | None) -> str:
    if turn is None:
        return "<small>there is none</small>"
    return f"{escape(turn.words) or '…'}<br><small>{escape(told_of(turn))}</small>"


def told_of(turn: Turn) -> str:
    """All but its words."""
    told = [turn.how]
    if turn.waited_ms is not None:
        told.append(f"after {turn.waited_ms} ms")
    if turn.audio_ms:
        told.append(f"{turn.audio_ms / 1000:.1f} s, heard {(turn.heard_ms or 0) / 1000:.1f} s")
    if turn.outcome not in ("completed", "kept", ""):
        told.append(turn.outcome)
    if turn.reason:
        told.append(turn.reason)
    return ", ".join((*told, *turn.calls))
