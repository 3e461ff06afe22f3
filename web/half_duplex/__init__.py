"""`/ws/half_duplex/ID`: client frames to commands. What clients see back is projections/half_duplex."""
