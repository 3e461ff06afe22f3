"""JoyVL watchers at the edge: an interaction server's routes."""
