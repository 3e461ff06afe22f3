import itertools

from hypothesis import given
from hypothesis import strategies as st

from antiphon.actors.stages.cascade.prompt import SYSTEM, estimate, prompt
from antiphon.actors.stages.contract import Call, Turn

ROOM = 300
texts = st.text("ab cé世", max_size=200)
conversations = st.lists(texts, min_size=1, max_size=30).map(
    lambda said: tuple(Turn(role="assistant" if k % 2 else "user", text=text) for k, text in enumerate(said))
)


def size(turns: tuple[Turn, ...]) -> int:
    return sum(estimate(turn.text) + 5 for turn in turns)


@given(conversations, st.text(max_size=900))
def test_a_prompt_always_fits_and_always_has_the_last_turn(conversation, instructions):
    turns = prompt(conversation, instructions, ROOM)
    assert size(turns) <= ROOM + 10
    assert turns[0].role == "system"
    assert turns[-1].role == conversation[-1].role
    assert conversation[-1].text.endswith(turns[-1].text)


@given(conversations)
def test_what_is_kept_is_the_end_of_the_conversation(conversation):
    kept = prompt(conversation, "", ROOM)[1:]
    assert tuple(kept[:-1]) == conversation[len(conversation) - len(kept) : -1]


def test_turns_are_dropped_rarely_and_many_at_once():
    conversation, firsts = (), []
    for k in range(60):
        conversation += (
            Turn(role="user" if k % 2 == 0 else "assistant", text=f"This is sentence number {k}."),
        )
        firsts.append(prompt(conversation, "", ROOM)[1])
    changes = sum(a != b for a, b in itertools.pairwise(firsts))
    assert 0 < changes <= 8


def test_an_output_is_never_left_without_its_call_and_what_is_beside_the_text_counts():
    call = Call("c", "look", "x" * 300)
    turns = [Turn(role="user", text="a" * 300) for _ in range(4)]
    turns += [Turn(role="assistant", calls=(call,)), Turn(role="tool", text="b" * 900, call_id="c")]
    _, called, returned = prompt(turns, "", ROOM)
    assert (called.calls, returned.role, returned.call_id) == ((call,), "tool", "c")
    assert 0 < len(returned.text) < 600, "the call has taken its room"
    shown = Turn(role="user", text="a" * 600, images=(b"image",))
    assert prompt([shown], "", ROOM)[-1].images == (b"image",)


def test_instructions_follow_the_assistants_own_line():
    system, last = prompt((Turn(role="user", text="Hi"),), "Speak like a pirate.", ROOM)
    assert system.text == f"{SYSTEM}\nSpeak like a pirate."
    assert last.text == "Hi"


def test_there_may_be_nothing_but_instructions():
    assert prompt((), "Greet the user.", ROOM) == (Turn(role="system", text=f"{SYSTEM}\nGreet the user."),)
