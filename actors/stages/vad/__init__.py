"""A stage that says how much of what it hears is speech. The decision what to make of it is in the core."""
