"""Tests of the bodies of webhook messages: their shapes, limits and escaping."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir_backend.models import WebhookFormat
from weir_backend.webhooks.message_formats import (
    PAGERDUTY_SUMMARY_MAX,
    SLACK_HEADER_MAX,
    SLACK_TEXT_MAX,
    TEAMS_BYTES_MAX,
    Notification,
    Severity,
    body,
    cut,
)

FIRING = Notification(
    type="alert.firing",
    created_at=datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC),
    text="route-delays: no checkpoint has completed for 10 min (late)",
    sentence="no checkpoint has completed for 10 min",
    severity=Severity.CRITICAL,
    job="route-delays",
    rule="late",
    condition="no-checkpoint",
    dedup_key="weir-alert-5-1",
    page="https://weir.example.com/jobs/7?a=1&b=2",
    fields={"alert": {"id": 5}},
)
RESOLVED = replace(FIRING, type="alert.resolved", sentence="resolved: checkpoint 18 is completed", resolves=True)
UNTRUSTED = "<!channel> <https://evil.example|click> *bold* [click](https://evil.example) & more"


def texts(value: Any, kind: str) -> list[str]:
    """Return the texts of all objects with the given ``type`` in a body."""
    if isinstance(value, list):
        return [text for one in value for text in texts(one, kind)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if value.get("type") == kind else []
    return own + [text for one in value.values() for text in texts(one, kind)]


def test_the_weir_format_contains_the_fields_of_the_notification() -> None:
    assert body(FIRING, WebhookFormat.WEIR) == {
        "type": "alert.firing", "text": FIRING.text, "created_at": "2026-05-04T03:02:01+00:00", "alert": {"id": 5},
    }  # fmt: skip


def test_a_slack_message_shows_the_job_the_sentence_the_labels_and_a_link() -> None:
    message = body(FIRING, WebhookFormat.SLACK)
    assert message["text"] == FIRING.text
    assert [block["type"] for block in message["blocks"]] == ["header", "section", "context", "section"]
    assert texts(message["blocks"], "plain_text") == [
        "Alert firing: route-delays",
        FIRING.sentence,
        "Job: route-delays · Rule: late · Condition: no-checkpoint · Severity: critical",
    ]
    assert texts(message["blocks"], "mrkdwn") == ["<https://weir.example.com/jobs/7?a=1&amp;b=2|Open in Weir>"]
    assert texts(body(RESOLVED, WebhookFormat.SLACK), "plain_text")[:2] == ["Alert resolved: route-delays", RESOLVED.sentence]


def test_a_teams_message_is_an_adaptive_card_in_a_message() -> None:
    message = body(FIRING, WebhookFormat.TEAMS)
    [attachment] = message["attachments"]
    assert message["type"] == "message" and attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert texts(card, "TextRun") == [
        "Alert firing: route-delays", FIRING.sentence, "Job: route-delays", "Rule: late", "Condition: no-checkpoint",
        "Severity: critical",
    ]  # fmt: skip
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open in Weir", "url": FIRING.page}]
    assert card["body"][0]["inlines"][0]["color"] == "Attention"
    resolved = body(RESOLVED, WebhookFormat.TEAMS)["attachments"][0]["content"]
    assert resolved["body"][0]["inlines"][0]["color"] == "Good"


def test_pagerduty_resolves_the_incident_that_the_firing_alert_has_triggered() -> None:
    event = body(FIRING, WebhookFormat.PAGERDUTY)
    assert (event["event_action"], event["dedup_key"]) == ("trigger", "weir-alert-5-1")
    assert event["payload"] == {
        "summary": FIRING.text, "source": "route-delays", "severity": "critical", "timestamp": "2026-05-04T03:02:01+00:00",
        "component": "weir", "class": "no-checkpoint",
        "custom_details": {"job": "route-delays", "rule": "late", "condition": "no-checkpoint", "severity": "critical"},
    }  # fmt: skip
    assert event["client_url"] == FIRING.page and event["links"] == [{"href": FIRING.page, "text": "Open in Weir"}]
    assert body(RESOLVED, WebhookFormat.PAGERDUTY) == {"event_action": "resolve", "dedup_key": "weir-alert-5-1"}


@pytest.mark.parametrize("format", WebhookFormat)
def test_a_message_has_no_link_if_the_address_of_the_web_ui_is_unknown(format: WebhookFormat) -> None:
    message = json.dumps(body(replace(FIRING, page=None), format))
    assert "Open in Weir" not in message and "client_url" not in message


def test_text_from_users_cannot_format_a_message_or_mention_users() -> None:
    untrusted = replace(FIRING, sentence=UNTRUSTED, text=UNTRUSTED, rule=UNTRUSTED)
    slack = body(untrusted, WebhookFormat.SLACK)
    assert slack["mrkdwn"] is False
    for text in [slack["text"], *texts(slack["blocks"], "plain_text")]:
        assert "<" not in text and ">" not in text
    assert texts(slack["blocks"], "plain_text")[1] == html.escape(UNTRUSTED, quote=False)
    assert len(texts(slack["blocks"], "mrkdwn")) == 1, "only the link is formatted"
    teams = body(untrusted, WebhookFormat.TEAMS)
    assert UNTRUSTED in texts(teams, "TextRun") and texts(teams, "TextBlock") == []
    assert body(untrusted, WebhookFormat.PAGERDUTY)["payload"]["summary"] == UNTRUSTED


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("a\n\n b\t", 9, "a b"),
        ("a&b", 7, "a&amp;b"),
        ("a&b", 6, "a…"),
        ("<<<", 9, "&lt;&lt;…"),
    ],
)
def test_a_long_text_is_cut_between_escape_sequences(text: str, limit: int, shown: str) -> None:
    assert cut(text, limit, {"&": "&amp;", "<": "&lt;"}) == shown


any_text = st.text(min_size=1, max_size=200) | st.builds(
    lambda one, times: one * times, st.text(min_size=1, max_size=5) | st.sampled_from("&<>"), st.integers(1, 5_000)
)


@given(sentence=any_text, rule=any_text, severity=st.sampled_from(Severity), page=st.none() | st.just("https://h/" + "x" * 500))
def test_every_message_is_within_the_limits_of_its_receiver(
    sentence: str, rule: str, severity: Severity, page: str | None
) -> None:
    one = replace(
        FIRING, sentence=sentence, rule=rule, text=f"x: {sentence} ({rule})", severity=severity, page=page, job="j" * 100
    )
    slack = body(one, WebhookFormat.SLACK)
    assert len(slack["text"]) <= SLACK_TEXT_MAX and len(slack["blocks"][0]["text"]["text"]) <= SLACK_HEADER_MAX
    assert all(len(text) <= SLACK_TEXT_MAX for text in texts(slack["blocks"], "plain_text") + texts(slack["blocks"], "mrkdwn"))
    assert len(json.dumps(body(one, WebhookFormat.TEAMS), ensure_ascii=True)) <= TEAMS_BYTES_MAX
    assert len(body(one, WebhookFormat.PAGERDUTY)["payload"]["summary"]) <= PAGERDUTY_SUMMARY_MAX
