"""The native dialect: what a client of `/v1/duplex` sees."""
