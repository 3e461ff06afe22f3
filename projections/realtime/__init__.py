"""OpenAI Realtime, GA names: the frames a plain `/v1/realtime` client sees."""
