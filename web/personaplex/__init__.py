"""`/api/chat` and `/v1/audio/duplex`: client frames to commands. What clients see back is
projections/personaplex."""
