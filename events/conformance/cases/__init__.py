"""The cases, a module for each promise. None of them knows what kind of store it tries."""
