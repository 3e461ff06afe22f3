"""What happened: the vocabulary of events and the append-only log that keeps them. Imports nothing of ours."""
