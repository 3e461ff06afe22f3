"""Sound as bytes and as numbers: PCM, resampling, WAV. Pure functions; imports nothing of ours."""
