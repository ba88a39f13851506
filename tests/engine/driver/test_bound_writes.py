"""Writes that somebody else may outrun, writes that are bound to a version, and writes that are only tried."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from msgspec import structs

from fairlead.core.act import AnyWrite, Apply, Create, Does, Patch, PatchKind
from fairlead.core.ask import Answer, Answers, Ask, Good, Need, Question, Read
from fairlead.core.decision import Decision, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.perform import Round, line_of, request_for
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.rounds import LOOK_AGAIN
from kubeloop.client import Client
from kubeloop.errors import Conflict
from kubeloop.objects.core import PODS, Pod, PodMeta
from kubeloop.objects.meta import Ref
from kubesim.time import run
from tests.engine.bare import bare_controller, bare_rounds
from tests.engine.driver.test_perform import CREATION, Cache, Server, carried, deletion, expected, pod, status
from tests.engine.world import Log

POD = pod("a-0")
AT = "/api/v1/namespaces/test/pods/a-0"
PATCH = Patch(
    does=Does.STAMP_READY,
    ref=POD,
    kind=PatchKind.MERGE,
    body=b'{"metadata":{"labels":{"a":"b"}}}',
    resource_version="5",
)
STEPS = structs.replace(PATCH, kind=PatchKind.JSON, body=b'[{"op":"remove","path":"/metadata/labels/a"}]')
APPLY = Apply(
    does=Does.STAMP_READY, ref=POD, body=b'{"kind":"Pod"}', manager="fairlead", force=True, resource_version="5"
)
OUTRUN = {AT: status(409, "Conflict"), "/api/v1/namespaces/test/pods": status(409, "AlreadyExists")}
CONTESTED: list[AnyWrite] = [structs.replace(each, contested=True) for each in (PATCH, STEPS, APPLY, CREATION)]


@pytest.mark.parametrize("write", [PATCH, APPLY], ids=["merge", "apply"])
def test_a_version_goes_with_the_object(write: AnyWrite) -> None:
    request = request_for(write)

    body = json.loads(request.body)
    assert (body["metadata"]["resourceVersion"], body["metadata"]["uid"]) == ("5", "uid-a-0")
    unbound = json.loads(request_for(structs.replace(write, resource_version="")).body)
    assert "resourceVersion" not in unbound.get("metadata", {})


def test_a_version_goes_before_the_steps_of_a_json_patch() -> None:
    first, second, third = json.loads(request_for(STEPS).body)

    assert first == {"op": "add", "path": "/metadata/uid", "value": "uid-a-0"}
    assert second == {"op": "add", "path": "/metadata/resourceVersion", "value": "5"}
    assert third == {"op": "remove", "path": "/metadata/labels/a"}


def test_the_audit_line_names_the_version() -> None:
    async def scenario() -> None:
        assert line_of(APPLY, Round("7", "test/a", "roll", "Rolling"), "ok").precondition == "resourceVersion=5"

    run(scenario())


@pytest.mark.parametrize("write", CONTESTED, ids=["merge", "json", "apply", "create"])
def test_a_contested_write_that_was_outrun_is_no_failure_and_ends_the_round(write: AnyWrite) -> None:
    server = Server(OUTRUN)

    told, _, error = carried(server, write, deletion("a-1"))

    assert error is None
    assert [line.outcome for line in told.lines] == ["exists" if isinstance(write, Create) else "conflict"]
    assert len(server.requests) == 1


def test_a_conflict_of_any_other_write_is_a_failure() -> None:
    _, _, error = carried(Server(OUTRUN), PATCH)

    assert isinstance(error, Conflict)


def test_what_another_has_written_is_waited_for_and_nothing_else() -> None:
    _, ledger, _ = carried(Server(OUTRUN), CONTESTED[0])
    cache = Cache(POD)

    assert expected(ledger, {PODS: cache}) == ("a-0",)
    cache.store.put(Pod(PodMeta("a-0", POD.uid, "6", namespace="test")))
    assert expected(ledger, {PODS: cache}) == ()


def test_an_object_that_another_has_made_is_waited_for_until_it_shows() -> None:
    _, ledger, _ = carried(Server(OUTRUN), CONTESTED[3])
    cache = Cache()

    assert expected(ledger, {PODS: cache}) == ("p",)
    cache.store.put(Pod(PodMeta("p", "u", "6", namespace="test")))
    assert expected(ledger, {PODS: cache}) == ()


def in_a_round(write: AnyWrite, server: Server) -> tuple[float | None, list[tuple[str, str]]]:
    """When it looks again, and what it says, of a round that wants this write."""
    log = Log()

    def decide(_: Answers, now: datetime) -> Decision:
        return Decision("stamp", Move(Reason.ROLLING, (write,)))

    async def scenario() -> float | None:
        rounds = bare_rounds(bare_controller(decide, Does.STAMP_READY), Client(server), log)
        return await rounds.run(RolloutKey(("test", "a")))

    return run(scenario()), [(level, message) for level, message, _ in log.records]


def test_a_round_that_was_outrun_looks_again_at_once_and_tells_no_failure() -> None:
    assert in_a_round(CONTESTED[0], Server(OUTRUN)) == (LOOK_AGAIN, [("debug", "somebody else wrote first")])


def test_the_log_calls_a_dry_run_neither_done_nor_failed() -> None:
    _, said = in_a_round(structs.replace(PATCH, dry_run=True), Server())

    assert said == [("debug", "write tried, and nothing stored")]


@pytest.mark.parametrize("write", [PATCH, APPLY, CREATION, deletion("a-0")], ids=["patch", "apply", "create", "delete"])
def test_a_dry_run_is_asked_of_the_server_and_leaves_nothing_to_expect(write: AnyWrite) -> None:
    server = Server()

    told, ledger, error = carried(server, structs.replace(write, dry_run=True, tell=None))

    (request,) = server.requests
    assert ("dryRun", "All") in request.query
    assert error is None
    assert [line.outcome for line in told.lines] == ["dry run"]
    assert expected(ledger, {PODS: Cache(POD)}) == ()


def test_a_dry_run_is_no_effect_and_its_answer_is_what_would_be_stored() -> None:
    heard: list[Question] = []
    tried = structs.replace(PATCH, dry_run=True)

    async def scenario() -> Answer:
        ask = asker(AskContext(Client(Server())), heard=lambda question, _: heard.append(question))
        await ask(PATCH)
        return await ask(tried)

    answer = run(scenario())

    assert isinstance(answer, Good)
    assert json.loads(answer.value)["metadata"]["uid"] == "u"
    assert heard == [PATCH]
    assert not Need(((tried, Ask(Read(Ref(PODS, "ns", "a")))),)).has_effect
    assert Need(((PATCH,),)).has_effect
