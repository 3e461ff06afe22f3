"""What a watcher says, as its model writes it: silence, an answer, or a question for somebody else.

    </silence>                              nothing
    </response> TEXT                        an answer, of one line
    </response> TEXT </delegation> QUESTION     what to say meanwhile, and what is to be found out

The tokens look like closing tags, and none is ever opened. The first of the first two decides; text with
neither is an answer.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SILENCE, RESPONSE, DELEGATION = "</silence>", "</response>", "</delegation>"
OTHER_DELEGATION = "<delegation>"
"""Counts only where the other does not stand."""

Action = Literal["silence", "response", "delegate"]


class Said(Struct, frozen=True):
    """`question` None: nothing is asked, although something is delegated."""

    action: Action
    text: str = ""
    question: str | None = None


def parse(raw: str) -> Said:
    text = raw.replace("\r\n", "\n").strip()
    silence, response = text.find(SILENCE), text.find(RESPONSE)
    if not text or (silence >= 0 and (response < 0 or silence < response)):
        return Said("silence")
    payload = text if response < 0 else text[response + len(RESPONSE) :].strip()
    line = " ".join(payload.split("\n", 1)[0].split())
    token = DELEGATION if DELEGATION in line else OTHER_DELEGATION
    note, found, question = line.partition(token)
    if not found:
        return Said("response", line)
    return Said("delegate", note.strip(), question.strip() or None)


def token_form(said: Said) -> str:
    """How a decision is written to clients."""
    match said.action:
        case "silence":
            return SILENCE
        case "response":
            return f"{RESPONSE} {said.text}"
        case "delegate":
            return f"{RESPONSE} {said.text} {DELEGATION} {said.question or ''}"
