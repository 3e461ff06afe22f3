"""Antiphon: an event-sourced actor server for full-duplex speech models."""

__version__ = "0.2.0"
