"""One scrape of several processes."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from antiphon.web.metrics import Metrics
from antiphon.web.several import gathered


def page(live: int, free: int) -> bytes:
    metrics = Metrics()
    metrics.live.set(live)
    metrics.disk_free.set(free)
    metrics.refused.labels('a "code"').inc(live)
    metrics.loop_lag.observe(0.003)
    return generate_latest(metrics.registry)


def test_every_sample_names_its_process_and_every_family_is_there_once() -> None:
    whole = gathered({1: page(5, 70), 0: page(2, 80)}, asked=1).decode()

    families = {family.name: family for family in text_string_to_metric_families(whole)}
    alone = {family.name for family in text_string_to_metric_families(page(1, 1).decode())}
    assert set(families) == alone
    assert whole.count("# TYPE antiphon_sessions_live gauge") == 1
    live = {one.labels["worker"]: one.value for one in families["antiphon_sessions_live"].samples}
    assert live == {"0": 2.0, "1": 5.0}
    refusals = [one for one in families["antiphon_refusals"].samples if one.name.endswith("_total")]
    assert [(one.labels, one.value) for one in refusals] == [
        ({"worker": "0", "code": 'a "code"'}, 2.0),
        ({"worker": "1", "code": 'a "code"'}, 5.0),
    ]


def test_what_all_have_in_common_is_told_once_by_the_one_that_was_asked() -> None:
    whole = gathered({0: page(2, 80), 1: page(5, 70)}, asked=1).decode()

    families = {family.name: family for family in text_string_to_metric_families(whole)}
    (free,) = families["antiphon_disk_free_bytes"].samples
    assert (free.labels, free.value) == ({}, 70.0)
