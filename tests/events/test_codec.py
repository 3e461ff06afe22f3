"""Events survive the way to bytes and back, whoever wrote them."""

from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NewType, Union, get_args, get_origin

import msgspec
import pytest
from msgspec import Struct

from antiphon.events.codec import Decoder, decode, encode
from antiphon.events.envelope import Draft, Unknown
from antiphon.events.ids import Seq
from antiphon.events.units import Moment
from antiphon.events.upcast import UPCASTS, upcast
from antiphon.events.vocabulary import EVENT_TYPES, Event

AT = Moment(1, 2)


def example(type_: Any) -> Any:
    """Some value of a field's type, never its default."""
    if isinstance(type_, NewType):
        return example(type_.__supertype__)
    if isinstance(type_, type) and issubclass(type_, Struct):
        return type_(**{field.name: example(field.type) for field in msgspec.structs.fields(type_)})
    inner = get_args(type_)
    if get_origin(type_) in (Union, UnionType):
        return example(next(choice for choice in inner if choice is not NoneType))
    if get_origin(type_) is Literal:
        return inner[-1]
    if get_origin(type_) is tuple:
        return (example(inner[0]),) * 2
    if get_origin(type_) is dict:
        return {example(inner[0]): example(inner[1])}
    return {int: 2**40, str: "größer\0", bytes: b"\0\xff", float: 0.1, bool: True, Any: [None, {"a": 1}]}[
        type_
    ]


@pytest.mark.parametrize("type_", EVENT_TYPES)
def test_every_event_reads_back_as_it_was(type_: type[Event]) -> None:
    event = example(type_)
    stored, ref = encode(Draft(event, AT, blob=b"pcm", cause=Seq(3)), 40)
    back = decode(stored, seq=5, at=AT, critical=not event.ancillary)
    assert (back.event, back.blob, back.cause, back.seq, back.at) == (event, ref, 3, 5, AT)


def test_the_body_is_a_map_without_the_type() -> None:
    class Said(Event, frozen=True, kw_only=True):
        words: str

    stored, _ = encode(Draft(Said(words="so"), AT), 0)
    assert msgspec.msgpack.decode(stored) == ["Said", 1, None, None, {"words": "so"}]


def test_an_unknown_event_is_written_again_byte_for_byte() -> None:
    stored = msgspec.msgpack.encode(["Whispered", 3, 7, None, {"words": [1, 2.5, None]}])
    read = decode(memoryview(stored), seq=0, at=AT, critical=True)
    assert isinstance(read.event, Unknown)
    again, _ = encode(Draft(read.event, AT, cause=read.cause), 0)
    assert again == stored


def test_a_newer_version_of_a_known_event_is_unknown() -> None:
    stored = msgspec.msgpack.encode(["ModelListened", 2, None, None, {"operation": "a string by now"}])
    event = decode(stored, seq=0, at=AT, critical=True).event
    assert isinstance(event, Unknown)
    assert (event.type, event.event_version) == ("ModelListened", 2)


def test_fields_that_came_later_have_their_defaults_and_those_not_known_are_skipped() -> None:
    body = {
        "session": "s",
        "incarnation": 0,
        "mode": "duplex",
        "abilities": {"stage": "echo", "hears": "utterances"},
    }
    stored = msgspec.msgpack.encode(["SessionOpened", 1, None, None, {**body, "config": {}, "later": 1}])
    event = decode(stored, seq=0, at=AT, critical=True).event
    assert getattr(event, "principal", "?") is None


class Poured(Event, frozen=True, kw_only=True):
    """Version 1 counted cups, version 2 gills; today it is ml."""

    version: ClassVar[int] = 3
    ml: int


POURED = {
    ("Poured", 1): lambda body: {"gills": body["cups"] * 2},
    ("Poured", 2): lambda body: {"ml": body["gills"] * 142},
}


@pytest.mark.parametrize(
    ("version", "body"), [(1, {"cups": 1}), (2, {"gills": 2}), (3, {"ml": 284})], ids=["1", "2", "today"]
)
def test_old_versions_are_brought_up_step_by_step(version: int, body: dict[str, int]) -> None:
    stored = msgspec.msgpack.encode(["Poured", version, None, None, body])
    decoder = Decoder(types=[Poured], upcasts=POURED)
    assert decoder.decode(stored, seq=0, at=AT, critical=True).event == Poured(ml=284)


def test_a_version_without_its_step_is_unknown_and_not_guessed_at() -> None:
    stored = msgspec.msgpack.encode(["Poured", 1, None, None, {"cups": 1}])
    only_the_second = {key: step for key, step in POURED.items() if key[1] == 2}
    decoder = Decoder(types=[Poured], upcasts=only_the_second)
    assert isinstance(decoder.decode(stored, seq=0, at=AT, critical=True).event, Unknown)
    with pytest.raises(KeyError):
        upcast("Poured", 1, {"cups": 1}, to=3, steps=only_the_second)


def test_every_version_before_todays_has_a_step() -> None:
    needed = {(type_.__name__, version) for type_ in EVENT_TYPES for version in range(1, type_.version)}
    assert set(UPCASTS) == needed
