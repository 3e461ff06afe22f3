"""What the server measures of itself, in Prometheus' terms."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.registry import Collector

FINE = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0)


class Durations(Collector):
    """A histogram of seconds for what happens with every frame: prometheus_client's costs several times that.

    Observed in one thread at a time, read in any.
    """

    def __init__(self, name: str, documentation: str, bounds: tuple[float, ...]) -> None:
        self._name, self._documentation, self._bounds = name, documentation, bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._sum += seconds

    def collect(self) -> Iterator[HistogramMetricFamily]:
        bounds = [*map(str, self._bounds), "+Inf"]
        buckets = list(zip(bounds, accumulate(self._counts), strict=True))
        yield HistogramMetricFamily(self._name, self._documentation, buckets, self._sum)


class Metrics:
    """One registry per server, so that several can live in one process (tests)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.live = Gauge("antiphon_sessions_live", "Sessions open now", registry=self.registry)
        self.opened = Counter("antiphon_sessions_opened", "Sessions opened", registry=self.registry)
        self.refused = Counter(
            "antiphon_refusals", "Connections and commands refused", ["code"], registry=self.registry
        )
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
        self.slow_writes = Gauge(
            "antiphon_log_slow_writes", "Log writes slower than 5 ms", registry=self.registry
        )
        self.backlog = Gauge(
            "antiphon_log_backlog", "Batches waiting for the log's writer thread", registry=self.registry
        )
        self.in_flight = Gauge(
            "antiphon_stage_units_in_flight",
            "Operations at a stage that are not in the log yet",
            ["stage"],
            registry=self.registry,
        )
        self.dropped = Counter(
            "antiphon_input_frames_dropped", "Client frames that could not be used", registry=self.registry
        )
        self.outbox_dropped = Counter(
            "antiphon_slow_clients", "Clients let go because they read too slowly", registry=self.registry
        )

    async def watch_loop(self, every: float = 0.1) -> None:
        """Measure the loop's lag for ever."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + every
            await asyncio.sleep(every)
            self.loop_lag.observe(max(loop.time() - due, 0.0))
