import pytest

pytest.register_assert_rewrite("tests.events.suite", "tests.events.drafts", "tests.events.stores")
