"""What the user heard of a response, computed from its cursors. A view; playback.py holds the rules.

Truncation wins over acknowledgements, acknowledgements over the estimate. While a response is still playing
and nobody has said anything, it is heard as far as its audio was sent and has had time to play. Of a client
that promised to acknowledge (`ack_only`) nothing is assumed; what is done counts as heard whole
(`commit_all_on_done`) unless the client said that it has heard a part.
"""

from __future__ import annotations

from collections.abc import Iterator

from antiphon.events.units import ms_to_samples, samples_to_ms

from .state import Mark, Played

LAG_MS = 2_000
"""How much later than its due a client may play what it was sent."""


def heard_ms(played: Played, mono_ns: int) -> int:
    """How much of the response counts as heard at `mono_ns`, in ms on its own clock."""
    generated = samples_to_ms(played.generated)
    if played.cap_ms is not None:
        return min(played.cap_ms, generated)
    if _counts_whole(played):
        return generated
    if played.acknowledged_ms is not None:
        return min(played.acknowledged_ms, generated)
    if played.policy != "estimate":
        return 0
    if played.estimated_ms is not None:
        return min(played.estimated_ms, generated)
    return min(playing_ms(played, mono_ns), generated)


def _counts_whole(played: Played) -> bool:
    if played.policy != "commit_all_on_done" or not played.whole:
        return False
    return not 0 < (played.acknowledged_ms or 0) < samples_to_ms(played.generated)


def playing_ms(played: Played, mono_ns: int) -> int:
    """The smaller of what was sent and the time since its first audio."""
    if played.first_mono_ns is None:
        return 0
    elapsed = max(mono_ns - played.first_mono_ns, 0) // 1_000_000
    return min(samples_to_ms(played.sent), elapsed)


def is_playing(played: Played) -> bool:
    """Whether the user may still be hearing it, as far as anybody has said."""
    if _counts_whole(played):
        return False
    told = max(played.acknowledged_ms or 0, played.estimated_ms or 0)
    return told < samples_to_ms(played.generated) and played.cap_ms is None and not played.interrupted


def may_be_heard(played: Played, mono_ns: int) -> bool:
    """Whether the user may hear it now: it plays, and was not sent so long ago that all of it has played."""
    if not is_playing(played):
        return False
    if played.first_mono_ns is None or played.sent < played.generated or not played.ended:
        return True
    played_out = played.first_mono_ns + (samples_to_ms(played.generated) + LAG_MS) * 1_000_000
    return mono_ns < played_out


def heard_text(played: Played, mono_ns: int) -> str:
    """The text whose audio began before the position heard at `mono_ns`, cut at a word.

    Inside a marked piece the position is interpolated over its characters: engines give no finer times. Of
    clients that acknowledge it is taken to the very character (`_prefix`). What has no audio counts when it
    ends: a text-only answer as far as it was shown, a spoken one only if nobody broke in before its audio.
    """
    if not played.marks:
        return ""
    if not played.audible:
        return full_text(played) if played.ended else ""
    if played.generated == 0:
        whole = played.ended and played.cap_ms is None and not played.interrupted
        return full_text(played) if whole else ""
    limit = ms_to_samples(heard_ms(played, mono_ns))
    if limit >= ms_to_samples(samples_to_ms(played.generated)):
        return full_text(played)
    if played.policy != "estimate":
        return _prefix(played, limit)
    heard: list[str] = []
    for mark, end in _spans(played):
        if limit >= end:
            heard.append(mark.text)
            continue
        if limit > mark.from_sample:
            heard.append(_words_before(mark.text, (limit - mark.from_sample) / (end - mark.from_sample)))
        break
    return "".join(heard).rstrip()


def _prefix(played: Played, limit: int) -> str:
    """The characters up to `limit`, each piece of text spread evenly over its audio."""
    kept = waiting = 0
    for mark, end in _spans(played):
        waiting += len(mark.text)
        if end == mark.from_sample:
            continue  # its audio is that of the text which follows
        if limit < end:
            kept += max(waiting * (limit - mark.from_sample) // (end - mark.from_sample), 0)
            break
        kept, waiting = kept + waiting, 0
    return full_text(played)[:kept].rstrip()


def full_text(played: Played) -> str:
    return "".join(mark.text for mark in played.marks)


def _spans(played: Played) -> Iterator[tuple[Mark, int]]:
    """Each mark with the sample at which its audio ends."""
    ends = [mark.from_sample for mark in played.marks[1:]] + [played.generated]
    return zip(played.marks, ends, strict=True)


def _words_before(text: str, share: float) -> str:
    """The words of `text` that begin before `share` of its length."""
    limit = share * len(text)
    kept, position = 0, 0
    for word in text.split(" "):
        if position >= limit:
            break
        kept = position + len(word)
        position += len(word) + 1
    return text[:kept]
