"""The duplex dialect: what a client of `/v1/realtime?duplex=1` sees."""
