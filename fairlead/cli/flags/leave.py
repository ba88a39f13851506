"""That a process is to end before it begins: with a text, and with a code."""

from __future__ import annotations


class Leave(Exception):
    def __init__(self, code: int, text: str, *, is_asked_for: bool = False) -> None:
        """What was asked for goes to standard output, the rest to standard error."""
        super().__init__(text)
        self.code = code
        self.text = text
        self.is_asked_for = is_asked_for
