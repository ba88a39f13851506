"""An object that cannot be read is reported, and costs the cache nothing else."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Raw, Struct

from kubeloop.decoding import decoded
from kubeloop.errors import Garbled
from kubeloop.objects.core import PodMeta
from kubeloop.request import Request, Response
from kubeloop.watch import Codec, Unreadable
from tests.kubeloop.informing import Scene, play, running, settle
from tests.kubeloop.scripted import Tree, a_pod


def test_an_object_that_cannot_be_read_is_reported_and_skipped_in_a_list() -> None:
    async def scenario() -> None:
        scene = Scene()
        broken = a_pod("broken")
        broken["status"]["conditions"] = "none"
        scene.api.put(a_pod("a"))
        scene.api.put(broken)

        async with running(scene):
            assert scene.names() == ["a"]
            assert list(scene.informer.unreadable) == [("ns", "broken")]
            assert "ns/broken cannot be read" in str(scene.troubles[0])

            scene.api.put(a_pod("broken"))
            await settle()
            assert scene.names() == ["a", "broken"]
            assert scene.informer.unreadable == {}

    play(scenario)


def test_an_object_that_becomes_unreadable_keeps_its_last_readable_state_until_it_is_deleted() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        broken = a_pod("a")
        broken["status"]["conditions"] = "none"
        async with running(scene):
            scene.api.put(broken)
            await settle()
            assert scene.names() == ["a"]
            assert "ns/a cannot be read" in str(scene.informer.last_error)

            scene.informer.ask_for_list()
            await settle()
            assert scene.api.lists_served == 2
            assert scene.names() == ["a"]

            scene.api.remove("a")
            await settle()
            assert scene.names() == []
            assert scene.story() == ["+uid-a", "-uid-a"]
            assert scene.informer.unreadable == {}

    play(scenario)


def test_an_object_that_cannot_be_read_is_reported_once_for_each_of_its_versions() -> None:
    async def scenario() -> None:
        scene = Scene()
        broken = a_pod("a")
        broken["status"]["conditions"] = "none"
        scene.api.put(broken)
        async with running(scene):
            for _ in range(3):
                scene.informer.ask_for_list()
                await settle()
            assert scene.api.lists_served == 4
            assert len(scene.troubles) == 1

            scene.api.put(broken)
            await settle()
            scene.informer.ask_for_list()
            await settle()

            assert len(scene.troubles) == 2
            assert scene.restored == []

    play(scenario)


DEEP = 20_000
NESTED = [
    pytest.param(b'{"f:a":' * DEEP + b"{}" + b"}" * DEEP, id="maps"),
    pytest.param(b"[" * DEEP + b"]" * DEEP, id="lists"),
    pytest.param(b'["]}\\"",' * DEEP + b"1" + b"]" * DEEP, id="brackets in texts"),
]


def nested(tree: Tree, where: str, value: bytes) -> bytes:
    """The object with that value under a name that only it has."""
    return msgspec.json.encode({**tree, "metadata": {**tree["metadata"], where: "HERE"}}).replace(b'"HERE"', value)


@pytest.mark.parametrize("value", NESTED)
def test_an_object_with_more_nesting_than_can_be_followed_keeps_no_other_from_being_read(value: bytes) -> None:
    """API servers keep managedFields as they are given, of any kind, by whoever may write one object."""

    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        scene.api.put(a_pod("b"))
        deep = {**a_pod("deep")["metadata"], "resourceVersion": "102"}

        async def answered(request: Request, when: str) -> Response | None:
            if when == "before" or ("watch", "true") in request.query:
                return None
            trees = [*scene.api.objects.values()]
            items = [msgspec.json.encode(each) for each in trees]
            items.append(nested({"metadata": deep}, "managedFields", value))
            return Response(200, b'{"metadata":{"resourceVersion":"102"},"items":[%b]}' % b",".join(items))

        scene.api.fault = answered
        async with running(scene):
            assert scene.names() == ["a", "b", "deep"]

            later = nested({"metadata": {**deep, "labels": {"app": "web"}, "resourceVersion": "110"}}, "x", value)
            scene.api.inject_line(b'{"type":"MODIFIED","object":' + later + b"}")
            await settle()
            assert [pod.metadata.name for pod in scene.informer.store.by("app", "web")] == ["deep"]

            unreadable = nested({"metadata": {**deep, "resourceVersion": "111"}}, "labels", value)
            scene.api.inject_line(b'{"type":"MODIFIED","object":' + unreadable + b"}")
            await settle()
            assert list(scene.informer.unreadable) == [("ns", "deep")]

            scene.api.inject_line(b'{"type":"DELETED","object":' + later.replace(b'"110"', b'"112"') + b"}")
            await settle()
            assert scene.names() == ["a", "b"]
            assert scene.api.open_watches == 1
            assert len(scene.troubles) == 1

    play(scenario)


class Loose(Struct, frozen=True):
    """A struct that holds whatever is there."""

    metadata: PodMeta
    spec: Raw = Raw(b"{}")


@pytest.mark.parametrize("value", NESTED)
def test_what_is_asked_for_and_lies_too_deep_is_never_shown_cut(value: bytes) -> None:
    codec = Codec(Loose)
    body = b'{"metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"5"},"spec":{"x":%b}}' % value

    items, version, _ = codec.page(b'{"metadata":{"resourceVersion":"7"},"items":[%b]}' % body)

    assert version == "7"
    assert [type(each) for each in items] == [Unreadable]
    with pytest.raises(Garbled):
        decoded(body, Loose, "a test")
    with pytest.raises(Garbled):
        decoded(body, Named, "a test", whole=True)
    assert decoded(body, Named, "a test").metadata.name == "a"


class Named(Struct, frozen=True):
    metadata: PodMeta
