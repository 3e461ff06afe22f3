"""What the models of a watcher are asked.

    who watches         the present chunk, frame by frame with the replies, and before it what is remembered
    who sums up         the frames of a chunk, or several summaries
    who is delegated to the last frames of the present chunk, and the question

What is remembered stands before the chunk's first frame: the long-term memory, once there has been a query,
the summaries, delegations and queries of earlier chunks with their answers, and the query if it is as old.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.actors.session.question import Line, Piece
from antiphon.events.vocabulary import WatchOptions

from .personas import NOTHING_ASKED
from .watch import Asked, Chunk, Delegated, Remembered, Seen, Summary, Watch

DELEGATED_FRAMES = 8


def watching(watch: Watch, max_pixels: int) -> tuple[Line, ...]:
    """The conversation whose last entry is the present tick."""
    present = watch.present
    assert present is not None
    lines: list[Line] = []
    now = Remembered(present.frames, present.query, "")
    for moment in (*watch.moments, now):
        lines.append(Line("user", pieces=tuple(_pieces(moment, max_pixels))))
        if moment is not now:
            lines.append(Line("assistant", moment.reply))
    prefix = _prefix(watch, present.query)
    if prefix:
        first = lines[0]
        lines[0] = Line("user", pieces=(Piece(text=prefix), *first.pieces))
    return tuple(lines)


def _pieces(moment: Remembered, max_pixels: int) -> Iterator[Piece]:
    if moment.query is not None:
        yield Piece(text=moment.query)
    yield from _shown(moment.frames, max_pixels)


def _shown(frames: tuple[Seen, ...], max_pixels: int) -> Iterator[Piece]:
    for frame in frames:
        yield Piece(text=frame.label)
        yield Piece(image=frame.seq, max_pixels=max_pixels)


def _prefix(watch: Watch, new_query: str | None) -> str:
    """ "" where nothing is remembered."""
    parts: list[str] = []
    curious = new_query is not None or watch.query is not None
    history = [*(_block(one) for one in watch.long_term if curious), *map(_block, watch.mid_term)]
    if history:
        parts.append("[Video History]\n" + "\n\n".join(history))
    told = [_exchange(one) for one in watch.asked if one.delegated or one.chunk < watch.chunk]
    if told and curious:
        parts.append("[Q&A History]\n" + "\n".join(told))
    query = watch.query
    if query is not None and new_query is None and query.chunk < watch.chunk:
        parts.append(f"[Current Question]\n{query.query}")
    return "\n\n".join(parts)


def _block(summary: Summary) -> str:
    return f"<{summary.span}>\n{summary.text}"


def _exchange(asked: Asked) -> str:
    told = " ".join(f"<{at_ms / 1000:.1f} seconds> {text}" for at_ms, text in asked.told)
    return f"<{asked.at_ms / 1000:.1f} seconds> Q: {asked.query} A: {told}"


def long_term_text(watch: Watch) -> str:
    """The long-term memory as clients are shown it."""
    return "\n\n".join(_block(one) for one in watch.long_term)


# --- summing up -------------------------------------------------------------------------------------------


def summing_chunk(chunk: Chunk, options: WatchOptions) -> tuple[Line, ...]:
    words = f"Sum up these {len(chunk.frames)} frames."
    return (Line("user", words, pieces=(*_shown(chunk.frames, options.max_pixels), Piece(text=words))),)


def summing_summaries(watch: Watch) -> tuple[Line, ...]:
    return (Line("user", "\n\n".join(map(_block, watch.mid_term))),)


# --- delegating -------------------------------------------------------------------------------------------


def delegating(delegated: Delegated, options: WatchOptions) -> tuple[Line, ...]:
    words = delegated.question
    return (Line("user", words, pieces=(*_shown(delegated.frames, options.max_pixels), Piece(text=words))),)


def latest_frames(watch: Watch) -> tuple[Seen, ...]:
    """Those that a delegation is shown."""
    frames = tuple(frame for moment in watch.moments for frame in moment.frames)
    return frames[-DELEGATED_FRAMES:]


def question_of(question: str | None, note: str) -> str:
    return question or note or NOTHING_ASKED
