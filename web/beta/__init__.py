"""Plain `/v1/realtime` by the names of 2024: what differs from web/realtime. See projections/beta."""
