"""A recorded call held again: the same client, another model, another prompt, other thresholds."""
