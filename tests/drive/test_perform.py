"""Writes are carried out in order, each noted in the ledger and the audit; the first failure stops the rest."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest

from fairlead.api.apps import STATEFULSETS
from fairlead.api.audit import Line
from fairlead.api.core import PODS, Pod
from fairlead.api.meta import Ref, Resource
from fairlead.decide.act import AnyWrite, Apply, Create, Delete, Does, Patch, PatchKind, Replace, Tell
from fairlead.drive.perform import Effects, Round, carry_out, digest, request_for
from fairlead.kube.client import Client
from fairlead.kube.errors import Conflict, ServerError, TransportError
from fairlead.kube.ledger import Ledger
from fairlead.kube.request import Request, Response, Stream
from fairlead.kube.store import Store
from fairlead.sim.time import run

ZONE = Ref(STATEFULSETS, "test", "zone-a", "uid-zone-a")
THIS = Round("7", "test/ingester", "roll", "Rolling", "d1")


def pod(name: str) -> Ref:
    return Ref(PODS, "test", name, f"uid-{name}")


def deletion(name: str) -> Delete:
    told = Tell(ZONE, False, "PodTerminated", f"Deleted pod {name}")
    return Delete(does=Does.TERMINATE_POD, ref=pod(name), change_from="old", change_to="new", tell=told)


def completion() -> Replace:
    return Replace(does=Does.COMPLETE_REVISION, ref=ZONE, body=b"{}", resource_version="41", subresource="status")


def status(code: int, reason: str) -> Response:
    return Response(code, msgspec.json.encode({"kind": "Status", "code": code, "reason": reason, "message": reason}))


def written(version: int) -> Response:
    return Response(200, msgspec.json.encode({"metadata": {"uid": "u", "resourceVersion": str(version)}}))


class Server:
    """Answers by path with what it was told, success by default; None stands for no answer at all."""

    def __init__(self, answers: Mapping[str, Response | None] = {}) -> None:
        self.requests: list[Request] = []
        self._answers = answers

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self._answers.get(request.path, written(50 + len(self.requests)))
        if answer is None:
            raise TransportError("connection reset")
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise AssertionError("nobody watches here")

    async def close(self) -> None:
        pass


class Cache:
    """An informer whose store shows nothing, so that whatever the ledger expects of it stays expected."""

    def __init__(self) -> None:
        self.store: Store[Pod] = Store()
        self.version = "10"
        self.listed_at = -1.0


class Told:
    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.tells: list[Tell] = []

    def outcomes(self) -> list[tuple[str, str]]:
        return [(line.subject, line.outcome) for line in self.lines]


def carried(server: Server, *writes: AnyWrite) -> tuple[Told, Ledger, Exception | None]:
    told, ledger = Told(), Ledger(10)

    async def scenario() -> Exception | None:
        effects = Effects(Client(server), ledger, told.lines.append, told.tells.append)
        try:
            await carry_out(writes, THIS, effects)
        except Exception as error:  # noqa: BLE001  the test looks at it
            return error
        return None

    return told, ledger, run(scenario())


def expected(ledger: Ledger, caches: Mapping[Resource, Cache]) -> tuple[str, ...]:
    async def scenario() -> tuple[str, ...]:
        return tuple(ref.name for ref in ledger.pending(THIS.scope, caches))

    return run(scenario())


def test_writes_are_sent_in_order_and_each_has_one_audit_line() -> None:
    server = Server()

    told, _, error = carried(server, completion(), deletion("b-0"))

    assert error is None
    assert [request.method for request in server.requests] == ["PUT", "DELETE"]
    assert told.outcomes() == [("statefulset/zone-a", "ok"), ("pod/b-0", "ok")]
    line = told.lines[1]
    assert (line.round, line.key, line.rule, line.reason) == ("7", "test/ingester", "roll", "Rolling")
    assert (line.does, line.verb, line.precondition) == ("terminate-pod", "delete", "uid=uid-b-0")
    assert (line.change_from, line.change_to, line.seen_digest) == ("old", "new", "d1")
    assert told.lines[0].precondition == "resourceVersion=41"
    assert told.lines[0].resource_version == "51"


def test_a_delete_is_bound_to_the_uid_that_was_decided_on() -> None:
    server = Server()

    carried(server, deletion("a-0"))

    options = msgspec.json.decode(server.requests[0].body)
    assert options["preconditions"] == {"uid": "uid-a-0"}


def test_the_first_failure_stops_the_rest_and_is_audited() -> None:
    server = Server({"/api/v1/namespaces/test/pods/a-1": status(500, "InternalError")})

    told, _, error = carried(server, deletion("a-0"), deletion("a-1"), deletion("a-2"))

    assert isinstance(error, ServerError)
    assert [request.path.rsplit("/", 1)[-1] for request in server.requests] == ["a-0", "a-1"]
    assert told.outcomes()[0] == ("pod/a-0", "ok")
    assert "InternalError" in told.outcomes()[1][1]
    assert [tell.text for tell in told.tells] == ["Deleted pod a-0"]


@pytest.mark.parametrize("code", [404, 409], ids=["it is gone", "its name is another's now"])
def test_a_pod_that_vanished_is_nothing_to_do_and_nothing_to_tell(code: int) -> None:
    server = Server({"/api/v1/namespaces/test/pods/a-0": status(code, "NotFound" if code == 404 else "Conflict")})

    told, ledger, error = carried(server, deletion("a-0"), deletion("a-1"))

    assert error is None
    assert told.outcomes() == [("pod/a-0", "gone"), ("pod/a-1", "ok")]
    assert [tell.text for tell in told.tells] == ["Deleted pod a-1"]
    assert expected(ledger, {PODS: Cache()}) == ()


def test_a_conflict_on_a_status_write_is_a_failure() -> None:
    server = Server({"/apis/apps/v1/namespaces/test/statefulsets/zone-a/status": status(409, "Conflict")})

    _, _, error = carried(server, completion())

    assert isinstance(error, Conflict)


def test_a_status_write_to_a_set_that_vanished_is_nothing_to_do() -> None:
    server = Server({"/apis/apps/v1/namespaces/test/statefulsets/zone-a/status": status(404, "NotFound")})

    told, _, error = carried(server, completion())

    assert error is None
    assert told.outcomes() == [("statefulset/zone-a", "gone")]


def test_a_written_version_is_expected_in_the_cache() -> None:
    _, ledger, _ = carried(Server(), completion())

    assert expected(ledger, {STATEFULSETS: Cache()}) == ("zone-a",)


def test_a_write_without_an_answer_is_expected_until_a_later_list() -> None:
    server = Server({"/api/v1/namespaces/test/pods/a-0": None})
    cache = Cache()

    _, ledger, error = carried(server, deletion("a-0"), deletion("a-1"))

    assert isinstance(error, TransportError)
    assert len(server.requests) == 1
    assert expected(ledger, {PODS: cache}) == ("a-0",)
    cache.listed_at = 1.0
    assert expected(ledger, {PODS: cache}) == ()


CREATION = Create(does=Does.TERMINATE_POD, resource=PODS, namespace="test", name="p", body=b"{}")


def test_an_object_that_exists_already_is_an_answer_and_must_show_in_the_cache() -> None:
    server = Server({"/api/v1/namespaces/test/pods": status(409, "AlreadyExists")})

    told, ledger, error = carried(server, CREATION)

    assert error is None
    assert told.outcomes() == [("pod/p", "exists")]
    assert expected(ledger, {PODS: Cache()}) == ("p",)


@pytest.mark.parametrize(
    ("write", "method", "path", "content_type"),
    [
        (deletion("a-0"), "DELETE", "/api/v1/namespaces/test/pods/a-0", "application/json"),
        (completion(), "PUT", "/apis/apps/v1/namespaces/test/statefulsets/zone-a/status", "application/json"),
        (CREATION, "POST", "/api/v1/namespaces/test/pods", "application/json"),
        (
            Patch(does=Does.TERMINATE_POD, ref=ZONE, kind=PatchKind.MERGE, body=b"{}", subresource="scale"),
            "PATCH",
            "/apis/apps/v1/namespaces/test/statefulsets/zone-a/scale",
            "application/merge-patch+json",
        ),
        (
            Apply(does=Does.TERMINATE_POD, ref=ZONE, body=b"{}", manager="fairlead", force=True),
            "PATCH",
            "/apis/apps/v1/namespaces/test/statefulsets/zone-a",
            "application/apply-patch+yaml",
        ),
    ],
    ids=["delete", "replace", "create", "patch", "apply"],
)
def test_every_verb_has_its_request(write: AnyWrite, method: str, path: str, content_type: str) -> None:
    request = request_for(write)

    assert (request.method, request.path, request.content_type) == (method, path, content_type)


def test_a_digest_names_what_was_seen() -> None:
    assert digest(("a", 1)) == digest(("a", 1))
    assert digest(("a", 1)) != digest(("a", 2))
