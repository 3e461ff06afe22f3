"""Streaming video: what a client of `/v1/video/chat/stream` sees."""
