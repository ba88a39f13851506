"""From the bytes of a list and a watch to objects."""

from __future__ import annotations

import msgspec
import pytest

from kubeloop.errors import TransportError
from kubeloop.objects.core import PODS, Pod
from kubeloop.watch import Codec, Selection, Unreadable, WatchPace, is_older
from tests.kubeloop.scripted import a_pod


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("", "10", False),
        ("9", "", False),
        ("a", "b", False),
    ],
)
def test_versions_are_compared_as_numbers_or_not_at_all(version: str, than: str, older: bool) -> None:
    assert is_older(version, than=than) is older


def test_a_list_asks_for_no_version_so_that_no_old_cache_may_answer() -> None:
    request = Selection(PODS, "ns", "app=web", "spec.nodeName=n1").page(limit=2, token="")

    assert request.path == "/api/v1/namespaces/ns/pods"
    assert dict(request.query) == {"labelSelector": "app=web", "fieldSelector": "spec.nodeName=n1", "limit": "2"}


def test_a_watch_selects_what_its_list_selected() -> None:
    request = Selection(PODS, "ns", "app=web", "").watch("17", 300)

    assert dict(request.query) == {
        "watch": "true",
        "labelSelector": "app=web",
        "resourceVersion": "17",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
    }


def test_a_page_leaves_out_only_what_does_not_fit() -> None:
    good, bad = a_pod("good"), a_pod("bad")
    for number, tree in enumerate((good, bad)):
        tree["metadata"]["resourceVersion"] = str(number)
    bad["status"] = "lost"
    page = {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [good, bad]}

    items, version, token = Codec(Pod).page(msgspec.json.encode(page))

    assert [type(item) for item in items] == [Pod, Unreadable]
    assert isinstance(items[1], Unreadable)
    assert items[1].key == ("ns", "bad")
    assert (version, token) == ("7", "next")


def test_a_page_without_items_is_empty() -> None:
    items, _, _ = Codec(Pod).page(b'{"metadata":{"resourceVersion":"7"},"items":null}')

    assert items == []


def test_the_object_of_a_line_is_not_looked_at_before_its_type_is_known() -> None:
    line = Codec(Pod).line(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"},"status":7}}')

    assert Codec(Pod).identity(line.object).metadata.resource_version == "9"


@pytest.mark.parametrize(
    "data", [b"", b"{", b"<html>", b'{"type":"ADDED"}', b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}']
)
def test_a_line_that_cannot_be_read_is_a_failure_of_the_connection(data: bytes) -> None:
    codec = Codec(Pod)

    with pytest.raises(TransportError):
        codec.identity(codec.line(data).object)


def test_equal_seeds_wait_equally_and_no_seed_differs_between_processes() -> None:
    def delays(seed: int | None) -> list[float]:
        pace = WatchPace(seed)
        return [pace.next_delay() for _ in range(5)]

    assert delays(3) == delays(3)
    assert delays(None) != delays(None)


def a_line(kind: str, *, end: bytes = b"}\n") -> bytes:
    pod = a_pod("a")
    pod["metadata"]["resourceVersion"] = "7"
    return b'{"type":"' + kind.encode() + b'","object":' + msgspec.json.encode(pod) + end


@pytest.mark.parametrize("end", [b"}\n", b"}", b"}\r\n"])
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
def test_an_object_that_is_there_is_read_off_its_line(kind: str, end: bytes) -> None:
    codec = Codec(Pod)
    line = a_line(kind, end=end)

    assert codec.present(line) == codec.item(codec.line(line).object)


@pytest.mark.parametrize(
    "line",
    [
        a_line("DELETED"),
        a_line("BOOKMARK"),
        a_line("ADDED").replace(b'{"type"', b'{ "type"'),
        a_line("ADDED", end=b',"more":{}}\n'),
        a_line("ADDED").replace(b'"name":"a"', b'"name":1'),
        b'{"type":"ADDED","object":',
        b"",
    ],
)
def test_any_other_line_is_looked_at_in_parts(line: bytes) -> None:
    assert Codec(Pod).present(line) is None
