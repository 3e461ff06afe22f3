"""Processes are killed and stopped, connections cut and disks filled under clients that talk."""
