"""What is answered without the language model, because the model is too small to get it right.

greeting, goodbye   a polite sentence
name                "my name is …" is acknowledged; "what is my name" is answered from the conversation itself
time                the time of day, or the date
help                what this assistant can do, and that it may be wrong
unheard             nothing was understood

Only a whole utterance counts: "hello" is a greeting, "hello, how far is the moon" a question for the model.
Every use is announced as `intent:<name>`, so nobody takes a fixed sentence for the model's.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from antiphon.actors.stages.contract import Turn


class Intent(Struct, frozen=True):
    """An answer that is ready, and the name of the rule that gave it."""

    name: str
    reply: str


UNHEARD = Intent("unheard", "Sorry, I did not catch that. Could you say it again?")

_POLITE = r"(?:please |okay |ok |so |well |um |uh )*"
_YOU = r"(?: there| antiphon| assistant| everyone| again)?"
_GREETING = rf"(?:(?:hello|hi|hey|good (?:morning|afternoon|evening)){_YOU} ?)+"
_HOW = r"(?:how are you(?: doing)?(?: today)?|how do you do|how is it going|how's it going)"
_BYE = r"(?:(?:good ?bye|bye(?:[- ]bye)?|see you(?: later| soon| tomorrow)?|good night|talk to you later) ?)+"
_HELP = (
    r"(?:what can you do(?: for me)?|what do you do|how can you help(?: me)?|what are you|who are you|help"
    r"|can you help me|what can i (?:ask|say)(?: you)?)"
)
_CLOCK = (
    r"(?:what time is it|what's the time|what is the time|tell me the time|do you know what time it is"
    r"|can you tell me (?:the time|what time it is)|do you have the time)(?: now| right now)?"
)
_DATE = (
    r"(?:what day is it|what day is today|what's the date|what is the date|what's today's date"
    r"|what is today's date|what date is it)(?: today)?"
)
_ASKS_NAME = (
    r"(?:what's my name|what is my name|who am i|do you (?:know|remember) my name|what was my name"
    r"|can you (?:tell me|remember) my name)(?: again)?"
)
_TELLS_NAME = re.compile(rf"{_POLITE}(?:{_GREETING})?my name(?: is|'s) ([\w'’-]+)(?: [\w'’-]+)?")
_MENTIONS_NAME = re.compile(r"\bmy name(?: is|'s) ([\w'’-]+)", re.IGNORECASE)
_NO_NAMES = frozenset(
    ["not", "what", "a", "an", "the", "on", "in", "of", "also", "still", "never", "mr", "ms", "dr"]
)


def answer(conversation: Sequence[Turn], now: datetime) -> Intent | None:
    """The intent that the last turn is, if it is one; None for the model. `now` is the user's local time."""
    if not conversation or conversation[-1].role != "user":
        return None
    heard = _normal(conversation[-1].text)
    if not heard:
        return None if conversation[-1].images or conversation[-1].pieces else UNHEARD
    for pattern, reply in _REPLIES:
        if pattern.fullmatch(heard) and (intent := reply(conversation, now)):
            return intent
    return None


def _normal(text: str) -> str:
    """Lower case without punctuation, except inside words: what the patterns are written for."""
    words = re.findall(r"[\w'’-]+", text.lower())
    return " ".join(words).replace("’", "'").strip(" '-")


def _greet(conversation: Sequence[Turn], now: datetime) -> Intent:
    name = _name_told(conversation)
    return Intent("greeting", f"Hello{', ' + name if name else ''}! What can I do for you?")


def _say_how(conversation: Sequence[Turn], now: datetime) -> Intent:
    return Intent("greeting", "Hello! I am fine, thank you. What can I do for you?")


def _part(conversation: Sequence[Turn], now: datetime) -> Intent:
    return Intent("goodbye", "Goodbye! It was nice talking with you.")


def _explain(conversation: Sequence[Turn], now: datetime) -> Intent:
    return Intent(
        "help",
        "I am a small voice assistant. I can chat with you, tell you the time, and remember your name while "
        "we talk. My language model is tiny, so please check what I tell you.",
    )


def _tell_time(conversation: Sequence[Turn], now: datetime) -> Intent:
    minutes = f":{now.minute:02}" if now.minute else ""
    return Intent("time", f"It is {now.hour % 12 or 12}{minutes} {'AM' if now.hour < 12 else 'PM'}.")


def _tell_date(conversation: Sequence[Turn], now: datetime) -> Intent:
    return Intent("time", f"Today is {now:%A}, {now:%B} {now.day}, {now.year}.")


def _acknowledge_name(conversation: Sequence[Turn], now: datetime) -> Intent | None:
    name = _name_told(conversation[-1:])
    return Intent("name", f"Nice to meet you, {name}.") if name else None


def _recall_name(conversation: Sequence[Turn], now: datetime) -> Intent:
    name = _name_told(conversation)
    return Intent("name", f"Your name is {name}." if name else "You have not told me your name yet.")


def _name_told(conversation: Sequence[Turn]) -> str:
    """The name that the user gave last, or nothing."""
    told = [
        name
        for turn in conversation
        if turn.role == "user"
        for name in _MENTIONS_NAME.findall(turn.text)
        if name.lower() not in _NO_NAMES
    ]
    return told[-1][:1].upper() + told[-1][1:] if told else ""


_Reply = Callable[[Sequence[Turn], datetime], Intent | None]
_REPLIES: tuple[tuple[re.Pattern[str], _Reply], ...] = (
    (re.compile(_GREETING), _greet),
    (re.compile(rf"(?:{_GREETING})?{_HOW}"), _say_how),
    (_TELLS_NAME, _acknowledge_name),
    (re.compile(_POLITE + _ASKS_NAME), _recall_name),
    (re.compile(_POLITE + _CLOCK), _tell_time),
    (re.compile(_POLITE + _DATE), _tell_date),
    (re.compile(_POLITE + _HELP), _explain),
    (re.compile(_POLITE + _BYE), _part),
)
