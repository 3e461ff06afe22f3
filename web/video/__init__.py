"""Streaming video at the edge: `/v1/video/chat/stream`."""
