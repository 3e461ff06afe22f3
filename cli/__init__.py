"""The `antiphon` command. Reaches every room, each only when its command runs."""
