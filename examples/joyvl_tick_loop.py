"""Show a video to a watcher, a frame a second, and print what it says.

    python examples/joyvl_tick_loop.py --video clip.mp4 --query "Tell me when somebody comes in"

`--video` is a folder of images, a GIF, or whatever ffmpeg reads. Needs `pip install httpx pillow`.
"""

import argparse
import base64
import time
from pathlib import Path

import httpx
from video_frames import frames


def tick(query: str | None, image: bytes) -> dict[str, object]:
    url = f"data:image/jpeg;base64,{base64.b64encode(image).decode()}"
    content: list[dict[str, object]] = [{"type": "image_url", "image_url": {"url": url}}]
    if query is not None:
        content.insert(0, {"type": "text", "text": query})
    return {"messages": [{"role": "user", "content": content}]}


def main(options: argparse.Namespace) -> None:
    with httpx.Client(base_url=options.url, headers={"x-session-id": options.session}, timeout=320) as client:
        client.post("/v1/streaming/reset")
        for second, image in enumerate(frames(options.video, 1.0)):
            began = time.monotonic()
            response = client.post("/v1/chat/completions", json=tick(options.query, image))
            if response.status_code != 200:
                print(f"{second:4} s  failed: {response.text}")
            elif (decided := response.json()["interaction"])["spoke"]:
                print(f"{second:4} s  {decided['text']}")
                for delegated in decided["delegations"]:
                    answer = delegated.get("digest") or delegated["question"]
                    print(f"        {delegated['task_id']} {delegated['status']}: {answer}")
            time.sleep(max(options.every - (time.monotonic() - began), 0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="http://127.0.0.1:8765")
    parser.add_argument("--video", type=Path, required=True)
    parser.add_argument("--query")
    parser.add_argument("--session", default="tick-loop")
    parser.add_argument("--every", type=float, default=1.0, help="seconds from one frame to the next")
    main(parser.parse_args())
