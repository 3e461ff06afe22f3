"""`/v1/duplex`: client frames to commands. What clients see back is projections/native."""
