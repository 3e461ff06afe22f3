"""What is of streaming video only: images that come many times a second, and questions about them."""

from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from ..ids import ItemId, Seq
from ..units import Samples
from .base import Event


class VideoOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the client of a stream chose when it began.

    Of the `max_frames` latest images `num_frames` are shown with a question. `sampling` holds parameters for
    the model by stage, as they came; None: the stages' own. `filter_threshold`: images at least so similar to
    the last one that was kept are not kept; None: all are.
    """

    num_frames: int = 4
    max_frames: int = 50
    audio_in_video: bool = True
    sampling: tuple[dict[str, Any], ...] | None = None
    filter_threshold: float | None = 0.95


class Labels(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a client says of an image. All but `frame_id` is shown back as it came."""

    frame_id: str | None = None
    pts_ms: Any = None
    source_pts_ms: Any = None
    quality_profile: Any = None
    capture_ts_ms: Any = None


class VideoFrameReceived(Event, frozen=True, kw_only=True):
    """An image of the stream was kept; its blob holds the file, of `size` bytes.

    `evicted` are the images that had to go for it, oldest first. `similarity` to the last one that was kept
    before it, from 0 to 1, where the stream is filtered.
    """

    media_type: Literal["image/jpeg", "image/png"]
    size: int
    labels: Labels = Labels()
    evicted: tuple[Seq, ...] = ()
    similarity: float | None = None


class VideoFrameFiltered(Event, frozen=True, kw_only=True):
    """An image was not kept: it shows what the last one shows that was."""

    ancillary: ClassVar[bool] = True
    similarity: float
    labels: Labels = Labels()


class VideoFrameUnreadable(Event, frozen=True, kw_only=True):
    """An image of an unfiltered stream could not be decoded. Nobody is shown it."""

    ancillary: ClassVar[bool] = True
    size: int
    labels: Labels = Labels()


class VideoQueried(Event, frozen=True, kw_only=True):
    """The client asked about what it shows. An answer begins right behind this.

    The question is `text` (maybe none), the images at `frames`, and what was heard in [from, until).
    `sampling` are the parameters of the model that answers. `streams`: the client is told word by word.
    """

    item: ItemId
    text: str
    frames: tuple[Seq, ...]
    from_sample: Samples
    until_sample: Samples
    sampling: dict[str, Any] = field(default_factory=dict)
    streams: bool = True


class VideoFinished(Event, frozen=True, kw_only=True):
    """The client has nothing more to show or to ask: the session ends with the answer under way."""
