"""Which kind of model a delegated question is for, by its words.

To change the picture that is seen it takes a word for a style and one for the scene; to make one, a word for
pictures. Everything else is for a model that answers in words. The words are English and Chinese.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["chat", "image", "edit"]

STYLE = ("style", "cartoon", "anime", "watercolor", "watercolour", "oil painting", "sketch", "pixel art",
         "pencil", "风格", "卡通", "动漫", "水彩", "油画", "素描", "像素")  # fmt: skip
SCENE = ("this", "scene", "frame", "picture", "photo", "what you see", "current", "here",
         "这", "画面", "场景", "照片", "当前", "图")  # fmt: skip
PICTURE = ("draw", "paint", "generate an image", "generate a picture", "make a picture", "make an image",
           "illustration", "poster", "画一", "生成图", "生成一张", "绘制", "海报")  # fmt: skip


def kind_of(question: str) -> Kind:
    if _has(question, STYLE) and _has(question, SCENE):
        return "edit"
    return "image" if _has(question, PICTURE) else "chat"


def _has(question: str, words: tuple[str, ...]) -> bool:
    """English words count where they stand as words."""
    text = question.lower()
    return any(
        re.search(rf"\b{re.escape(word)}\b", text) if word.isascii() else word in text for word in words
    )
