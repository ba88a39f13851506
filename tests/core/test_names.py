"""Names of objects and of DNS."""

from __future__ import annotations

import pytest

from fairlead.core.names import is_label, is_name


@pytest.mark.parametrize(
    ("text", "label", "name"),
    [
        ("a", True, True),
        ("a-0", True, True),
        ("a.b", False, True),
        ("a" * 63, True, True),
        ("a" * 64, False, True),
        ("a" * 254, False, False),
        ("", False, False),
        ("A", False, False),
        ("-a", False, False),
        ("a-", False, False),
        ("a..b", False, False),
        ("a.", False, False),
        ("a b", False, False),
        ("a\n", False, False),
        ("ä", False, False),
        ("a/b", False, False),
    ],
)
def test_what_is_a_label_and_what_a_name(text: str, label: bool, name: bool) -> None:
    assert (is_label(text), is_name(text)) == (label, name)
