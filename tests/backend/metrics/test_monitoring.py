"""Checks that the dashboard and the rules in monitoring/ use only metrics and labels that ``/metrics`` exports."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import promql_parser as promql
import pytest
import yaml
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector, CollectorRegistry

from weir_backend.metrics.exposition import JobsCollector, PlatformMetrics
from weir_backend.models import AlertKind, DeliveryState, RunState

MONITORING = Path(__file__).parents[3] / "monitoring"
AT = datetime(2026, 5, 4, tzinfo=UTC)
Labels = frozenset[str]


class _Exported(JobsCollector, Collector):
    pass


def exported_metrics() -> dict[str, Labels]:
    """Return the labels of each metric that the API exports for a job with rows of every kind."""
    subtask = dict.fromkeys(("records_in", "records_out", "bytes_in", "bytes_out"), 1)
    subtask |= dict.fromkeys(("busy_us", "idle_us", "backpressured_us", "queued_us"), 1)
    gauges = {"orders.0.lag_records": 3, "orders.0.lag_seconds": 2.0}
    sample = {"rss_bytes": 1, "gauges": gauges, "subtasks": [{"chain": 0, "index": 0, **subtask}]}
    operators = {"index": 0, "operators": [{"uid": "orders", "name": "orders"}]}
    last = {"number": 1, "end_to_end_ms": 5, "checkpointed_bytes": 1, "state_bytes": 2, "completed_at": AT}

    def of_job(**fields: Any) -> SimpleNamespace:
        return SimpleNamespace(job_id=1, **fields)

    collector = _Exported(
        PlatformMetrics(
            at=AT,
            jobs=[SimpleNamespace(id=1, name="orders", state=RunState.RUNNING, completed_checkpoints=1, failed_checkpoints=0)],
            in_progress={},
            last=[of_job(**last)],
            recoveries=[of_job(count=1, downtime_ms=1)],
            samples=[of_job(slot=0, metrics=sample)],
            alerts=[of_job(kind=AlertKind.LAG, rule_name="late", count=1)],
            deliveries=[SimpleNamespace(name="ops", state=DeliveryState.FAILED, count=1)],
            chains=[of_job(chains=[operators])],
        )
    )
    registry = CollectorRegistry()
    registry.register(collector)
    text = generate_latest(registry).decode()
    return {
        one.name: frozenset(one.labels)
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if not one.name.endswith("_created")
    }


@pytest.fixture(scope="module")
def exported() -> dict[str, Labels]:
    return exported_metrics()


def result_labels(expression: str, exported: Mapping[str, Labels]) -> Labels:
    """Return the labels of the result of a PromQL expression. Raises ValueError if the expression is invalid, or names a metric or a label that is
    not exported."""
    return _labels(promql.parse(expression), exported)


def _labels(expr: Any, exported: Mapping[str, Labels]) -> Labels:
    match expr:
        case promql.VectorSelector():
            name = str(expr.name)
            if name not in exported:
                raise ValueError(f"the metric {name} is not exported")
            _require({one.name for one in expr.matchers.matchers}, exported[name], expr)
            return exported[name]
        case promql.MatrixSelector():
            return _labels(expr.vector_selector, exported)
        case promql.SubqueryExpr() | promql.ParenExpr() | promql.UnaryExpr():
            return _labels(expr.expr, exported)
        case promql.AggregateExpr():
            inner = _labels(expr.expr, exported)
            if expr.modifier is None:
                return frozenset()
            _require({*expr.modifier.labels}, inner, expr)
            kept = frozenset(expr.modifier.labels)
            return kept if expr.modifier.type == promql.AggModifierType.By else inner - kept
        case promql.BinaryExpr():
            return _binary(expr, exported)
        case promql.Call():
            found = [_labels(one, exported) for one in expr.args]
            return frozenset().union(*found)
        case promql.NumberLiteral() | promql.StringLiteral():
            return frozenset()
        case _:
            raise AssertionError(f"add {type(expr).__name__} to this test")


def _binary(expr: Any, exported: Mapping[str, Labels]) -> Labels:
    left, right = _labels(expr.lhs, exported), _labels(expr.rhs, exported)
    modifier = expr.modifier
    if modifier is None or modifier.matching is None:
        return left | right
    assert modifier.matching.type == promql.LabelModifierType.Include, "add `ignoring` to this test"
    _require({*modifier.matching.labels}, left & right, expr)
    to_right = modifier.card == promql.VectorMatchCardinality.OneToMany
    return right if to_right else left


def _require(used: set[str], known: Labels, expr: Any) -> None:
    if missing := used - known:
        raise ValueError(f"{expr} uses the labels {sorted(missing)}, but only {sorted(known)} are exported")


# ---- the dashboard -----------------------------------------------------------------------------


def dashboard() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    return found


def targets() -> list[Any]:
    panels = [one for one in dashboard()["panels"] if one["type"] != "row"]
    return [pytest.param(one, id=f"{panel['title']} {one['refId']}") for panel in panels for one in panel["targets"]]


@pytest.mark.parametrize("target", targets())
def test_each_query_of_the_dashboard_uses_exported_metrics_and_labels(
    target: dict[str, str], exported: dict[str, Labels]
) -> None:
    expression = target["expr"].replace("$__rate_interval", "5m").replace("$job", ".*")
    labels = result_labels(expression, exported)
    assert {*re.findall(r"{{\s*(\w+)\s*}}", target["legendFormat"])} <= labels


def test_the_variables_of_the_dashboard_use_exported_metrics_and_labels(exported: dict[str, Labels]) -> None:
    [query] = [one["query"]["query"] for one in dashboard()["templating"]["list"] if one["type"] == "query"]
    found = re.fullmatch(r"label_values\((\w+), (\w+)\)", query)
    assert found is not None and found[2] in exported[found[1]]


def test_panels_of_the_dashboard_have_different_ids_and_do_not_overlap() -> None:
    panels = dashboard()["panels"]
    assert len({one["id"] for one in panels}) == len(panels)
    cells = [
        (place["x"] + x, place["y"] + y)
        for place in (one["gridPos"] for one in panels)
        for x in range(place["w"])
        for y in range(place["h"])
    ]
    assert len(set(cells)) == len(cells) and all(x < 24 for x, _ in cells)


# ---- the rules ---------------------------------------------------------------------------------


def rules() -> list[Any]:
    groups = yaml.safe_load((MONITORING / "prometheus-rules.yaml").read_text())["groups"]
    return [pytest.param(rule, id=rule["alert"]) for group in groups for rule in group["rules"]]


@pytest.mark.parametrize("rule", rules())
def test_each_rule_uses_exported_metrics_and_labels(rule: dict[str, Any], exported: dict[str, Labels]) -> None:
    labels = result_labels(rule["expr"], exported)
    assert {*re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values()))} <= labels
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"critical", "warning"}


# ---- the check itself --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("weir_job_states", "weir_job_states is not exported"),
        ('weir_job_state{phase="RUNNING"}', "phase"),
        ("max by (slot) (weir_job_state)", "slot"),
        ("sum by (job) (sum by (state) (weir_job_state))", "job"),
        ("rate(weir_job_num_restarts[5m])", "not exported"),
        ("weir_job_state * on (job, chain) weir_chain_operator", "chain"),
        ("sum(", "parenthesis"),
    ],
)
def test_an_unknown_metric_or_label_is_found(expression: str, problem: str, exported: dict[str, Labels]) -> None:
    with pytest.raises(ValueError, match=problem):
        result_labels(expression, exported)


def test_the_labels_of_a_result_are_known(exported: dict[str, Labels]) -> None:
    joined = "sum by (job, chain) (rate(weir_subtask_records_in_total[1m])) * on (job, chain) group_right () weir_chain_operator"
    assert result_labels(joined, exported) == {"job", "chain", "operator"}
    assert result_labels('max by (job) (weir_job_state) > 3 and on (job) weir_job_state{state="X"}', exported) == {"job"}
