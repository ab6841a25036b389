"""The bodies of webhook messages in each format. Pure.

The vendors' documentation of the formats and of their limits:

- Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
  https://docs.slack.dev/reference/block-kit/blocks (header: 150 characters, section: 3,000 characters),
  https://docs.slack.dev/messaging/formatting-message-text (``&``, ``<`` and ``>`` are escaped)
- Teams: https://learn.microsoft.com/en-us/connectors/teams/ (the message has at most 28 KB),
  https://learn.microsoft.com/en-us/adaptive-cards/schema-explorer/text-run (a TextRun does not support Markdown)
- PagerDuty: https://developer.pagerduty.com/docs/events-api-v2/trigger-events/ (summary: 1,024 characters, dedup_key: 255 characters)

Job names, rule names and error texts come from users. Slack and Teams therefore show them as plain text, which cannot contain links, mentions or
formatting.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, assert_never

from weir_backend.models import WebhookFormat

SLACK_HEADER_MAX = 150
SLACK_TEXT_MAX = 3_000
TEAMS_TEXT_MAX = 1_500
"""JSON needs at most 12 bytes for a character, so a text of ``TEAMS_TEXT_MAX`` characters needs at most 18 KB of the 28 KB."""
TEAMS_BYTES_MAX = 28_000
PAGERDUTY_SUMMARY_MAX = 1_024
PAGERDUTY_DEDUP_KEY_MAX = 255
_LABEL_MAX = 200


class Severity(StrEnum):
    """The severities of PagerDuty."""

    CRITICAL = "critical"
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """What a message says, in every format.

    ``type`` is a subject and a past participle, such as ``operation.failed``, or ``test``. ``sentence`` does not contain the name of the job.
    ``text`` is the sentence with the name of the job, and is sent in the formats that have only one text. ``fields`` are further fields of the
    format WEIR."""

    type: str
    created_at: datetime
    text: str
    sentence: str
    severity: Severity
    job: str | None = None
    rule: str | None = None
    condition: str | None = None
    """The kind of the condition of the alert rule."""
    dedup_key: str
    """Identifies the incident in PagerDuty. The two messages about one alert have the same key."""
    resolves: bool = False
    """Whether the message reports that an alert is resolved."""
    page: str | None = None
    """The URL of the page in the web UI, or None if users cannot reach the web UI at a known address."""
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        title = self.type.replace(".", " ").capitalize()
        return title if self.job is None else f"{title}: {self.job}"

    @property
    def labels(self) -> dict[str, str]:
        found = {"Job": self.job, "Rule": self.rule, "Condition": self.condition, "Severity": self.severity.value}
        return {label: value for label, value in found.items() if value is not None}


def body(notification: Notification, format: WebhookFormat) -> dict[str, Any]:
    """Return the JSON body of a message. The body of the format PAGERDUTY lacks the field ``routing_key``, because the backend does not know the
    routing key."""
    match format:
        case WebhookFormat.WEIR:
            return _weir(notification)
        case WebhookFormat.SLACK:
            return _slack(notification)
        case WebhookFormat.TEAMS:
            return _teams(notification)
        case WebhookFormat.PAGERDUTY:
            return _pagerduty(notification)
        case _:
            assert_never(format)


def _weir(one: Notification) -> dict[str, Any]:
    return {"type": one.type, "text": one.text, "created_at": one.created_at.isoformat(), **one.fields}


# ---- Slack -------------------------------------------------------------------------------------

_SLACK_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def _slack(one: Notification) -> dict[str, Any]:
    labels = " · ".join(f"{label}: {cut(value, _LABEL_MAX)}" for label, value in one.labels.items())
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _slack_text(one.title, SLACK_HEADER_MAX)},
        {"type": "section", "text": _slack_text(one.sentence, SLACK_TEXT_MAX)},
        {"type": "context", "elements": [_slack_text(labels, SLACK_TEXT_MAX)]},
    ]
    if one.page is not None:
        # A button would need an app that answers its interactions, so the link is a text.
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": f"<{_slack_escape(one.page)}|Open in Weir>"}})
    # Slack shows ``text`` in notifications. Without ``mrkdwn: false``, Slack would format the text.
    return {"text": cut(one.text, SLACK_TEXT_MAX, _SLACK_ESCAPES), "mrkdwn": False, "blocks": blocks}


def _slack_text(text: str, limit: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": cut(text, limit, _SLACK_ESCAPES), "emoji": False}


def _slack_escape(text: str) -> str:
    return "".join(_SLACK_ESCAPES.get(character, character) for character in text)


# ---- Teams -------------------------------------------------------------------------------------

_TEAMS_COLOURS = {
    Severity.CRITICAL: "Attention",
    Severity.ERROR: "Attention",
    Severity.WARNING: "Warning",
    Severity.INFO: "Default",
}


def _teams(one: Notification) -> dict[str, Any]:
    colour = "Good" if one.resolves else _TEAMS_COLOURS[one.severity]
    labels = [_teams_text(f"{label}: {cut(value, _LABEL_MAX)}", isSubtle=True) for label, value in one.labels.items()]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            _teams_text(cut(one.title, _LABEL_MAX), weight="Bolder", size="Medium", color=colour),
            _teams_text(cut(one.sentence, TEAMS_TEXT_MAX)),
            *labels,
        ],
    }
    if one.page is not None:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open in Weir", "url": one.page}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _teams_text(text: str, **style: Any) -> dict[str, Any]:
    """Return a paragraph. A TextBlock would format Markdown in ``text``, but a TextRun does not."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


# ---- PagerDuty ---------------------------------------------------------------------------------


def _pagerduty(one: Notification) -> dict[str, Any]:
    assert len(one.dedup_key) <= PAGERDUTY_DEDUP_KEY_MAX, one.dedup_key
    if one.resolves:
        return {"event_action": "resolve", "dedup_key": one.dedup_key}
    event: dict[str, Any] = {
        "event_action": "trigger",
        "dedup_key": one.dedup_key,
        "payload": {
            "summary": cut(one.text, PAGERDUTY_SUMMARY_MAX),
            "source": one.job or "weir",
            "severity": one.severity.value,
            "timestamp": one.created_at.isoformat(),
            "component": "weir",
            "class": one.condition or one.type,
            "custom_details": {label.lower(): cut(value, _LABEL_MAX) for label, value in one.labels.items()},
        },
        "client": "Weir",
    }
    if one.page is not None:
        event |= {"client_url": one.page, "links": [{"href": one.page, "text": "Open in Weir"}]}
    return event


def cut(text: str, limit: int, escapes: dict[str, str] | None = None) -> str:
    """Return ``text`` as one line of at most ``limit`` characters, with its escapes. A text that is too long ends with an ellipsis. An escape
    sequence is never cut."""
    characters = [(escapes or {}).get(character, character) for character in " ".join(text.split())]
    if sum(map(len, characters)) <= limit:
        return "".join(characters)
    kept, length = [], 1
    for one in characters:
        length += len(one)
        if length > limit:
            break
        kept.append(one)
    return "".join(kept) + "…"
