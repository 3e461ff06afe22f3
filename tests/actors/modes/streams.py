"""Streams under test: images of a given size, sound, questions."""

from __future__ import annotations

from typing import Any

import msgspec

from antiphon.actors.modes.video.commands import AppendSound, Query, Show
from antiphon.actors.modes.video.stream import Stream
from antiphon.actors.session import commands as c
from antiphon.actors.session.effects import Answer
from antiphon.events.vocabulary import Config, Event, Labels, VideoOptions, VideoQueried
from antiphon.projections.video.projection import VideoProjection
from tests.actors.session.given import Talk, only

JPEG = b"\xff\xd8 not much of one"


class Watched(Talk):
    """A stream whose images are as similar as a test says."""

    def __init__(self, *, options: VideoOptions = VideoOptions(), **members: Any) -> None:
        config = Config(playback="commit_all_on_done", video=options, instructions=members.pop("system", ""))
        members.setdefault("modalities", ("text",))
        members.setdefault("able", {"sees": True})
        super().__init__(
            detection=None, detects_voice=False, transcribes=False, mode="video", config=config, **members
        )

    def show(
        self, frame_id: str | None = None, *, alike: float | None = None, size: int = 0, **labels: Any
    ) -> list[Event]:
        image = c.Image("image/jpeg", JPEG + bytes(size))
        said = Labels(frame_id=frame_id, **labels)
        return self.do(Show(image=image, size=len(image.data), labels=said, similarity=alike))

    def hear(self, sent_bytes: int) -> list[Event]:  # type: ignore[override]  # as it comes, at 16 kHz
        return self.do(AppendSound(pcm=bytes(sent_bytes // 2 * 3), sent_bytes=sent_bytes))

    def ask(self, text: str = "What is it?", **members: Any) -> list[Event]:
        return self.do(Query(text=text, **members))

    def answered(self, text: str, reply: str) -> None:
        self.ask(text)
        self.say(reply)
        self.finish()

    @property
    def own(self) -> Stream:
        assert isinstance(self.state.own, Stream)
        return self.state.own

    @property
    def asked(self) -> Answer:
        """What the stage was asked last."""
        return [effect for effect in self.effects if isinstance(effect, Answer)][-1]

    @property
    def query(self) -> VideoQueried:
        return only(VideoQueried, self.events)[-1]

    @property
    def frames(self) -> list[dict[str, Any]]:
        """What the client is shown."""
        projection = VideoProjection()
        view, shown = projection.begin(1), []
        for stored in self.stored:
            view, frames = projection.step(view, stored)
            shown += frames
        return [msgspec.json.decode(projection.encode(frame)) for frame in shown]

    def kinds(self, since: int = 0) -> list[str]:
        return [frame["type"] for frame in self.frames[since:]]
