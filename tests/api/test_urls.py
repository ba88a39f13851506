"""Addresses without what is nobody's business."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.urls import shown_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://pod:80/path", "http://pod:80/path"),
        ("https://me:secret@pod:80/path?token=x#y", "https://pod:80/path"),
        ("http://me:se@cret@pod/a@b", "http://pod/a@b"),
        ("http://me:secret@[::1", "http://[::1"),
        ("//me:secret@pod/", "//pod/"),
        ("me:secret@pod", "pod"),
        ("/path?x=a@b", "/path"),
        ("", ""),
    ],
)
def test_user_password_query_and_fragment_are_left_out(url: str, shown: str) -> None:
    assert shown_url(url) == shown


@given(st.text())
def test_no_text_is_too_odd_to_be_shown(text: str) -> None:
    assert "?" not in shown_url(text)
