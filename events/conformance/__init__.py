"""Does a log store keep the contract? The cases that every store of Antiphon passes, for yours to pass too.

Install `antiphon[conformance]` where you run your tests, and give the suite your store:

    import pytest
    from antiphon.events.conformance.suite import LogSuite, StoreUnderTest
    from mystore import MyLog


    class TestMyLog(LogSuite):
        @pytest.fixture
        def store(self, tmp_path):
            yield StoreUnderTest(log := MyLog(tmp_path))
            log.close()

That runs every case for which a log alone is enough. The others say when they are skipped what they need:
another handle on the same data, the way another process opens it, the files it lies in, a disk that fails.
Each is a field of `StoreUnderTest` (under_test.py), and giving it is how a store claims to be able to. The
longest runs carry the marker `campaign`: `pytest -m "not campaign"` leaves them out.
"""
