"""Given what happens in a continuous call, then these frames, on both of its wires."""

from __future__ import annotations

import os
from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.actors.session import commands as c
from antiphon.events.envelope import Stored
from antiphon.events.vocabulary import Terms
from antiphon.projections.base import Projection
from antiphon.projections.dialects import DIALECTS
from antiphon.projections.personaplex import frames as f
from tests.actors.modes.moshi import MoshiCall
from tests.actors.modes.test_any_moshi_call import ACTS
from tests.actors.session.test_any_conversation import TERMS, Conversation

EXAMPLES = 1_000 if os.environ.get("CI") else 100
MOSHI, RAW = DIALECTS["personaplex"], DIALECTS["audio_duplex"]


def shown(log: Sequence[Stored], projection: Projection = MOSHI, attachment: int = 1) -> list[f.Frame]:
    view, frames = projection.begin(attachment), []
    for stored in log:
        view, more = projection.step(view, stored)
        frames += more
    return frames


def wire(log: Sequence[Stored], projection: Projection = MOSHI) -> list[bytes]:
    return [projection.encode(frame) for frame in shown(log, projection)]


def call_of_two_units() -> MoshiCall:
    call = MoshiCall()
    call.sends(160)
    call.answers("Hé")
    call.answers("")
    return call


def test_the_first_byte_is_that_of_the_handshake_and_then_each_frame_has_its_tag() -> None:
    assert wire(call_of_two_units().stored) == [b"\x00", b"\x02H\xc3\xa9", b"\x01", b"\x01"]


def test_the_other_wire_says_the_same_in_json_and_ends_in_words() -> None:
    call = call_of_two_units()
    call.do(c.CloseSession(reason="client"))
    assert wire(call.stored, RAW) == [
        b'{"type":"ready"}', '{"type":"text","text":"Hé"}'.encode(), b"", b"", b'{"type":"done"}',
    ]  # fmt: skip
    assert b"done" not in b"".join(wire(call.stored))


def test_nothing_is_said_before_the_model_is_ready() -> None:
    call = MoshiCall()
    before = next(n for n, one in enumerate(call.stored) if type(one.event).__name__ == "StageOpened")
    assert shown(call.stored[:before]) == []
    assert shown(call.stored) == [f.Ready()]


def test_a_client_that_may_come_back_is_told_of_which_session_and_greeted_again() -> None:
    call = MoshiCall(token=b"token", terms=Terms(disconnect_grace_s=30))
    assert shown(call.stored) == [f.Ready(), f.Metadata("sess_1")]
    assert wire(call.stored)[1] == b'\x04{"session_id":"sess_1","resume_token":""}'
    call.do(c.Detach(attachment=1, reason="lost"))
    came = len(call.stored)
    call.do(c.Resume(dialect="personaplex", presented=b"token", token=b"next", live=True))
    second = shown(call.stored, attachment=2)
    assert second == [f.Ready(), f.Ready(), f.Metadata("sess_1")]
    assert len(shown(call.stored[:came], attachment=2)) == 1, "what it had missed is of its past"


def test_who_comes_back_while_the_model_is_prepared_anew_is_greeted_when_it_is() -> None:
    call = MoshiCall(token=b"token")
    call.open_writer()
    call.do(c.Resume(dialect="personaplex", presented=b"token", token=b"next", live=True))
    before = len(shown(call.stored, attachment=2))
    call.do(c.RecordStage(stage="model", what="opened", engine="e"))
    assert len(shown(call.stored, attachment=2)) == before + 2


def test_a_model_that_comes_back_does_not_shake_hands_again() -> None:
    call = call_of_two_units()
    call.do(c.RecordStage(stage="model", what="away", message="killed"))
    call.do(c.RecordStage(stage="model", what="returned"))
    call.do(c.RecordStage(stage="model", what="opened", engine="e2"))
    assert shown(call.stored).count(f.Ready()) == 1


def test_long_sound_is_cut_into_frames() -> None:
    call = MoshiCall()
    call.sends(80)
    flight = call.state.units.flight
    assert flight is not None
    word = {"operation": flight.operation, "index": 0, "epoch": 0, "last": True}
    call.do(c.RecordSpeech(text="", pcm=bytes(2 * 24 * 200), **word))
    assert shown(call.stored).count(f.Audio()) == 3, "80, 80 and 40 ms"


def test_what_goes_wrong_is_told() -> None:
    call = call_of_two_units()
    call.lose("model")
    lost, gone = shown(call.stored)[-2:]
    assert isinstance(lost, f.Error)
    assert isinstance(gone, f.Error)
    assert (lost.code, gone.code) == ("stage_lost", "stage_lost")
    assert MOSHI.encode(gone).startswith(b"\x05stage_lost: ")
    assert b'"code":"stage_lost"' in RAW.encode(gone)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 9)), min_size=20, max_size=60))
def test_whatever_happens_both_wires_tell_the_same_in_order(acts: Conversation) -> None:
    call = MoshiCall(terms=TERMS, token=b"token")
    for act, n in acts:
        act(call, n)
    frames = shown(call.stored)
    assert frames[0] == f.Ready()
    assert frames.count(f.Ready()) == 1
    told = shown(call.stored, RAW)
    assert [one for one in told if not isinstance(one, f.Done)] == frames
    assert f.Done() not in told[:-1]
    for frame in told:
        assert RAW.encode(frame) or isinstance(frame, f.Audio)
