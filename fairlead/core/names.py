"""Names as Kubernetes and DNS have them; nothing else becomes part of an address or of a certificate."""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_LABEL_ALONE = re.compile(_LABEL)
_LABELS = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LONGEST_LABEL = 63
_LONGEST_NAME = 253


def is_label(text: str) -> bool:
    """Whether it can be the name of a namespace or of a Service."""
    return len(text) <= _LONGEST_LABEL and _LABEL_ALONE.fullmatch(text) is not None


def is_name(text: str) -> bool:
    """Whether it can be the name of most other objects, and a name in DNS."""
    return len(text) <= _LONGEST_NAME and _LABELS.fullmatch(text) is not None
