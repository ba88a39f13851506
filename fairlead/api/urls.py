"""Addresses as they may be shown."""

from __future__ import annotations

import re

_BEFORE_HOST = re.compile(r"^((?:[A-Za-z][A-Za-z0-9+.-]*:)?//)?[^/]*@")


def shown_url(text: str) -> str:
    """The address without user, password, query and fragment, which are nobody's business in a log; never raises.

    `https://me:secret@pod:80/path?token=x` is `https://pod:80/path`.
    """
    return _BEFORE_HOST.sub(lambda found: found[1] or "", re.split("[?#]", text, maxsplit=1)[0])
