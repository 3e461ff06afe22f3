"""`/api/chat` and `/v1/audio/duplex`: events to frames. What clients ask is web/personaplex."""
