"""`/ws/half_duplex/ID`: events to frames. What clients ask is web/half_duplex."""
