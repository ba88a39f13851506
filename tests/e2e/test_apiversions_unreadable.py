"""Objects that the API server cannot read are deleted by a person's word, one by one (B11).

On the real server they are spoilt in etcd. The embedded cluster has no storage to spoil: there the answers of such a
server stand before it.
"""

from __future__ import annotations

import asyncio
import io
import json
from base64 import b64encode
from pathlib import Path

import aiohttp
import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.decide.unreadable import GATE, OPTION, UnreadableObject, ambiguous, chosen, found_in
from fairlead.engine.command import Usage
from fairlead.plane import programs
from fairlead.plane.build import Unavailable, find
from fairlead.plane.launch import Plane
from kubeloop.client import Client
from kubeloop.errors import ServerError, TransportError
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.request import Request, Response, Transport, place_of
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import Site, everywhere, played
from tests.e2e.widgets import Widgets, widgets

WHY = "object not decodable revision=210: unexpected end of JSON input"


class Spoilt:
    """A server that cannot read some widgets; with the feature gate it says which, and deletes them unread."""

    def __init__(self, transport: Transport, kind: Widgets, *names: str, gate: bool = True) -> None:
        self._transport, self._kind, self._gate = transport, kind, gate
        self.names = [*names]
        self.stream = transport.stream

    async def send(self, request: Request) -> Response:
        place = place_of(request.path)
        if (place.group, place.plural) != (self._kind.group, "widgets") or not self.names:
            return await self._transport.send(request)
        if not place.name:
            return self._unlisted() if request.method == "GET" else await self._transport.send(request)
        if place.name not in self.names:
            return await self._transport.send(request)
        if request.method != "DELETE" or not json.loads(request.body or b"{}").get(OPTION):
            return _status(500, "InternalError", f"Internal error occurred: StorageError: corrupt object, {WHY}")
        self.names.remove(place.name)
        return await self._transport.send(msgspec.structs.replace(request, body=b"{}"))

    def _unlisted(self) -> Response:
        if not self._gate:
            return _status(500, "", "unexpected end of JSON input")
        at = f"/registry/{self._kind.group}/widgets/{self._kind.site.namespace}"
        causes = [
            {"field": f"{at}/{each}", "message": f"StorageError: corrupt object, AdditionalErrorMsg: {WHY}"}
            for each in self.names
        ]
        return _status(500, "StorageReadError", "failed to read one or more widgets from the storage", causes)


def _status(code: int, reason: str, message: str, causes: list[dict[str, str]] | None = None) -> Response:
    details = {"details": {"causes": causes}} if causes else {}
    tree = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message, **details}
    return Response(code, msgspec.json.encode(tree))


async def deleting(client: Client, kind: Widgets, *words: str) -> Ran:
    return await api(client, "delete-unreadable", kind.name, *words, "--dependents", "ConfigMap")


async def three(site: Site) -> Widgets:
    kind = widgets(site)
    await kind.define("v1")
    for number in range(3):
        made = await kind.make(f"w-{number}")
        owner = {"apiVersion": f"{kind.group}/v1", "kind": "Widget", "name": f"w-{number}"}
        owners = [{**owner, "uid": made["metadata"]["uid"]}]
        await site.create(CONFIGMAPS, {"metadata": {"name": f"of-w-{number}", "ownerReferences": owners}})
    return kind


async def deletes(client: Client, kind: Widgets, folder: Path) -> None:
    """`w-1` cannot be read: what is told of it, what is refused, and how it goes."""
    place = f"{kind.site.namespace}/w-1"
    shown = await deleting(client, kind, "--dry-run")
    unasked = await deleting(client, kind)
    with pytest.raises(Usage, match="say which"):
        await deleting(client, kind, "--yes")
    wrong = await deleting(client, kind, "w-0", "--yes")
    ran = await deleting(client, kind, "w-1", "--yes", "--audit", str(folder / "audit"), "-o", "json")
    after = await deleting(client, kind)

    assert (shown.code, shown.out) == (codes.DONE, f"{place}: would be deleted\n")
    assert "finalizers are not waited for" in shown.err
    assert "collected as garbage: configmap/of-w-1" in shown.err
    assert (unasked.code, wrong.code) == (codes.PRECONDITION, codes.PRECONDITION)
    assert f"{place} --yes" in unasked.err
    assert "w-0 can be read" in wrong.err
    assert ran.code == codes.DONE
    (outcome,) = json.loads(ran.out)["objects"]
    assert (outcome["object"], outcome["outcome"], outcome["dependents"]) == (place, "deleted", ["configmap/of-w-1"])
    (line,) = (folder / "audit").read_text().splitlines()
    told = json.loads(line)
    assert (told["does"], told["subject"], told["outcome"]) == ("delete-unreadable", place, "ok")
    assert (after.code, after.out) == (codes.DONE, f"every object of {kind.name} can be read\n")
    assert sorted(await kind.all()) == ["w-0", "w-2"]


@everywhere(controllers=False, on=("sim",))
async def test_an_object_that_cannot_be_read_is_deleted_when_a_person_names_it(site: Site, tmp_path: Path) -> None:
    kind = await three(site)

    await deletes(Client(Spoilt(site.ground.transport("admin"), kind, "w-1")), kind, tmp_path)


@pytest.mark.real(controllers=False)
def test_on_a_real_server_it_is_one_that_is_spoilt_in_etcd(tmp_path: Path) -> None:
    plane = a_plane(GATE)

    async def scenario(site: Site) -> None:
        kind = await three(site)
        await spoil(plane, kind, "w-1")
        await deletes(site.client, kind, tmp_path)

    with plane:
        asyncio.run(played(plane, "unreadable", scenario))


@pytest.mark.long
@pytest.mark.real(controllers=False)
def test_a_real_server_without_the_feature_does_not_say_which_and_keeps_it(tmp_path: Path) -> None:
    plane = a_plane()

    async def scenario(site: Site) -> None:
        kind = await three(site)
        await spoil(plane, kind, "w-1")
        ran = await deleting(site.client, kind)
        assert ran.code == codes.PRECONDITION
        assert GATE in ran.err
        await forget(plane, kind, "w-1")  # else its definition could never go

    with plane:
        asyncio.run(played(plane, "unreadable", scenario))


def a_plane(*gates: str) -> Plane:
    try:
        find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    return Plane(controllers=False, gates=gates)


async def spoil(plane: Plane, kind: Widgets, name: str) -> None:
    """What is stored of it is no JSON any more."""
    await _ask_etcd(plane, "put", {"key": _key(kind, name), "value": _encoded('{"broken":')})


async def forget(plane: Plane, kind: Widgets, name: str) -> None:
    """Nothing is stored of it."""
    await _ask_etcd(plane, "deleterange", {"key": _key(kind, name)})


def _key(kind: Widgets, name: str) -> str:
    return _encoded(f"/registry/{kind.group}/widgets/{kind.site.namespace}/{name}")


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


async def _ask_etcd(plane: Plane, what: str, body: dict[str, str]) -> None:
    connector = aiohttp.UnixConnector(str(plane.folder / programs.ETCD_SOCKET))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"http://etcd/v3/kv/{what}", json=body) as answer,
    ):
        assert answer.status == 200, await answer.text()


@everywhere(controllers=False, on=("sim",))
async def test_without_the_feature_nothing_is_deleted(site: Site) -> None:
    kind = await three(site)
    client = Client(Spoilt(site.ground.transport("admin"), kind, "w-1", gate=False))

    ran = await deleting(client, kind, "w-1", "--yes")

    assert ran.code == codes.PRECONDITION
    assert f"turn on its feature gate {GATE}" in ran.err
    assert sorted(await kind.all()) == ["w-0", "w-1", "w-2"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@everywhere(controllers=False, on=("sim",))
async def test_each_is_asked_about_and_only_its_name_is_a_yes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = await three(site)
    client = Client(Spoilt(site.ground.transport("admin"), kind, "w-0", "w-1"))
    monkeypatch.setattr("sys.stdin", Terminal("yes\nw-1\n"))

    ran = await deleting(client, kind)

    assert ran.code == codes.DONE
    assert ran.out == f"{site.namespace}/w-0: kept\n{site.namespace}/w-1: deleted\n"
    assert "Type its name (w-0) to go on" in ran.err
    assert sorted(await kind.all()) == ["w-0", "w-2"]


class Cut(Spoilt):
    """The answer to a deletion is lost."""

    async def send(self, request: Request) -> Response:
        answer = await super().send(request)
        if request.method == "DELETE":
            raise TransportError("connection reset")
        return answer


@everywhere(controllers=False, on=("sim",))
async def test_a_deletion_whose_answer_is_lost_is_told_and_audited(site: Site, tmp_path: Path) -> None:
    """It may have been carried out, and nobody can look; the others follow."""
    kind = await three(site)
    client = Client(Cut(site.ground.transport("admin"), kind, "w-0", "w-1"))

    ran = await deleting(client, kind, "w-0", "w-1", "--yes", "--audit", str(tmp_path / "audit"), "-o", "json")

    assert ran.code == codes.OBJECTS_FAILED
    assert [each["outcome"] for each in json.loads(ran.out)["objects"]] == ["failed", "failed"]
    lines = [json.loads(each) for each in (tmp_path / "audit").read_text().splitlines()]
    assert [each["subject"] for each in lines] == [f"{site.namespace}/w-0", f"{site.namespace}/w-1"]
    assert all("whether it was carried out is not known" in each["outcome"] for each in lines)


@pytest.mark.parametrize("cause", [("", "too many errors"), ("/elsewhere/things/one", "x")], ids=["no key", "odd key"])
def test_a_list_that_fails_and_names_none_of_them_does_not_say_that_all_can_be_read(cause: tuple[str, str]) -> None:
    assert found_in(ServerError(500, "StorageReadError", "failed", causes=(cause,)), "a.test", "things") is None


def test_the_server_s_list_of_them_names_namespaces_and_says_when_it_is_cut() -> None:
    causes = (("/registry/a.test/things/ns/one", f"AdditionalErrorMsg: {WHY}"), ("/registry/a.test/things/two", "x"))
    error = ServerError(500, "StorageReadError", "failed", causes=(*causes, ("", "too many errors")))

    found = found_in(error, "a.test", "things")

    assert found is not None
    assert found.objects == (UnreadableObject("", "two", "x"), UnreadableObject("ns", "one", WHY))
    assert not found.is_whole
    assert found_in(ServerError(500, "InternalError", "else"), "a.test", "things") is None


def test_a_name_that_two_namespaces_have_is_not_enough() -> None:
    objects = (UnreadableObject("a", "one", ""), UnreadableObject("b", "one", ""), UnreadableObject("b", "two", ""))

    assert chosen(objects, ["b/one", "two", "three"]) == ((objects[1], objects[2]), ("three",))
    assert chosen(objects, ()) == (objects, ())
    assert ambiguous(objects, ["one"]) == "one"
    assert ambiguous(objects, ["b/one", "two"]) == ""
