"""Antiphon: an event-sourced actor server for full-duplex speech models."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("antiphon")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
