"""Small conversations in which everything happens that can: between them, every event of the vocabulary.

Acted out against the real core (tests/actors/session/given.py), so that each event stands where it belongs.
"""

from __future__ import annotations

from typing import Any

from antiphon.actors.modes.joyvl.commands import SetPersona
from antiphon.actors.modes.personaplex import commands as of_moshi
from antiphon.actors.modes.video.commands import Finish, Show
from antiphon.actors.session import commands as c
from antiphon.events.ids import ItemId, Operation, Seq, SessionId
from antiphon.events.vocabulary import (
    Config,
    Item,
    ItemAdded,
    Part,
    Terms,
    TurnDetection,
    VideoOptions,
    WatchOptions,
)
from tests.actors.modes.calls import PhoneCall, asked
from tests.actors.modes.moshi import MoshiCall
from tests.actors.modes.streams import Watched
from tests.actors.modes.watchers import Watcher
from tests.actors.session.duplex import JPEG, Asked, InUnits
from tests.actors.session.given import SILENCE, Talk, pcm


def utterances() -> Talk:
    """Spoken turns with a cascade: barge-in, truncation, failures, a stage that is lost."""
    talk = Talk(session="utterances")
    talk.do(c.RecordStage(stage="model", what="opened", engine="cascade"))
    talk.do(c.RecordStage(stage="voice", what="opened", engine="silero"))
    talk.do(c.Configure(instructions="Be brief.", turn_detection=None))
    talk.do(c.Configure(turn_detection=TurnDetection()))
    talk.utterance("what is the time")
    talk.do(c.RecordRoute(route="intent:time", **_next(talk)))
    talk.say("It is noon, ", 400)
    talk.do(c.RecordMeasure(name="first_token_ms", value_ms=40, **_next(talk)))
    talk.say("or nearly so.", 600)
    talk.send(700)
    talk.hear(300)  # the user breaks in
    talk.do(_late(talk, Operation(talk.stored[-1].seq - 3)))
    talk.hear(800, SILENCE)
    talk.understand("stop")
    talk.do(c.RecordStage(stage="model", what="away", message="killed"))
    talk.do(c.RecordStage(stage="model", what="returned"))
    talk.say("Very well.", 500)
    talk.finish("length")
    talk.send(500)
    talk.wait(600)
    _edit(talk)
    talk.do(c.CreateResponse(instructions="Sing.", metadata={"why": "test"}, in_history=False))
    talk.do(c.RecordFailure(code="engine_error", message="out of breath", **_next(talk)))
    talk.do(c.RecordStage(stage="voice", what="refused", code="busy", message="no more"))
    talk.do(c.RecordStage(stage="voice", what="released"))
    talk.lose("model")
    return talk


def _edit(talk: Talk) -> None:
    """What a client may do to the conversation."""
    talk.do(c.AcknowledgePlayback(response=talk.state.played[0].response, heard_ms=300))
    talk.do(c.TruncateItem(item=talk.state.played[0].item, audio_end_ms=200))
    item = Item(id=ItemId(""), role="user", content=(Part(kind="input_text", text="Hello there"),))
    talk.do(c.AddItem(item=item))
    talk.do(c.RemoveItem(item=talk.all(ItemAdded)[-1].item.id))
    talk.refuses(c.RemoveItem(item=ItemId("nobody"), client_event="mine"))
    talk.do(c.AppendAudio(pcm=pcm(120)))
    talk.do(c.ClearInput())


def continuously() -> Talk:
    """A model that hears all the time and speaks when it wants; the client closes."""
    talk = Talk(session="continuously", hears="continuously", detection=None, detects_voice=False)
    talk.do(c.RecordStage(stage="model", what="opened", engine="echo"))
    talk.do(c.AppendAudio(pcm=pcm(80)))
    heard = Operation(talk.stored[-1].seq)
    talk.do(c.RecordConsumed(last=True, operation=heard, index=0, epoch=0))
    talk.do(c.AppendAudio(pcm=pcm(80)))
    talk.do(
        c.RecordSpeech(
            text="hm", pcm=pcm(80), last=True, operation=Operation(talk.stored[-1].seq), index=0, epoch=0
        )
    )
    talk.send(80)
    talk.do(c.AppendAudio(pcm=pcm(200)))
    talk.do(c.CommitInput())
    talk.do(c.RecordFinish(why="done", last=True, operation=Operation(talk.stored[-1].seq), index=0, epoch=0))
    talk.do(c.Detach(attachment=1, reason="closed", code=1000))
    return talk


def outside() -> Talk:
    """Answers come from outside and must not be repeated; a writer dies in the middle of one."""
    talk = Talk(session="outside", must_not_repeat=True, modalities=("text",))
    talk.do(c.CreateResponse())
    talk.say("Let me ")
    talk.open_writer()
    talk.do(c.CloseSession(reason="shutdown"))
    return talk


def in_units() -> Talk:
    """A duplex model that hears in units: it listens, speaks, calls a function, ends its turn, is cut off."""
    talk = InUnits(confirms_config=True)
    talk.talk_for(1_200, images=(JPEG,))
    talk.model_listens()
    talk.do(c.Configure(instructions="Be brief."))
    talk.do(c.RecordStage(stage="model", what="configured", generation=1))
    talk.talk_for(1_000)
    talk.model_says("Let me see. ", 600, last=False)
    talk.do(c.RecordCall(call_id="call_1", name="look", arguments="{}", **talk.word(last=False)))
    talk.model_ends_its_turn()
    talk.unit_ends()
    talk.send(600)
    talk.do(c.ClearOutput())
    talk.do(c.SignalTurn(event="user_started"), c.AcknowledgeEvents(attachment=1, through=1))
    talk.talk_for(1_000)
    talk.unit_fails()
    talk.do(c.CloseSession(reason="client"))
    return talk


def overlapping() -> Talk:
    """A duplex session whose model is asked: short words over an answer, and a question that waits."""
    talk = Asked().speaking()
    talk.talk_for(300)
    talk.commit()
    talk.talk_for(1_400)
    talk.commit()
    talk.finish()
    talk.do(c.CloseSession(reason="client"))
    return talk


def coming_back() -> Talk:
    """A client is lost and comes back, is replaced, keeps its session, is parked with it, and stays away."""
    terms = Terms(disconnect_grace_s=30, idle_ttl_s=60)
    talk = Talk(session="coming_back", terms=terms, token=b"1", detection=None, config=Config(strict=True))
    talk.asks(1, c.AppendText(text="Are you there?", client_event="evt_1"))
    talk.do(c.CreateResponse())
    talk.say("I am, ", 400)
    talk.send(200)
    talk.do(c.Detach(attachment=1, reason="lost", code=1006))
    talk.say("and I go on.", 600)
    talk.do(c.Resume(dialect="duplex", presented=b"1", token=b"2", after=70))
    talk.asks(2, c.ConfirmClient(attachment=2), c.AppendText(text="Good.", client_event="evt_1"))
    talk.do(c.Resume(dialect="realtime", presented=b"2", token=b"3"))
    talk.finish()
    talk.wait(30_000)
    talk.asks(3, c.KeepAlive(attachment=3))
    talk.do(c.Park(reason="shutdown"))
    talk.open_writer()
    talk.wait(40_000)
    return talk


def phone() -> Talk:
    """A half-duplex call: prepared twice, echo, an answer that fails, a stop in mid-sentence."""
    call = PhoneCall(session="phone")
    call.says_something("what is the time")
    call.say("It is noon.", 600)
    call.windows(*[0.9] * 15)
    call.finish()
    call.plays_out()
    call.do(asked(instructions="Be brief."))
    call.windows(*[0.9] * 5)
    call.now_ms += 500
    call.windows(0.9, 0.9, *[0.1] * 25)
    call.windows(*[0.9] * 10, *[0.1] * 25, *[0.9] * 10, *[0.1] * 25, *[0.9] * 5)
    call.understand("one")
    call.do(c.RecordFailure(code="engine_error", message="out of breath", **_next(call)))
    call.understand("two")
    call.say("Two.", 300)
    call.finish()
    call.plays_out()
    call.windows(*[0.9] * 20)
    call.do(c.CloseSession(reason="client"))
    return call


def moshi() -> Talk:
    """A call over the Moshi wire: a damaged stream, a client that is late, gone, back, and done."""
    terms = Terms(disconnect_grace_s=30)
    call = MoshiCall(session="moshi", token=b"token", terms=terms)
    call.sends(200)
    call.answers("Good")
    call.do(of_moshi.ReportUndecodable(size=120, message="garbage"))
    call.answers(" morning")
    call.sends(60)
    call.passes(400)
    call.do(c.Detach(attachment=1, reason="lost", code=1006))
    call.passes(300)
    call.do(c.Resume(dialect="personaplex", presented=b"token", token=b"next", live=True))
    call.do(c.RecordStage(stage="model", what="away", message="killed"))
    call.sends(80)
    call.do(c.RecordStage(stage="model", what="returned"))
    call.do(c.RecordStage(stage="model", what="opened", engine="another"))
    call.sends(2_500)
    call.sends(50)
    call.do(of_moshi.Finish())
    while call.state.units.flight is not None:
        call.answers(" to you")
    return call


def stream() -> Talk:
    """A live video: images that are kept, that show nothing new and that are none; questions about them."""
    talk = Watched(session="stream", options=VideoOptions(max_frames=2, num_frames=2))
    for n, alike in enumerate((None, 0.5, 0.99, 0.8)):
        talk.show(f"f{n}", alike=alike, pts_ms=40 * n)
    talk.do(Show(image=None, size=3))
    talk.hear(640)
    talk.ask("What is it?")
    talk.say("It is ")
    talk.ask("And now?")
    talk.say("The same.")
    talk.do(Finish())
    talk.finish()
    return talk


def watcher() -> Talk:
    """A watcher: silence, answers, delegations; chunks that are summed up, at last; a tick that fails."""
    options = WatchOptions(chunk_frames=2, long_every=1, delegation="chat")
    talk = Watcher(options, session="watcher")
    talk.do(SetPersona(persona="talkative"))
    talk.show()
    for n in range(2):
        talk.sees(f"</response> wait </delegation> how many {n}?", "How many?")
    talk.says("Three.", talk.own.delegated[0].operation)
    talk.fails(talk.own.delegated[1].operation)
    assert talk.own.summing is not None
    talk.fails(talk.own.summing.operation)
    talk.wait(5_000)
    talk.sums_up("A cat came.")
    talk.sums_up("A cat was there.")
    talk.show()
    talk.fails(talk.present.operation)
    talk.sees("</response> Three.")
    talk.do(c.CloseSession(reason="reset"))
    return talk


def forked() -> Talk:
    """A copy of another session, in the middle of an answer: somebody comes and goes on with it."""
    talk = Talk(session="forked", token=b"\1" * 32, terms=Terms(disconnect_grace_s=30))
    talk.utterance("what is the time")
    talk.say("It is", 400)
    talk.do(c.Fork(session=SessionId("original"), incarnation=0, source_seq=Seq(70)))
    talk.boot = "another boot"
    talk.open_writer()
    talk.do(c.Resume(dialect="realtime", presented=b"\1" * 32, token=b"\2" * 32))
    talk.do(c.RecordStage(stage="model", what="opened", engine="another"))
    talk.say(" noon.", 400)
    talk.finish()
    talk.do(c.CloseSession(reason="client"))
    return talk


SCENES = (
    utterances,
    continuously,
    outside,
    in_units,
    overlapping,
    coming_back,
    phone,
    stream,
    watcher,
    moshi,
    forked,
)


def _next(talk: Talk) -> dict[str, Any]:
    """The place of the next word of the answer under way."""
    active = talk.active
    return {
        "operation": active.operation,
        "index": active.next_index,
        "epoch": talk.state.fence.epoch,
        "last": False,
    }


def _late(talk: Talk, operation: Operation) -> c.RecordSpeech:
    """Of an answer that was cut off: its epoch is over."""
    return c.RecordSpeech(text="late", pcm=b"", last=False, operation=operation, index=9, epoch=0)
