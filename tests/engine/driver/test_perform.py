"""Writes are carried out in order, each noted in the ledger and the audit; the first failure stops the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import AnyWrite, Apply, Create, Delete, Does, EventNote, Patch, PatchKind, Replace
from fairlead.core.audit import AuditLine
from fairlead.core.digests import digest_of
from fairlead.engine.driver.applied import Applied
from fairlead.engine.driver.perform import Effects, Round, carry_out, digest, request_for
from fairlead.engine.driver.slow_writes import SlowWrites
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError, Conflict, NotFound, RateLimited, ServerError, TransportError
from kubeloop.ledger import SETTLE
from kubeloop.objects.apps import STATEFULSETS, StatefulSet, StatefulSetMeta
from kubeloop.objects.core import PODS, Pod, PodMeta
from kubeloop.objects.meta import Ref, Resource
from kubeloop.rate_limit import Limiter
from kubeloop.request import Request, Response, Stream
from kubeloop.store import Store
from kubeloop.watch import Selection
from kubesim.time import run
from tests.kubeloop.ledgers import ShownLedger

ZONE = Ref(STATEFULSETS, "test", "zone-a", "uid-zone-a")
WRITE_TIMEOUT = 4.0
THIS = Round("7", "test/ingester", "roll", "Rolling", "d1", "zones test/ingester")


def pod(name: str) -> Ref:
    return Ref(PODS, "test", name, f"uid-{name}")


def deletion(name: str) -> Delete:
    told = EventNote(ZONE, False, "PodTerminated", f"Deleted pod {name}")
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
    """An informer that shows these objects and has not come as far as any write."""

    def __init__(self, *shown: Ref) -> None:
        self.store: Store[Pod] = Store()
        self.version = "10"
        self.listed_at = -1.0
        self.selection = Selection(PODS)
        for ref in shown:
            self.store.put(Pod(PodMeta(ref.name, ref.uid, "5", namespace=ref.namespace)))

    def ask_for_list(self) -> None:
        raise AssertionError("whoever carries out asks for no list")


class Told:
    def __init__(self) -> None:
        self.lines: list[AuditLine] = []
        self.tells: list[EventNote] = []

    def outcomes(self) -> list[tuple[str, str]]:
        return [(line.subject, line.outcome) for line in self.lines]


def carried(server: Server, *writes: AnyWrite) -> tuple[Told, ShownLedger, Exception | None]:
    told, ledger = Told(), ShownLedger(10)

    async def scenario() -> Exception | None:
        effects = Effects(Client(server), ledger, told.lines.append, told.tells.append, WRITE_TIMEOUT)
        try:
            await carry_out(writes, THIS, effects)
        except Exception as error:  # noqa: BLE001  the test looks at it
            return error
        return None

    return told, ledger, run(scenario())


def expected(ledger: ShownLedger, caches: Mapping[Resource, Cache], scope: str = THIS.scope) -> tuple[str, ...]:
    async def scenario() -> tuple[str, ...]:
        return tuple(ref.name for ref in ledger.pending_in(scope, caches))

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


def test_a_delete_may_be_bound_to_a_version_and_is_no_failure_where_somebody_was_faster() -> None:
    server = Server({"/api/v1/namespaces/test/pods/a-0": status(409, "Conflict")})
    bound = structs.replace(deletion("a-0"), resource_version="5", contested=True)

    told, ledger, error = carried(server, bound, deletion("a-1"))

    assert error is None
    assert msgspec.json.decode(server.requests[0].body)["preconditions"] == {"uid": "uid-a-0", "resourceVersion": "5"}
    assert told.outcomes() == [("pod/a-0", "conflict")], "what comes after it is decided anew"
    assert told.lines[0].precondition == "uid=uid-a-0 resourceVersion=5"
    assert expected(ledger, {PODS: Cache(pod("a-0"))}) == ("a-0",), "the cache must show what the other did"
    assert expected(ledger, {PODS: Cache()}) == ()


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
    assert expected(ledger, {PODS: Cache(pod("a-0"), pod("a-1"))}) == ("a-0", "a-1"), "the cache must show it too"
    assert expected(ledger, {PODS: Cache()}) == ()


def test_a_conflict_on_a_status_write_is_a_failure() -> None:
    server = Server({"/apis/apps/v1/namespaces/test/statefulsets/zone-a/status": status(409, "Conflict")})

    _, _, error = carried(server, completion())

    assert isinstance(error, Conflict)


def test_a_status_write_to_a_set_that_vanished_is_nothing_to_do() -> None:
    server = Server({"/apis/apps/v1/namespaces/test/statefulsets/zone-a/status": status(404, "NotFound")})

    told, ledger, error = carried(server, completion())

    assert error is None
    assert told.outcomes() == [("statefulset/zone-a", "gone")]
    assert expected(ledger, {STATEFULSETS: Cache(ZONE)}) == ("zone-a",), "the cache must show it too"
    assert expected(ledger, {STATEFULSETS: Cache()}) == ()


WIDGET = Ref(Resource("example.com", "v1", "widgets", "Widget"), "test", "w")


@pytest.mark.parametrize(
    ("write", "path"),
    [
        (
            Apply(does=Does.APPLY_OBJECT, ref=WIDGET, body=b"{}", manager="m"),
            "/apis/example.com/v1/namespaces/test/widgets/w",
        ),
        (
            Create(does=Does.APPLY_OBJECT, resource=WIDGET.resource, namespace="test", name="w", body=b"{}"),
            "/apis/example.com/v1/namespaces/test/widgets",
        ),
    ],
    ids=["apply", "create"],
)
def test_an_object_that_cannot_be_made_because_its_kind_or_namespace_is_missing_is_a_failure(
    write: AnyWrite, path: str
) -> None:
    told, _, error = carried(Server({path: status(404, "NotFound")}), write)

    assert isinstance(error, NotFound)
    assert told.outcomes() == [("widget/w", str(error))]


def test_a_written_version_is_expected_in_the_cache() -> None:
    _, ledger, _ = carried(Server(), completion())

    assert expected(ledger, {STATEFULSETS: Cache()}) == ("zone-a",)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (None, TransportError),
        (status(500, "InternalError"), ServerError),
        (status(504, "Timeout"), ServerError),
        (Response(200, b"<html>welcome</html>"), TransportError),
        (Response(200, b'{"metadata": "\xff"}'), TransportError),
    ],
    ids=["no answer", "500", "504", "a success in HTML", "a success in no known letters"],
)
def test_a_write_of_which_nothing_is_known_fails_and_is_expected_until_a_list_that_begins_when_it_must_be_over(
    answer: Response | None, kind: type[Exception]
) -> None:
    server = Server({"/api/v1/namespaces/test/pods/a-0": answer})
    cache = Cache()

    told, ledger, error = carried(server, deletion("a-0"), deletion("a-1"))

    assert isinstance(error, kind)
    assert len(server.requests) == 1
    assert told.outcomes() == [("pod/a-0", str(error))]
    assert told.tells == []
    cache.listed_at = SETTLE - 0.1
    assert expected(ledger, {PODS: cache}) == ("a-0",)
    cache.listed_at = SETTLE
    assert expected(ledger, {PODS: cache}) == ()


def test_a_success_without_a_version_is_not_believed() -> None:
    path = "/apis/apps/v1/namespaces/test/statefulsets/zone-a/status"
    server = Server({path: Response(200, b'{"kind": "Status", "status": "Success"}')})

    _, ledger, error = carried(server, completion())

    assert isinstance(error, TransportError)
    assert expected(ledger, {STATEFULSETS: Cache()}) == ("zone-a",)


@pytest.mark.parametrize("refusal", [status(403, "Forbidden"), status(422, "Invalid"), status(429, "TooManyRequests")])
def test_a_write_that_was_refused_leaves_nothing_to_expect(refusal: Response) -> None:
    server = Server({"/api/v1/namespaces/test/pods/a-0": refusal})

    _, ledger, error = carried(server, deletion("a-0"))

    assert isinstance(error, ApiError)
    assert expected(ledger, {PODS: Cache(pod("a-0"))}) == ()


def test_writes_are_expected_in_their_own_scope() -> None:
    _, ledger, _ = carried(Server(), structs.replace(completion(), scope="uid-zone-a"))

    assert expected(ledger, {STATEFULSETS: Cache()}) == ()
    assert expected(ledger, {STATEFULSETS: Cache()}, "uid-zone-a") == ("zone-a",)


class Slow(Server):
    """Answers after a minute."""

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(60)
        return await super().send(request)


def test_all_writes_are_pending_from_before_the_first_is_sent() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(10)
        effects = Effects(Client(Slow()), ledger, lambda _: None, lambda _: None, 90.0)
        writes = (structs.replace(deletion("a-0"), scope="one"), structs.replace(deletion("b-0"), scope="two"))
        caches = {PODS: Cache()}

        carrying = asyncio.create_task(carry_out(writes, THIS, effects))
        await asyncio.sleep(1)

        assert [ref.name for scope in ("one", "two") for ref in ledger.pending_in(scope, caches)] == ["a-0", "b-0"]
        await carrying
        assert ledger.pending_in("one", caches) == ledger.pending_in("two", caches) == ()

    run(scenario())


def test_a_write_that_is_cancelled_has_an_unknown_outcome() -> None:
    async def scenario() -> None:
        ledger = ShownLedger(10)
        effects = Effects(Client(Slow()), ledger, lambda _: None, lambda _: None, 90.0)
        carrying = asyncio.create_task(carry_out((deletion("a-0"),), THIS, effects))
        await asyncio.sleep(1)

        carrying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await carrying

        assert ledger.pending_in(THIS.scope, {PODS: Cache()}) == (pod("a-0"),)

    run(scenario())


def test_a_write_is_given_up_after_the_time_that_writes_have() -> None:
    async def scenario() -> float:
        effects = Effects(Client(Slow(), timeout=300), ShownLedger(10), lambda _: None, lambda _: None, WRITE_TIMEOUT)
        with pytest.raises(TransportError, match="no answer within 4 seconds"):
            await carry_out((deletion("a-0"),), THIS, effects)
        return clock.monotonic()

    assert run(scenario()) == WRITE_TIMEOUT


def test_a_write_that_was_given_up_may_take_longer_the_next_time() -> None:
    async def scenario() -> list[float]:
        slow = SlowWrites(WRITE_TIMEOUT, 10.0)
        effects = Effects(
            Client(Slow(), timeout=300), ShownLedger(10), lambda _: None, lambda _: None, WRITE_TIMEOUT, slow=slow
        )
        ends = []
        for _ in range(3):
            with pytest.raises(TransportError, match="no answer within"):
                await carry_out((deletion("a-0"),), THIS, effects)
            ends.append(clock.monotonic())
        return ends

    assert run(scenario()) == [4.0, 4.0 + 8.0, 4.0 + 8.0 + 10.0]


def test_that_a_write_was_given_up_is_known_at_any_time_of_the_clock() -> None:
    """0.1 + 4 - 0.1 is less than 4 in floats."""

    async def scenario() -> float:
        slow = SlowWrites(WRITE_TIMEOUT, 10.0)
        client = Client(Slow(), timeout=300)
        effects = Effects(client, ShownLedger(10), lambda _: None, lambda _: None, WRITE_TIMEOUT, slow=slow)
        await asyncio.sleep(0.1)
        with pytest.raises(TransportError, match="no answer within"):
            await carry_out((deletion("a-0"),), THIS, effects)
        return slow.seconds(pod("a-0"))

    assert run(scenario()) == 2 * WRITE_TIMEOUT


def test_a_write_that_waits_for_the_own_rate_limit_says_nothing_about_the_server() -> None:
    """Else a busy operator would let its writes wait for tokens ever longer, on facts that are ever older."""

    async def scenario() -> tuple[float, list[str]]:
        slow, server = SlowWrites(WRITE_TIMEOUT, 30.0), Server()
        client = Client(server, timeout=300, limiter=Limiter(0.3, 1))
        effects = Effects(client, ShownLedger(10), lambda _: None, lambda _: None, WRITE_TIMEOUT, slow=slow)
        for name in ("a-0", "a-1"):
            await carry_out((deletion(name),), THIS, effects)
        return slow.seconds(pod("a-0")), [request.path.rpartition("/")[2] for request in server.requests]

    assert run(scenario()) == (WRITE_TIMEOUT, ["a-0", "a-1"])


def test_a_write_that_may_take_longer_waits_no_longer_for_the_own_rate_limit() -> None:
    async def scenario() -> None:
        slow = SlowWrites(WRITE_TIMEOUT, 30.0)
        slow.answered(pod("a-0"), 15.0)
        client = Client(Server(), timeout=300, limiter=Limiter(0.1, 1))
        effects = Effects(client, ShownLedger(10), lambda _: None, lambda _: None, WRITE_TIMEOUT, slow=slow)
        await carry_out((deletion("a-0"),), THIS, effects)
        with pytest.raises(RateLimited):
            await carry_out((deletion("a-1"),), THIS, effects)

    run(scenario())


def test_a_refusal_leaves_a_write_the_time_that_it_got_when_it_was_given_up() -> None:
    """A server that refuses at once, being too busy or because of a conflict, has not come to slow admission."""

    async def scenario() -> float:
        slow = SlowWrites(WRITE_TIMEOUT, 30.0)
        slow.given_up(pod("a-0"), WRITE_TIMEOUT)
        server = Server({"/api/v1/namespaces/test/pods/a-0": status(429, "TooManyRequests")})
        client = Client(server, timeout=300)
        effects = Effects(client, ShownLedger(10), lambda _: None, lambda _: None, WRITE_TIMEOUT, slow=slow)
        with pytest.raises(ApiError):
            await carry_out((deletion("a-0"),), THIS, effects)
        return slow.seconds(pod("a-0"))

    assert run(scenario()) == 2 * WRITE_TIMEOUT


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
    assert digest(("a@1", "b@2")) == digest(["a@1", "b@2"])
    assert len({digest(seen) for seen in (("a@1", "b@2"), ("a@1", "b@3"), ("a@1",), ("a@1b@2",))}) == 4


@pytest.mark.parametrize(("seconds", "sent"), [(0.01, 3), (0.3, 2), (1.0, 1)])
def test_what_is_not_sent_because_facts_have_grown_old_is_not_counted(seconds: float, sent: int) -> None:
    class Slow(Server):
        async def send(self, request: Request) -> Response:
            await asyncio.sleep(seconds)
            return await super().send(request)

    async def main() -> int:
        told, server = Told(), Slow()
        effects = Effects(Client(server), ShownLedger(10), told.lines.append, told.tells.append, WRITE_TIMEOUT)
        counted = await carry_out(tuple(map(deletion, "abc")), THIS, effects)
        assert counted == len(server.requests)
        return counted

    assert run(main(), seed=1) == sent


def test_an_apply_is_remembered_by_the_generation_that_it_left() -> None:
    body = msgspec.json.encode({"metadata": {"uid": "u", "resourceVersion": "9", "generation": 3}})
    path = "/apis/apps/v1/namespaces/test/statefulsets/zone-a"

    async def main() -> None:
        told, server, applied = Told(), Server({path: Response(200, body)}), Applied()
        effects = Effects(Client(server), ShownLedger(10), told.lines.append, told.tells.append, WRITE_TIMEOUT, applied)
        write = Apply(does=Does.APPLY_OBJECT, ref=ZONE, body=b"{}", manager="me", scope="u")
        await carry_out((write,), THIS, effects)

        shown = Store[StatefulSet]()
        meta = StatefulSetMeta("zone-a", "u", "12", namespace="test", generation=3)
        shown.put(StatefulSet(meta))
        cache = Cache()
        cache.store = shown  # type: ignore[assignment]

        assert applied.of("u", {STATEFULSETS: cache}) == {structs.replace(ZONE, uid=""): digest_of(b"{}")}

    run(main(), seed=1)
