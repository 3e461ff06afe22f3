import pytest

pytest.register_assert_rewrite("tests.events.stores")
