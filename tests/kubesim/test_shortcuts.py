"""Short ways of writing pods: whoever takes them, what is stored and answered is what the long way would have made."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kubeloop.request import JSON, MERGE_PATCH, Request, Response
from kubesim.auth.rbac import insider
from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS, VALIDATING_WEBHOOKS
from kubesim.store.versions import Author, Event
from kubesim.time import run
from tests.kubesim.hooks import a_hook, a_rule
from tests.kubesim.trees import Tree, a_pod

POD = "/api/v1/namespaces/default/pods/web-0"
READY = {"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}
RUNNING = {"phase": "Running", "conditions": [READY], "podIPs": [{"ip": "10.0.0.1"}], "podIP": "10.0.0.1"}


CONDITION = {"conditions": [{"type": "example.org/seen", "status": "True"}]}


def status(change: Tree, uid: str = "") -> Request:
    metadata = {"metadata": {"uid": uid}} if uid else {}
    return Request("PATCH", f"{POD}/status", body=msgspec.json.encode(metadata | {"status": change}))


def binding(node: str = "node-0", uid: str = "", name: str = "web-0", **typed: str) -> Request:
    metadata = {"name": name} | ({"uid": uid} if uid else {})
    body = {"metadata": metadata, "target": {"kind": "Node", "name": node}} | typed
    return Request("POST", f"{POD}/binding", body=msgspec.json.encode(body))


def deletion(**options: Any) -> Request:
    return Request("DELETE", POD, body=msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", **options}))


CASES: dict[str, list[Request]] = {
    "a pod is bound": [binding()],
    "a pod is bound twice": [binding(), binding("node-1")],
    "a Binding names another pod": [binding(name="web-1")],
    "a Binding is for another pod of the name": [binding(uid="another")],
    "a pod runs": [binding(), status(RUNNING)],
    "a status says nothing new": [binding(), status(RUNNING), status(RUNNING)],
    "a status takes something back": [binding(), status(RUNNING), status({"podIP": None, "podIPs": None})],
    "a status is for another pod of the name": [status(RUNNING, uid="another")],
    "a status changes what is decided once": [status({"qosClass": "Guaranteed"})],
    "a status has a broken address": [status({"podIPs": [{"ip": "here"}]})],
    "a status is no object": [Request("PATCH", f"{POD}/status", body=b"[]")],
    "a pod that waits is deleted": [deletion()],
    "a pod that runs is deleted": [binding(), status(RUNNING), deletion()],
    "a pod that runs is deleted twice": [binding(), status(RUNNING), deletion(), deletion()],
    "a deleted pod has ended": [binding(), status(RUNNING), deletion(), deletion(gracePeriodSeconds=0)],
    "a deletion is for another pod of the name": [deletion(preconditions={"uid": "another"})],
    "a deletion is tried out": [binding(), deletion(dryRun=["All"])],
    "a deletion waits for dependents": [binding(), deletion(propagationPolicy="Foreground")],
    "a deleted pod has a status": [binding(), deletion(), status(RUNNING)],
    "conditions are told twice": [binding(), status(CONDITION), status(CONDITION)],
    "conditions are no list": [binding(), status({"conditions": "x"})],
    "conditions are no objects": [binding(), status({"conditions": ["x"]})],
    "there are no conditions any more": [binding(), status({"conditions": []})],
    "a Binding is of another kind": [binding(kind="Pod", apiVersion="v1")],
    "a deletion is of another kind": [deletion(kind="Pod")],
    "a deletion has a word for its grace": [binding(), deletion(gracePeriodSeconds="5")],
    "a deletion is no object": [binding(), Request("DELETE", POD, body=b"[]")],
    "a deletion is no JSON": [binding(), Request("DELETE", POD, body=b"{")],
}


def played(requests: list[Request], *, short: bool) -> tuple[list[tuple[int, Any]], list[tuple[str, Tree, Author]]]:
    """What was answered, and what was written by whom."""

    async def scenario() -> tuple[list[tuple[int, Any]], list[tuple[str, Tree, Author]]]:
        cluster = Cluster(seed=1)
        cluster.verbs.create(PODS, "default", a_pod(), user="tester")
        written: list[tuple[str, Tree, Author]] = []

        def note(_resource: object, event: Event, author: Author) -> None:
            written.append((event.type, event.tree(), author))

        cluster.store.listen(note, PODS)
        if not short:
            cluster.handler.shortcuts.answer = lambda *_: None  # type: ignore[method-assign]
            cluster.handler.shortcuts.delete = lambda *_: None  # type: ignore[method-assign]
        transport = cluster.transport(insider("kubelet"))
        answers = []
        for each in requests:
            kind = MERGE_PATCH if each.method == "PATCH" else JSON
            answers.append(_read(await transport.send(msgspec.structs.replace(each, content_type=kind))))
            await asyncio.sleep(2)
        return answers, written

    return run(scenario())


def _read(answer: Response) -> tuple[int, Any]:
    return answer.status, msgspec.json.decode(answer.body)


@pytest.mark.parametrize("requests", CASES.values(), ids=CASES)
def test_the_short_way_ends_where_the_long_way_does(requests: list[Request]) -> None:
    assert played(requests, short=True) == played(requests, short=False)


def test_the_head_of_a_version_is_that_of_its_body() -> None:
    """Selectors, owners and preconditions are read from heads, so a head must follow each short write."""

    async def scenario() -> None:
        cluster = Cluster(seed=1)
        cluster.verbs.create(PODS, "default", a_pod(), user="tester")
        cluster.handler._writing = None  # type: ignore[assignment]  # the long way leads nowhere
        transport = cluster.transport(insider("kubelet"))
        for each in CASES["a pod that runs is deleted"]:
            kind = MERGE_PATCH if each.method == "PATCH" else JSON
            await transport.send(msgspec.structs.replace(each, content_type=kind))
            version = cluster.store.table(PODS).live["default", "web-0"]
            metadata = version.tree()["metadata"]
            assert version.head.deletion_timestamp == metadata.get("deletionTimestamp")
            assert version.head.deletion_grace_period_seconds == metadata.get("deletionGracePeriodSeconds")
            assert str(version.revision) == metadata["resourceVersion"]

    run(scenario())


def test_where_somebody_is_asked_the_long_way_is_taken() -> None:
    """A webhook that cannot be reached refuses what a short way would not even have asked about."""

    async def scenario() -> list[int]:
        cluster = Cluster(seed=1)
        cluster.verbs.create(PODS, "default", a_pod(node="node-0"), user="tester")
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods/*", "pods"]}
        hook = {
            "name": "asked.example.com",
            "rules": [rule],
            "clientConfig": {"url": "https://nobody.example.com/"},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        cluster.verbs.create(
            VALIDATING_WEBHOOKS, "", {"metadata": {"name": "asked"}, "webhooks": [hook]}, user="tester"
        )
        transport = cluster.transport(insider("kubelet"))
        refused = [
            await transport.send(msgspec.structs.replace(status(RUNNING), content_type=MERGE_PATCH)),
            await transport.send(msgspec.structs.replace(deletion(), content_type=JSON)),
        ]
        return [answer.status for answer in refused]

    assert run(scenario()) == [500, 500]


ELSEWHERE = {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}}


@pytest.mark.parametrize(
    "hook",
    [
        a_hook("other-kind", a_rule("*", "configmaps statefulsets/*")),
        a_hook("other-operation", a_rule("CONNECT", "pods/*")),
        a_hook("other-part", a_rule("*", "pods/eviction")),
        a_hook("other-namespace", a_rule("*", "*/*"), namespaceSelector=ELSEWHERE),
    ],
    ids=lambda hook: hook["name"],
)
def test_where_others_are_asked_about_something_else_the_short_way_stays(hook: Tree) -> None:
    async def scenario() -> list[int]:
        cluster = Cluster(seed=1)
        cluster.verbs.create(PODS, "default", a_pod(), user="tester")
        configuration = {"metadata": {"name": "asked"}, "webhooks": [hook]}
        cluster.verbs.create(VALIDATING_WEBHOOKS, "", configuration, user="tester")
        cluster.handler._writing = None  # type: ignore[assignment]  # the long way leads nowhere
        transport = cluster.transport(insider("kubelet"))
        sent = [
            msgspec.structs.replace(each, content_type=MERGE_PATCH if each.method == "PATCH" else JSON)
            for each in CASES["a pod that runs is deleted"]
        ]
        return [(await transport.send(each)).status for each in sent]

    assert set(run(scenario())) <= {200, 201}
