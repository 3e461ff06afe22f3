"""What happened: the vocabulary of events and the append-only log of them. Imports nothing of ours."""
