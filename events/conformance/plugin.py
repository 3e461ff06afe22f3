"""What pytest loads wherever antiphon is installed: next to nothing, and nothing of the suite itself."""

from __future__ import annotations

import pytest

for name in ("cases", "filled", "under_test"):
    pytest.register_assert_rewrite(f"antiphon.events.conformance.{name}")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "campaign: long randomised runs")
