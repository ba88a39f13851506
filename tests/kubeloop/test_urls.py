"""Addresses without what is nobody's business."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.urls import origin_of, shown_url


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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://me@Pod.ns.:443/path", "https://pod.ns/", True),
        ("http://pod", "http://pod:80/x?y", True),
        ("http://pod", "https://pod", False),
        ("http://pod:443", "https://pod:443", False),
        ("http://pod", "http://pod:8080", False),
        ("http://pod", "http://pod.evil", False),
        ("http://[::1]:80/", "http://[::1]/", True),
    ],
)
def test_an_origin_is_scheme_host_and_port(one: str, other: str, *, same: bool) -> None:
    assert (origin_of(one) == origin_of(other)) is same


@pytest.mark.parametrize("url", ["http://[", "http://pod:port/", "http://pod:99999/"])
def test_what_is_no_address_has_no_origin(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of whichever words
        origin_of(url)
