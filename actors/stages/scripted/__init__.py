"""A stage that follows a script: the fake behind most tests, and a model that always says the same."""
