"""The past: what a recorded session can still tell. Never imports web."""
