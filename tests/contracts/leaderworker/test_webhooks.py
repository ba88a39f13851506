"""The webhooks of LeaderWorkerSets, bytes to bytes: upstream's paths, one answer to whatever comes (section 2.10)."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import msgspec
import pytest

from fairlead.contracts.leaderworker.decide.reviews import ReviewSnapshot
from fairlead.contracts.leaderworker.deciders import DECIDERS
from fairlead.contracts.leaderworker.kinds import GROUP_INDEX
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.watched import Watched
from fairlead.contracts.leaderworker.webhooks import (
    DEFAULT_POD,
    DEFAULT_SET,
    VALIDATE_DISAGGREGATED,
    VALIDATE_POD,
    VALIDATE_SET,
    endpoints,
    evictions,
)
from fairlead.core.ask import Answers, Need
from fairlead.core.decision import Admit
from fairlead.core.replay import DecidedRound, record_of, replayed
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.webhooks.admission import AdmissionContext
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop import clock
from kubeloop.calls import Reply
from kubeloop.informer import LONGEST_UNWATCHED
from kubesim.time import run
from tests.builders import NOW
from tests.contracts.leaderworker.decide.evicting import a_member, an_eviction
from tests.contracts.leaderworker.decide.sets import a_pod, a_review, a_set
from tests.contracts.leaderworker.decide.some import a_set as an_unbounded_set
from tests.engine.alone import caches_of
from tests.engine.webhooks.benches import body, call, response_of
from tests.engine.world import Log
from tests.kubeloop.scripted import Scripted

PATHS = (DEFAULT_SET, VALIDATE_SET, DEFAULT_POD, VALIDATE_POD, VALIDATE_DISAGGREGATED)


def answer(path: str, content: bytes) -> Reply:
    """Of a process that has seen nothing of its cluster."""

    async def scenario() -> Reply:
        log, client = Log().logger(), Scripted().client()
        context = AdmissionContext(Afterwards(log), log, lambda *_: None)
        hooks = Webhooks(endpoints(), AskContext(client), lambda: client, context)
        return await hooks.handler(call(content, path=path))

    return run(scenario())


def test_the_paths_are_upstreams() -> None:
    assert [each.paths for each in endpoints()] == [
        ("/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset",),
        ("/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset",),
        ("/mutate--v1-pod",),
        ("/validate--v1-pod",),
        ("/validate-disaggregatedset-x-k8s-io-v1-disaggregatedset",),
    ]


def test_a_pod_is_patched() -> None:
    response = response_of(answer(DEFAULT_POD, body(operation="CREATE", object=a_pod("a-1"))))

    operations = msgspec.json.decode(b64decode(response["patch"]))
    assert response["patchType"] == "JSONPatch"
    assert operations[0] == {"op": "add", "path": f"/metadata/labels/{GROUP_INDEX.replace('/', '~1')}", "value": "1"}


def test_a_denial_has_code_reason_and_text_of_upstreams() -> None:
    response = response_of(answer(VALIDATE_SET, body(operation="CREATE", object=a_set(replicas=-1))))

    assert (response["allowed"], response["status"]) == (
        False,
        {
            "code": 403,
            "reason": "Forbidden",
            "message": "spec.replicas: Invalid value: -1: replicas must be equal or greater than 0",
        },
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"not JSON", b'{"kind": "Pod"}', b"\xff"])
def test_what_is_no_review_is_400(path: str, content: bytes) -> None:
    reply = answer(path, content)

    assert reply.status == 400
    assert 0 < len(reply.body) < 300


@pytest.mark.parametrize("given", [None, [], "text", 7, {}, {"metadata": None, "spec": []}, {"metadata": "x"}])
@pytest.mark.parametrize("path", PATHS)
def test_every_review_is_answered(path: str, given: Any) -> None:
    for operation in ("CREATE", "UPDATE"):
        response = response_of(answer(path, body(operation=operation, object=given, oldObject=given)))

        assert response["allowed"] or response["status"]["message"]


@pytest.mark.parametrize("path", PATHS)
def test_a_recorded_review_is_decided_alike(path: str) -> None:
    given = a_pod("a-1") if "pod" in path else a_set(replicas=-1)
    seen = ReviewSnapshot(a_review(given), "volcano")
    made = DECIDERS[path].decide(seen, NOW)
    assert isinstance(made, Admit)

    again = replayed(record_of(DecidedRound(path, "test/a", "uid-1", NOW, seen, made), ReviewSnapshot, "0"), DECIDERS)

    assert not again.changes


@pytest.mark.parametrize("which", ["pods", "sets"])
def test_a_cache_that_nothing_brings_up_to_date_does_not_say_that_an_eviction_is_nobodys_business(which: str) -> None:
    """What came meanwhile, be it the pod or the budget of its set, is read live."""

    async def scenario() -> None:
        client = Scripted().client()
        watched = Watched(caches_of(client, Log().logger()), (), Settings())
        found = watched.of("default")
        found.pods.store.put(a_member(0, 1))
        found.sets.store.put(an_unbounded_set())
        endpoint, review = evictions(watched), an_eviction("a-0-1")
        assert isinstance(endpoint.judge(endpoint.gather(review, Answers()), NOW), Admit)

        getattr(found, which).behind_since = clock.monotonic() - LONGEST_UNWATCHED - 1

        assert isinstance(endpoint.judge(endpoint.gather(review, Answers()), NOW), Need)

    run(scenario())
