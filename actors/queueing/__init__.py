"""Who waits for a place where all are taken: one line for all stages that a session holds alone."""
