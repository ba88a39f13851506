"""The bodies of notices, as each kind of receiver reads them (R-34)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.contracts.plans.decide.notices.news import ERROR
from fairlead.contracts.plans.kinds import Json
from fairlead.core.act import EventNote

SLACK, WEBHOOK, TEAMS, DISCORD, ROCKET = "slack", "webhook", "msteams", "discord", "rocket"
TYPES = (SLACK, WEBHOOK, TEAMS, DISCORD, ROCKET)
DISCORD_ENDING = "/slack"
"""Discord reads bodies of Slack at this path."""
_COLOURS = {SLACK: ("good", "danger"), DISCORD: ("good", "danger"), ROCKET: ("#0076D7", "#FF0000")}


def body_of(kind: str, note: EventNote, channel: str, username: str) -> Json:
    facts = dict(note.facts)
    match kind:
        case kind if kind == WEBHOOK:
            return _webhook(note, facts)
        case kind if kind == TEAMS:
            return _teams(note, facts)
    return _slack(_COLOURS[kind], note, facts, channel, username, _escaped if kind == SLACK else str)


def _slack(
    colours: tuple[str, str],
    note: EventNote,
    facts: Mapping[str, str],
    channel: str,
    username: str,
    text: Callable[[str], str],
) -> Json:
    attachment = {
        "color": colours[facts["severity"] == ERROR],
        "author_name": text(_workload(note, facts)),
        "text": text(note.text),
        "mrkdwn_in": ["text"],
        "fields": [{"title": title, "value": text(value), "short": False} for title, value in _fields(note, facts)],
    }
    return {"channel": channel, "username": username, "icon_emoji": ":rocket:", "attachments": [attachment]}


def _escaped(text: str) -> str:
    """As Slack wants it: between `<` and `>` it reads links and mentions, which nobody may put into a plan for those
    who read the operator's channel."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _teams(note: EventNote, facts: Mapping[str, str]) -> Json:
    section = {
        "activityTitle": note.text,
        "activitySubtitle": _workload(note, facts),
        "facts": [{"name": name, "value": value} for name, value in _fields(note, facts)],
    }
    return {
        "@type": "MessageCard",
        "@context": "http://schema.org/extensions",
        "themeColor": "FF0000" if facts["severity"] == ERROR else "0076D7",
        "summary": _workload(note, facts),
        "sections": [section],
    }


def _webhook(note: EventNote, facts: Mapping[str, str]) -> Json:
    return {
        "name": note.about.name,
        "namespace": note.about.namespace,
        "kind": facts["kind"],
        "phase": facts["phase"],
        "batch": int(facts["batch"]),
        "severity": facts["severity"],
        "message": note.text,
        "timestamp": facts["timestamp"],
        "metadata": {"event": facts["event"], "workload": facts["workload"]},
    }


def _workload(note: EventNote, facts: Mapping[str, str]) -> str:
    return f"{facts['workload']}.{note.about.namespace}"


def _fields(note: EventNote, facts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        ("Event", facts["event"]),
        (facts["kind"], f"{note.about.namespace}/{note.about.name}"),
        ("State", facts["phase"]),
        ("Batch", facts["batch"]),
    ]
