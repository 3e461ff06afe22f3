"""MiniCPM-o's language model on vLLM: a session is one resumable request ("streaming input"), which keeps its
KV from one append to the next.

The stage's process runs an asyncio loop in a thread of its own (loop.py, thinker.py); vLLM's engine core is
a process beside it. Into that go, by vLLM's plugins: the model with embeddings as a modality (model.py), and
the drawing of tokens by our rules (processor.py, choosing.py). What the talker needs, the hidden states, lies
in memory that both share (shared.py).
"""
