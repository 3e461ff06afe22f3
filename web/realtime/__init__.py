"""Plain `/v1/realtime`: client frames to commands. What clients see back is projections/realtime."""
