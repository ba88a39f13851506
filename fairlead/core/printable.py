"""Texts of others on a terminal: images, messages of pods and answers of webhooks are anybody's who may write them."""

from __future__ import annotations


def on_one_line(text: str) -> str:
    """As long as it was; what a terminal would obey is a question mark, and what ends a line a space, so that no text
    hides or forges what is shown beside it."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else "?" for each in text)


def printable(text: str) -> str:
    """The same for each of its lines."""
    return "\n".join(map(on_one_line, text.split("\n")))
