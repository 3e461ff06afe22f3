from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.stages.cascade.intents import answer
from antiphon.actors.stages.contract import Turn

NOW = datetime(2026, 11, 30, 15, 5)


def say(*texts: str):
    """A conversation in which the user said all of `texts` and was answered in between."""
    turns = [Turn(role="user", text=texts[0])]
    for text in texts[1:]:
        turns += [Turn(role="assistant", text="Well."), Turn(role="user", text=text)]
    return answer(turns, NOW)


@pytest.mark.parametrize(
    ("heard", "name"),
    [
        ("Hello.", "greeting"),
        ("Hi there!", "greeting"),
        ("Good morning, how are you?", "greeting"),
        ("My name is Anna.", "name"),
        ("Hello, my name's Tom.", "name"),
        ("What's my name?", "name"),
        ("What time is it?", "time"),
        ("Please tell me the time.", "time"),
        ("What day is it today?", "time"),
        ("What can you do?", "help"),
        ("Who are you?", "help"),
        ("Goodbye.", "goodbye"),
        ("Bye-bye!", "goodbye"),
        ("", "unheard"),
        (" ... ", "unheard"),
    ],
)
def test_small_talk_is_recognised(heard, name):
    intent = say(heard)
    assert intent is not None
    assert intent.name == name


@pytest.mark.parametrize(
    "heard",
    [
        "Hello, how far away is the moon?",
        "What is the capital of France?",
        "My name is not important.",
        "Is it time to go?",
        "Help me write a letter to my aunt.",
        "Say goodbye in French.",
        "What is the name of this song?",
    ],
)
def test_a_question_is_for_the_model_even_if_it_begins_politely(heard):
    assert say(heard) is None


def test_a_name_is_remembered_within_the_conversation():
    assert say("My name is Anna.", "What is my name?").reply == "Your name is Anna."
    assert say("my name is tom", "My name is Anna.", "Who am I?").reply == "Your name is Anna."
    assert say("What is my name?").reply == "You have not told me your name yet."
    assert say("My name is Anna.", "Hello!").reply == "Hello, Anna! What can I do for you?"


def test_the_assistant_does_not_name_the_user():
    turns = [Turn(role="assistant", text="My name is Max."), Turn(role="user", text="What's my name?")]
    assert answer(turns, NOW).reply == "You have not told me your name yet."


@pytest.mark.parametrize(
    ("hour", "minute", "said"),
    [
        (0, 0, "It is 12 AM."),
        (9, 30, "It is 9:30 AM."),
        (12, 5, "It is 12:05 PM."),
        (23, 59, "It is 11:59 PM."),
    ],
)
def test_the_time_is_the_one_given(hour, minute, said):
    now = NOW.replace(hour=hour, minute=minute)
    assert answer([Turn(role="user", text="What time is it?")], now).reply == said


def test_the_date_is_the_one_given():
    assert say("What's the date?").reply == "Today is Monday, November 30, 2026."


@given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_any_words_are_an_intent_or_the_models(texts):
    intent = say(*texts)
    assert intent is None or intent.reply


def test_without_a_users_turn_the_model_answers():
    assert answer([], NOW) is None
    assert answer([Turn(role="assistant", text="Hello.")], NOW) is None
