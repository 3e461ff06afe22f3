"""Sound as bytes and as numbers (PCM, G.711, WAV, resampling), images by their headers. Pure functions."""
