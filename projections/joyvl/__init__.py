"""JoyVL watchers: what a client of the interaction server is answered."""
