"""What the server measures of itself, in Prometheus' terms."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from .durations import Durations
from .timings import Timings

FINE = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)


class Metrics:
    """One registry per server, so that several can live in one process (tests)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.live = self._gauge("antiphon_sessions_live", "Sessions open now")
        self.opened = self._counter("antiphon_sessions_opened", "Sessions opened")
        self.waiting = self._gauge("antiphon_callers_waiting", "Callers that stand in the line for a place")
        self.observers = self._gauge("antiphon_observers", "Connections that only listen in")
        self.resumed = self._counter("antiphon_sessions_resumed", "Clients that came back to their session")
        self.reaped = self._counter("antiphon_sessions_reaped", "Sessions ended that nobody came back to")
        self.refused = self._counter("antiphon_refusals", "Connections and commands refused", ["code"])
        self.loop_lag = Histogram(
            "antiphon_loop_lag_seconds",
            "How late the event loop runs what is due",
            buckets=FINE,
            registry=self.registry,
        )
        self.append_seconds = Durations(
            "antiphon_log_append_seconds", "Duration of log writes", (0.00001, 0.00005, 0.0001, *FINE)
        )
        self.registry.register(self.append_seconds)
        self.timings = Timings(self.registry)
        self.slow_writes = self._gauge("antiphon_log_slow_writes", "Log writes slower than 5 ms")
        self.backlog = self._gauge("antiphon_log_backlog", "Batches waiting for the log's writer thread")
        self.in_flight = self._gauge(
            "antiphon_stage_units_in_flight", "Operations at a stage that are not in the log yet", ["stage"]
        )
        self.dropped = self._counter("antiphon_input_frames_dropped", "Client frames that could not be used")
        self.outbox_dropped = self._counter(
            "antiphon_slow_clients", "Clients let go because they read too slowly"
        )
        self.disk_free = self._gauge("antiphon_disk_free_bytes", "Room on the disk under the logs")
        self.disk_low = self._gauge(
            "antiphon_disk_low", "1 while the disk has too little room for new sessions"
        )
        self.erased = self._counter(
            "antiphon_retention_erased_bytes", "Bytes of logs erased because of how long they are kept"
        )

    def _gauge(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
        return Gauge(name, documentation, labels, registry=self.registry)

    def _counter(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
        return Counter(name, documentation, labels, registry=self.registry)

    async def watch_loop(self, every: float = 0.1) -> None:
        """Measure the loop's lag for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + every
            await asyncio.sleep(every)
            self.loop_lag.observe(max(loop.time() - due, 0.0))
