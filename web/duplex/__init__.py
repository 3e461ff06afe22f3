"""`/v1/realtime?duplex=1`: client frames to commands. What clients see back is projections/duplex."""
