"""Commands show the operator's word where they may ask for it, and say what they cannot know where they may not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead import __version__
from fairlead.cli.documents_of import explain_all
from fairlead.cli.embedded.operator_pod import show_operator
from fairlead.cli.selection import is_complete
from fairlead.contracts import chart_of
from fairlead.core.explain import Explain, OperatorReport, Source, Stands
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION
from fairlead.engine.explain_endpoint import PATH, handling, silent
from fairlead.engine.manager import Manager
from fairlead.engine.serving.routes import dispatching, text
from kubeloop import request
from kubeloop.calls import Call, Handler, Reply
from kubeloop.client import Client
from kubeloop.objects.core import LEASES, PODS
from kubeloop.objects.meta import Ref, Resource
from kubesim.auth.rbac import User, master
from tests.contracts.zones.install.helm import render
from tests.contracts.zones.test_ignored_annotations import a_check_that_fails, rolled, zones
from tests.engine.world import World, play

ROLES = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
LOOKING = (
    {"apiGroups": ["", "apps"], "resources": ["pods", "statefulsets"], "verbs": ["get", "list"]},
    {"apiGroups": ["rollout-operator.grafana.com"], "resources": ["*"], "verbs": ["list"]},
)


async def look(world: World, user: str | User = master("somebody"), namespace: str = "test") -> Explain:  # noqa: B008
    (shown,) = await explain_all(Client(world.cluster.transport(user)), [namespace])
    return shown


LEASE = "fairlead-operator"
A_CONTAINER = {"ports": [{"name": "https", "containerPort": 8443}, {"name": "http-metrics", "containerPort": 8001}]}


async def pod(
    world: World,
    handler: Handler | None,
    name: str = "operator-1",
    namespace: str = "test",
    chart: str = "rollout-operator",
    container: Mapping[str, object] = A_CONTAINER,
    port: int = 8001,
) -> None:
    """A pod as the chart makes them, and who answers in it."""
    address = f"10.0.0.{len(name) + ord(name[-1])}"
    labels = {"app.kubernetes.io/name": chart}
    spec = {"containers": [{"name": "operator", "image": "fairlead:1", **container}]}
    await world.create(PODS, namespace, {"metadata": {"name": name, "labels": labels}, "spec": spec})
    status = {"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}}
    body = msgspec.json.encode(status)
    ref = Ref(PODS, namespace, name)
    await world.client.call(request.patch(ref, "application/merge-patch+json", body, "status"))
    await asyncio.sleep(3)
    if handler is not None:
        world.cluster.network.serve(f"{address}:{port}", handler)


def telling(manager: Manager) -> Handler:
    async def report(namespaces: Sequence[str]) -> OperatorReport:
        return await manager.report("rollout-operator", namespaces)

    return dispatching({PATH: handling(report)})


def told_by(part: str) -> tuple[str, dict[str, Any]]:
    """What the pods of an installation are called, and what they say of their ports."""
    (template,) = (
        tree["spec"]["template"] for (kind, _), tree in render(chart=chart_of(part)).items() if kind == "Deployment"
    )
    (container,) = template["spec"]["containers"]
    said = {key: container[key] for key in ("ports", "readinessProbe") if key in container}
    return template["metadata"]["labels"]["app.kubernetes.io/name"], said


@pytest.mark.parametrize(
    ("part", "port"),
    [("zones", 8001), ("environments", 3100), ("leaderworker", 8081), ("plans", 9440)],
    ids=["zones", "environments", "leaderworker", "plans"],
)
def test_the_operator_of_each_chart_is_asked_where_it_tells(part: str, port: int) -> None:
    """Where metrics are served over TLS alone, beside its probes."""
    chart, container = told_by(part)

    async def scenario(world: World) -> None:
        await world.zone("zone-a", "one")
        async with world.operating() as manager:
            await world.until(manager.ready.is_set)
            await pod(world, telling(manager), chart=chart, container=container, port=port)
            shown = await look(world)

        assert shown.source is not None
        assert shown.source.name == "pod operator-1"

    play(scenario)


def test_an_unreachable_prometheus_is_told_as_the_operator_says() -> None:
    async def scenario(world: World) -> None:
        prometheus = await a_check_that_fails(world)
        async with world.operating() as manager:
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(5)
            own = await look(world)
            await pod(world, telling(manager))
            prometheus.queries.clear()

            shown = await look(world)

            assert (own.source and own.source.by, own.blocked_by[0].reason) == ("command", "HealthCheckUnasked")
            assert own.again is None
            assert (shown.source and shown.source.by, shown.source and shown.source.name) == (
                "operator",
                "pod operator-1",
            )
            assert (shown.stands.phase, shown.blocked_by[0].reason) == ("Blocked", "HealthCheckFailing")
            assert shown.again is not None
            assert prometheus.queries == []

    play(scenario)


def test_what_was_decided_before_an_edit_is_not_taken_for_what_is_wanted_now() -> None:
    """Whoever edits and watches at once must not be told that all is complete."""

    async def scenario(world: World) -> None:
        await zones(world)
        async with world.operating() as manager:
            said = await manager.report("rollout-operator", ())

            async def old(_: Sequence[str]) -> OperatorReport:
                return said

            await pod(world, dispatching({PATH: handling(old)}))
            assert is_complete(await look(world))

            await world.roll("zone-a")
            shown = await look(world)

            assert not is_complete(shown)
            assert shown.source == Source("command", why="pod operator-1 has not decided about the newest change yet")

    play(scenario)


def test_of_two_replicas_the_one_that_leads_is_heard() -> None:
    async def scenario(world: World) -> None:
        await zones(world)

        async def standing_by(_: Sequence[str]) -> OperatorReport:
            return silent("rollout-operator")

        async with world.operating() as manager:
            await pod(world, dispatching({PATH: handling(standing_by)}), "a")
            assert (await look(world)).source == Source("command", why="no operator leads at the moment")

            await pod(world, telling(manager), "b", namespace="other")
            shown = await look(world)
            assert shown.source
            assert (shown.source.by, shown.source.name) == ("operator", "pod b")

    play(scenario)


def test_that_nobody_leads_is_told_with_the_reason_for_which_a_replica_leaves_the_lead_alone() -> None:
    """As after a rollback to a release of a lower minor version: its replicas are ready, and none of them acts."""

    async def scenario(world: World) -> None:
        await zones(world)
        newer = {"name": LEASE, "annotations": {MAX_OPERATOR_VERSION: "99.1.0"}}
        await world.create(LEASES, "test", {"metadata": newer, "spec": {}})
        manager = await world.operator(lease=LEASE)
        running = asyncio.create_task(manager.run())
        await pod(world, telling(manager))
        await asyncio.sleep(10)

        shown = await look(world)

        assert shown.source
        begun, _, why = shown.source.why.partition(" (")
        assert begun == "no operator leads at the moment, pod operator-1 leaves the lead alone"
        assert why.startswith(f"version {__version__} does not lead after 99.1.0: run 99.1.0 or a newer one")
        assert "--allow-downgrade" in why
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    play(scenario)


async def _page(_: Call) -> Reply:
    return text(200, "<html>not what you expect</html>")


async def _another_version(_: Call) -> Reply:
    return Reply(200, b'{"apiVersion":"fairlead.dev/v9","kind":"OperatorReport"}')


async def _broken(_: Call) -> Reply:
    return text(500, "this is a mistake of the operator; its log says more")


async def _hanging(_: Call) -> Reply:
    await asyncio.sleep(3600)
    return Reply(200)


UNREADABLE = "the answer of pod operator-1 cannot be read; it may be of another release"


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (dispatching({}), "pod operator-1 runs an operator that does not tell"),
        (_page, UNREADABLE),
        (_another_version, UNREADABLE),
        (_hanging, "pod operator-1 does not answer within 3s"),
        (_broken, "pod operator-1 cannot be asked (500, this is a mistake of the operator; its log says more)"),
    ],
)
def test_an_operator_that_cannot_be_asked_is_done_without(handler: Handler, why: str) -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        await pod(world, handler)

        shown = await look(world)

        assert shown.source == Source("command", why=why)
        assert (shown.stands.phase, shown.stands.done) == ("Current", 6)

    play(scenario)


def test_a_pod_that_nobody_answers_in_is_out_of_reach() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        await pod(world, None)

        shown = await look(world)

        assert shown.source
        assert shown.source.why.startswith("pod operator-1 cannot be asked (503, error trying to reach service: ")

    play(scenario)


def test_who_may_not_ask_the_operator_is_told_which_right_is_missing() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        await pod(world, dispatching({}))
        await grant(world, "jane", *LOOKING)

        shown = await look(world, "jane")

        right = "get pods/proxy in namespace test"
        assert shown.source == Source("command", why=f"you may not ask pod operator-1 ({right})")

    play(scenario)


def test_what_only_an_operator_knows_is_shown_as_it_says() -> None:
    """No object shows that it lacks a right, or how far its certificate is; what is in order is not shown."""
    right = Explain(
        part="apiversions",
        noun="right",
        namespace="test",
        rollout="patch.secrets",
        outcome="blocked",
        stands=Stands("missing", 0, 1, "rights"),
    )
    steady = structs.replace(right, noun="rotation", rollout="cert", outcome="done")
    report = OperatorReport(process="fairlead", version="1", leads=True, items=(right, steady))

    async def reported(_: Sequence[str]) -> OperatorReport:
        return report

    async def scenario(world: World) -> None:
        await pod(world, dispatching({PATH: handling(reported)}))

        shown = await look(world)

        assert (shown.noun, shown.rollout, shown.outcome) == ("right", "patch.secrets", "blocked")

    play(scenario)


def test_who_may_see_one_namespace_finds_the_operator_there() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        await world.zone("zone-c", "group", namespace="other")
        async with world.operating(namespaces=()) as manager:
            await pod(world, telling(manager))
            proxy = {"apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"]}
            for namespace in ("test", "other"):
                await grant(world, "jane", *LOOKING, proxy, namespace=namespace)

            near, far = await look(world, "jane"), await look(world, "jane", "other")

            assert near.source
            assert near.source.by == "operator"
            assert far.source
            assert far.source.why == "no operator was found in namespace other, and others may not be looked at"

    play(scenario)


def test_a_rollout_that_the_operator_does_not_know_is_worked_out() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        await world.zone("zone-c", "group", namespace="other")
        async with world.operating(namespaces=("test",)) as manager:
            await pod(world, telling(manager))

            assert (await look(world, namespace="other")).source == Source(
                "command", why="pod operator-1 does not look after it"
            )

    play(scenario)


def test_a_document_of_a_release_without_outcomes_is_not_shown() -> None:
    """Views go by the outcome; without it they would have to guess."""

    async def scenario(world: World) -> None:
        await zones(world)
        (own,) = await explain_all(world.client, ["test"])
        source = Source("operator", observed={"statefulset/zone-a": 1, "statefulset/zone-b": 1})
        earlier = structs.replace(own, outcome="", source=source)

        async def report(_: Sequence[str]) -> OperatorReport:
            return OperatorReport(process="x", version="1", leads=True, items=(earlier,))

        await pod(world, dispatching({PATH: handling(report)}))

        shown = await look(world)

        assert shown.source
        assert (shown.source.by, shown.outcome) == ("command", own.outcome)
        assert shown.source.why.endswith("is of an earlier release and tells no outcome")

    play(scenario)


def test_a_document_without_a_source_is_the_operators_and_about_nothing_known() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        stands = Stands("Blocked", 0, 1, "pods")
        bare = Explain(part="zones", namespace="test", rollout="group", outcome="blocked", stands=stands)

        async def report(_: Sequence[str]) -> OperatorReport:
            return OperatorReport(process="x", version="1", leads=True, items=(bare,))

        await pod(world, dispatching({PATH: handling(report)}))

        shown = await look(world)

        assert shown.source
        assert (shown.source.by, shown.stands.phase) == ("command", "Current")

    play(scenario)


async def grant(world: World, user: str, *rules: object, namespace: str = "") -> None:
    """The rules, everywhere or in one namespace."""
    name = f"{user}-{namespace}"
    await world.create(ROLES, "", {"metadata": {"name": name}, "rules": list(rules)})
    role = {"apiGroup": ROLES.group, "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": ROLES.group, "kind": "User", "name": user}]
    kind = Resource(ROLES.group, "v1", "rolebindings", "RoleBinding") if namespace else BINDINGS
    await world.create(kind, namespace, {"metadata": {"name": name}, "roleRef": role, "subjects": subjects})


def test_the_operator_of_fairlead_up_is_asked_as_a_pod_and_its_node_is_none_that_is_drained() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        async with world.operating() as manager:
            for _ in range(2):  # a cluster that was saved has the pod
                await show_operator(world.client, world.cluster.network, manager)
            await asyncio.sleep(3)

            shown = await look(world)

            assert shown.source
            assert (shown.source.by, shown.source.name) == ("operator", "pod fairlead")
            assert world.cluster.get(PODS, "kube-system", "fairlead")["spec"]["nodeName"] == "control-plane"

    play(scenario)
