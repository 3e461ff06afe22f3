"""A stage that says what it hears: for benchmarks, for trying a client, and for the clock of a first call."""
