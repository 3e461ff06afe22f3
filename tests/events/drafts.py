"""The suite's small events, for the tests of stores that know what kind of store they try."""

from antiphon.events.conformance.drafts import as_stored, audio, opened, payload, text

__all__ = ["as_stored", "audio", "opened", "payload", "text"]
