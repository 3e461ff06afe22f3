"""Show a video to /v1/video/chat/stream as a camera would, ask about it, and print the answers.

    python examples/streaming_video_client.py --video clip.mp4 --query "What happens?" --query "And now?"

`--video` is a folder of images, a GIF, or whatever ffmpeg reads. The queries are asked at even distances; the
last one behind the last image. Needs `pip install websockets pillow`.
"""

import argparse
import asyncio
import base64
import json
from pathlib import Path

from video_frames import frames
from websockets.asyncio.client import ClientConnection, connect


async def send(socket: ClientConnection, kind: str, **members: object) -> None:
    await socket.send(json.dumps({"type": kind, **members}))


async def show(socket: ClientConnection, options: argparse.Namespace) -> None:
    images = list(frames(options.video, options.fps))
    due = [round(len(images) * (k + 1) / len(options.query)) for k in range(len(options.query))]
    for n, image in enumerate(images, 1):
        data, pts_ms = base64.b64encode(image).decode(), round(1000 * n / options.fps)
        await send(socket, "video.frame", data=data, frame_id=f"frame-{n}", pts_ms=pts_ms)
        for query, at in zip(options.query, due, strict=True):
            if at == n:
                await send(socket, "video.query", text=query)
        await asyncio.sleep(1 / options.fps)
    await send(socket, "video.done")


async def main(options: argparse.Namespace) -> None:
    kept = passed_over = 0
    async with connect(options.url, max_size=None) as socket:
        await send(socket, "session.config", modalities=["text"], num_frames=options.num_frames)
        showing = asyncio.create_task(show(socket, options))
        async for text in socket:
            message = json.loads(text)
            match message["type"]:
                case "video.frame.ack":
                    kept, passed_over = kept + message["accepted"], passed_over + (not message["accepted"])
                case "video.frames.consumed":
                    print(f"[of {kept} images, {passed_over} passed over: {', '.join(message['frame_ids'])}]")
                case "response.text.delta":
                    print(message["delta"], end="", flush=True)
                case "response.text.done":
                    print(f" [{message.get('status', '')}]")
                case "error":
                    print(f"error: {message['message']}")
                case "session.done":
                    break
        await showing


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url", default="ws://127.0.0.1:8765/v1/video/chat/stream")
    parser.add_argument("--video", type=Path, required=True)
    parser.add_argument("--query", action="append", required=True)
    parser.add_argument("--fps", type=float, default=2.0)
    parser.add_argument("--num-frames", type=int, default=4)
    asyncio.run(main(parser.parse_args()))
