"""OpenAI Realtime by its names of 2024, when it was a beta: the frames of projections/realtime, renamed."""
