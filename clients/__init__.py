"""The client side of the wire. Imports nothing of ours."""
