"""Which webhooks are asked about a request, in which order, and what becomes of their answers."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubesim.admission.reviewing import Asker, Invocation, ask
from kubesim.auth.rbac import user_of
from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS
from kubesim.rules.webhook_configurations import ClientConfig, Hook
from kubesim.store.versions import Tree
from kubesim.time import run
from kubesim.writes.asking import VALIDATING, about
from kubesim.writes.parts import ObjectPart
from tests.kubesim.hooks import (
    CONFIGURATIONS,
    HOST,
    MAPS,
    PODS,
    Recorder,
    a_hook,
    a_map,
    a_pod,
    a_rule,
    answering,
    configure,
    decoded,
    message,
    on_a_cluster,
    patching,
    send,
)

LABEL = {"op": "add", "path": "/metadata/labels", "value": {"added": "yes"}}
SETS = "/apis/apps/v1/namespaces/default/statefulsets"
SPEC: Tree = {
    "selector": {"matchLabels": {"app": "cart"}},
    "template": {"metadata": {"labels": {"app": "cart"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}


@pytest.mark.parametrize(
    ("rule", "matches"),
    [
        (a_rule("CREATE", "configmaps"), True),
        (a_rule("UPDATE DELETE", "configmaps"), False),
        (a_rule("*", "*"), True),
        (a_rule("*", "*/*"), True),
        (a_rule("*", "configmaps/*"), True),
        (a_rule("*", "configmaps/status"), False),
        (a_rule("*", "secrets"), False),
        (a_rule(apiGroups=[""]), True),
        (a_rule(apiGroups=["apps"]), False),
        (a_rule(apiVersions=["v2"]), False),
        (a_rule(scope="Namespaced"), True),
        (a_rule(scope="Cluster"), False),
    ],
)
def test_rules_say_which_requests_are_reviewed(rule: Tree, matches: bool) -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> None:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "validating", "v", a_hook("one", rule))
        await send(cluster, "POST", MAPS, a_map("a"))

    on_a_cluster(script)

    assert bool(hook.names) is matches


def test_subresources_are_reviewed_only_where_a_rule_names_them() -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> None:
        cluster.network.serve(HOST, hook)
        hooks = [a_hook(name, a_rule("*", resources)) for name, resources in (("whole", "pods"), ("part", "pods/*"))]
        await configure(cluster, "validating", "v", *hooks)
        await send(cluster, "POST", PODS, a_pod("p"))
        await send(cluster, "PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}})
        target = {"metadata": {"name": "p"}, "target": {"name": "node"}}
        await send(cluster, "POST", f"{PODS}/p/binding", target)

    on_a_cluster(script)

    told = [(name, asked["operation"], asked.get("subResource", "")) for name, asked in hook.asked]
    assert told == [
        ("whole", "CREATE", ""),
        ("part", "CREATE", ""),
        ("part", "UPDATE", "status"),
        ("part", "CREATE", "binding"),
    ]
    assert hook.asked[-1][1]["kind"] == {"group": "", "version": "v1", "kind": "Binding"}


def test_namespaces_and_objects_are_selected_by_labels() -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> None:
        cluster.network.serve(HOST, hook)
        await send(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        here = {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["other"]}]}
        await configure(
            cluster,
            "validating",
            "v",
            a_hook("here", namespaceSelector=here),
            a_hook("red", objectSelector={"matchLabels": {"color": "red"}}),
        )
        await send(cluster, "POST", MAPS.replace("default", "other"), a_map("a", color="red"))
        await send(cluster, "POST", MAPS, a_map("b"))
        await send(cluster, "POST", MAPS, a_map("c", color="red"))
        hook.asked.clear()
        await send(cluster, "PATCH", f"{MAPS}/c", {"metadata": {"labels": {"color": None}}})

    on_a_cluster(script)

    assert hook.names == ["here", "red"], "the object was red before"


def test_the_selected_namespace_of_a_namespace_is_itself() -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> None:
        cluster.network.serve(HOST, hook)
        wanted = {"matchLabels": {"team": "a"}}
        await configure(cluster, "validating", "v", a_hook("one", a_rule("*", "namespaces"), namespaceSelector=wanted))
        for name, labels in (("mine", {"team": "a"}), ("theirs", {"team": "b"})):
            await send(cluster, "POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        for name in ("mine", "theirs"):
            await send(cluster, "DELETE", f"/api/v1/namespaces/{name}")

    on_a_cluster(script)

    assert [(asked["operation"], asked["namespace"]) for _, asked in hook.asked] == [
        ("CREATE", "mine"),
        ("DELETE", "mine"),
    ]


@pytest.mark.parametrize(("policy", "asked"), [("Equivalent", ["Event"]), ("Exact", [])])
def test_a_rule_for_an_equivalent_version_matches_unless_told_to_be_exact(policy: str, asked: list[str]) -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> int:
        cluster.network.serve(HOST, hook)
        rule = a_rule("CREATE", "events", apiGroups=["events.k8s.io"], apiVersions=["v1"])
        await configure(cluster, "mutating", "v", a_hook("one", rule, matchPolicy=policy))
        event = {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod"}, "message": "hello"}
        return (await send(cluster, "POST", "/api/v1/namespaces/default/events", event)).status

    assert on_a_cluster(script) == 201
    assert [request["kind"]["kind"] for _, request in hook.asked] == asked
    for _, request in hook.asked:
        assert (request["kind"]["group"], request["requestKind"]["group"]) == ("events.k8s.io", "")
        assert request["object"]["note"] == "hello"


def test_configurations_are_asked_by_name_and_their_webhooks_in_order() -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> None:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "mutating", "b", a_hook("third"))
        await configure(cluster, "mutating", "a", a_hook("first"), a_hook("second"))
        await send(cluster, "POST", MAPS, a_map("a"))

    on_a_cluster(script)

    assert hook.names == ["first", "second", "third"]
    assert hook.most_at_once == 1


def test_validating_webhooks_are_asked_at_once_and_the_first_refusal_in_order_counts() -> None:
    async def slow(_request: Tree) -> Tree:
        await asyncio.sleep(5)
        return {"allowed": False, "status": {"message": "slow no"}}

    async def script(cluster: Cluster) -> tuple[str, float]:
        cluster.network.serve("slow.svc", answering(slow))
        cluster.network.serve("quick.svc", answering(lambda _: {"allowed": False, "status": {"message": "quick no"}}))
        await configure(cluster, "validating", "v", a_hook("a", host="slow.svc"), a_hook("b", host="quick.svc"))
        start = clock.monotonic()
        answer = await send(cluster, "POST", MAPS, a_map("a"))
        return message(answer), clock.monotonic() - start

    assert on_a_cluster(script) == ('admission webhook "a.example.com" denied the request: slow no', 5.0)


def test_those_that_care_are_asked_again_after_the_change_of_another() -> None:
    second = patching({"op": "add", "path": "/data/second", "value": "yes"})
    hook = Recorder(b=second, d=second)

    async def script(cluster: Cluster) -> None:
        cluster.network.serve(HOST, hook)
        hooks = [a_hook(name, reinvocationPolicy="IfNeeded") for name in ("a", "b", "d")]
        await configure(cluster, "mutating", "m", *hooks, a_hook("e"))
        await send(cluster, "POST", MAPS, a_map("a"))

    on_a_cluster(script)

    # d changes nothing any more, so only a, which came before b's change, is asked again.
    assert hook.names == ["a", "b", "d", "e", "a"]


def test_what_a_webhook_adds_is_completed_and_checked_like_anything_sent() -> None:
    bad = patching({"op": "replace", "path": "/spec/containers/0/name", "value": "Not A Name"})
    extra = {"name": "sidecar", "image": "sidecar"}
    hook = Recorder(bad=bad, good=patching({"op": "add", "path": "/spec/containers/-", "value": extra}))

    async def script(cluster: Cluster) -> tuple[int, Tree]:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "mutating", "bad", a_hook("bad", a_rule("CREATE", "pods")))
        refused = await send(cluster, "POST", PODS, a_pod("p"))
        await send(cluster, "DELETE", f"{CONFIGURATIONS}/mutatingwebhookconfigurations/bad")
        await configure(cluster, "mutating", "good", a_hook("good", a_rule("CREATE", "pods")))
        return refused.status, decoded(await send(cluster, "POST", PODS, a_pod("p")))

    status, pod = on_a_cluster(script)

    assert status == 422
    assert [container["imagePullPolicy"] for container in pod["spec"]["containers"]] == ["Always", "Always"]
    seen = hook.asked[0][1]["object"]
    assert len(seen["spec"]["tolerations"]) == 2, "what the server adds is there before"
    assert seen["status"] == {}, "it is what a client may send, not what the object is born with"


def test_a_scale_that_a_webhook_changes_is_what_is_stored() -> None:
    hook = Recorder(one=patching({"op": "replace", "path": "/spec/replicas", "value": 2}))

    async def script(cluster: Cluster) -> tuple[Tree, Tree]:
        cluster.network.serve(HOST, hook)
        await send(cluster, "POST", SETS, {"metadata": {"name": "cart"}, "spec": SPEC})
        await configure(cluster, "mutating", "m", a_hook("one", a_rule("*", "statefulsets/scale")))
        scale = decoded(await send(cluster, "PATCH", f"{SETS}/cart/scale", {"spec": {"replicas": 5}}))
        return scale, decoded(await send(cluster, "GET", f"{SETS}/cart"))

    scale, stored = on_a_cluster(script)

    assert (scale["kind"], scale["spec"]["replicas"], stored["spec"]["replicas"]) == ("Scale", 2, 2)


def test_warnings_are_told_once_each_also_with_a_refusal() -> None:
    hook = Recorder(
        a={"warnings": ["mind the gap", 'say "please"']},
        b={"warnings": ["mind the gap", "no\nlines", ""], "allowed": False},
    )

    async def script(cluster: Cluster) -> tuple[int, str]:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "validating", "v", a_hook("a"), a_hook("b"))
        answer = await send(cluster, "POST", MAPS, a_map("a"))
        return answer.status, answer.headers["warning"]

    assert on_a_cluster(script) == (400, '299 - "mind the gap", 299 - "say \\"please\\""')


def test_many_long_warnings_are_shortened() -> None:
    hook = Recorder(one={"warnings": [f"{number:03}" + "x" * 500 for number in range(20)]})

    async def script(cluster: Cluster) -> list[str]:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "validating", "v", a_hook())
        return (await send(cluster, "POST", MAPS, a_map("a"))).headers["warning"].split(", ")

    warnings = on_a_cluster(script)

    assert len(warnings) == 16
    assert {len(warning) for warning in warnings} == {256 + len('299 - ""')}


def test_configurations_themselves_are_not_reviewed() -> None:
    hook = Recorder(one={"allowed": False})

    async def script(cluster: Cluster) -> int:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "validating", "v", a_hook("one", a_rule("*", "*/*")))
        return (await send(cluster, "DELETE", f"{CONFIGURATIONS}/validatingwebhookconfigurations/v")).status

    assert on_a_cluster(script) == 200
    assert hook.names == []


def test_a_webhook_with_side_effects_is_not_asked_in_a_dry_run() -> None:
    """Only configurations from before the rule can say so."""

    async def caller(_call: Call) -> Reply:
        raise AssertionError("asked")

    async def script(cluster: Cluster) -> None:
        kind = cluster.verbs.registry.kind(CONFIG_MAPS)
        hook = Hook("old.example.com", ClientConfig("https://hook/"), "Some", ("v1",), "Ignore", "Exact", 10)
        question = about(ObjectPart(kind, "default", "a"), VALIDATING, "CREATE", dry_run=True)
        await ask(Invocation(kind, kind.resource, hook), question, Asker(user_of("admin"), {}), "uid", caller)

    with pytest.raises(StatusError, match=r'admission webhook "old\.example\.com" does not support dry run') as caught:
        on_a_cluster(script)
    assert caught.value.code == 400


def test_the_options_of_a_request_are_told_wherever_they_were_given() -> None:
    hook = Recorder()

    async def script(cluster: Cluster) -> list[int]:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "validating", "v", a_hook())
        made = await send(cluster, "POST", f"{MAPS}?fieldManager=me&gracePeriodSeconds=many", a_map("a"))
        gone = await send(cluster, "DELETE", f"{MAPS}/a?gracePeriodSeconds=5", {"propagationPolicy": "Orphan"})
        return [made.status, gone.status]

    assert on_a_cluster(script) == [201, 200]
    meta = {"apiVersion": "meta.k8s.io/v1"}
    assert [asked["options"] for _, asked in hook.asked][:2] == [
        {"kind": "CreateOptions", "fieldManager": "me"} | meta,
        {"kind": "DeleteOptions", "propagationPolicy": "Orphan"} | meta,
    ]


def test_the_same_seed_asks_under_the_same_uids() -> None:
    def uids() -> list[str]:
        hook = Recorder()

        async def scenario() -> None:
            cluster = Cluster(seed=7)
            cluster.network.serve(HOST, hook)
            await configure(cluster, "validating", "v", a_hook("a"), a_hook("b"))
            await send(cluster, "POST", MAPS, a_map("a"))

        run(scenario(), seed=3)
        return [asked["uid"] for _, asked in hook.asked]

    first = uids()

    assert len(set(first)) == 2
    assert first == uids()
