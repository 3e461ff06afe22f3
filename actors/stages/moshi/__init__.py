"""Models that hear and speak 80 ms at a time, many conversations in one step (Moshi, PersonaPlex)."""
