"""How it looks: pure folds from events to frames. Imports events and the pure core."""
