import pytest

pytest.register_assert_rewrite("tests.events.suite", "tests.events.drafts", "tests.events.stores")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Campaigns run when they are asked for: `-m campaign`."""
    if "campaign" not in config.option.markexpr:
        items[:] = [item for item in items if item.get_closest_marker("campaign") is None]
