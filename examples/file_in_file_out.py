"""Speak a recording to a model and keep its answer as a file, with the client library.

    python examples/file_in_file_out.py question.wav answer.wav [ws://127.0.0.1:8765]

The recording is mono with 16 bits, at any rate from 8 to 192 kHz.
"""

import asyncio
import sys

from antiphon.clients.duplex import (
    AudioFormat,
    DuplexClient,
    EventCollector,
    SessionConfig,
    read_pcm16_wav,
    write_pcm16_wav,
)


async def main(question: str, answer: str, url: str) -> None:
    pcm, rate = read_pcm16_wav(question)
    config = SessionConfig(input_audio=AudioFormat("pcm16", rate), extra_body={"return_stage_metrics": True})
    async with DuplexClient(url, config=config) as client:
        await client.stream_pcm(pcm)
        # A model that takes turns by itself hears when the user is done; others are asked.
        leads = client.session_info["capabilities"]["supports_model_native_turn_policy"]
        await client.commit(create_response=None if leads else True)
        async for response in client.responses():
            if response.decision == "speak":
                # Nobody listens to a file: what is taken counts as heard.
                heard = b"".join([piece async for piece in response.audio("when_taken")])
                break
    write_pcm16_wav(answer, heard, config.output_audio.rate)
    print(f"{response.transcript} [{response.status}, {response.audio_ms:.0f} ms]")

    collector = EventCollector()
    await collector.consume(client.events())
    took = collector.timing_summary()["request_metrics"]
    print(f"first sound after {took['ttfp_ms']} ms, by {took['source']}", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "ws://127.0.0.1:8765"))
