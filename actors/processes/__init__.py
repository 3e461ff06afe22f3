"""Launcher, stages, and how all of them end together."""
