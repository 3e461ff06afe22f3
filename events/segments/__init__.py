"""The log as files: one events file and one blob file per life of a session. See log.py."""
