"""Images: JPEG or PNG, as base64 beside audio and as data URLs in items. None is fetched from anywhere."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from antiphon.actors.session.commands import Image
from antiphon.media.images import BadImage, examine
from antiphon.projections.duplex.capabilities import LARGEST_VIDEO_FRAME, MOST_VIDEO_FRAMES
from antiphon.web.realtime.undecodable import Undecodable


def video_frames(given: Any, slices: Any, client_event: str | None) -> tuple[Image, ...]:
    """The images of an append, oldest first. Raises Undecodable."""
    if slices not in (None, 1) or isinstance(slices, bool):
        raise _bad("max_slice_nums is 1", "max_slice_nums", client_event)
    if given is None:
        return ()
    if not isinstance(given, list):
        raise _bad("video_frames is a list", "video_frames", client_event)
    frames = [one for one in given if one is not None]
    if len(frames) > MOST_VIDEO_FRAMES:
        raise _bad(f"at most {MOST_VIDEO_FRAMES} video frames", "video_frames", client_event)
    return tuple(_frame(one, client_event) for one in frames)


def _frame(given: Any, client_event: str | None) -> Image:
    if not isinstance(given, str) or len(given) > LARGEST_VIDEO_FRAME:
        message = f"a video frame is base64 of at most {LARGEST_VIDEO_FRAME} characters"
        raise _bad(message, "video_frames", client_event)
    try:
        return _image(given)
    except ValueError as bad:
        raise _bad(f"a video frame is a JPEG or a PNG: {bad}", "video_frames", client_event) from bad


def image_url(given: Any, client_event: str | None) -> Image:
    """The image of an item's input_image part. Raises Undecodable."""
    url = given.get("url") if isinstance(given, dict) else given
    head, comma, encoded = url.partition(",") if isinstance(url, str) else ("", "", "")
    try:
        if not comma or not head.startswith("data:image/") or not head.endswith(";base64"):
            raise BadImage("its URL is not data:image/…;base64,…")
        if len(encoded) > LARGEST_VIDEO_FRAME:
            raise BadImage(f"it has more than {LARGEST_VIDEO_FRAME} characters")
        return _image(encoded)
    except ValueError as bad:
        message = f"an image cannot be used: {bad}"
        raise Undecodable("invalid_image", message, "item.content", client_event) from bad


def _image(encoded: str) -> Image:
    """Raises ValueError."""
    try:
        contents = base64.b64decode(encoded, validate=True)
    except binascii.Error as bad:
        raise BadImage("it is not base64") from bad
    return Image(examine(contents).media_type, contents)


def _bad(message: str, parameter: str, client_event: str | None) -> Undecodable:
    return Undecodable("invalid_video_frames", message, parameter, client_event)
