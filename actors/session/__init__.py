"""The pure core: what a session is (state), what may happen to it (decide), what it becomes (evolve).

Learn decide.py first. No clock, no I/O, no randomness and no await lives here; import-linter sees to it.
"""
