"""A stage and a serving process talk over a Unix stream socket."""
