"""Environments whose rollout cannot go on, on clusters whose own controllers act: they say so, once, and what helps."""

from __future__ import annotations

from fairlead.cli import exits
from fairlead.cli.commands.watch import WatchScope, within
from fairlead.cli.connect import Cluster
from fairlead.cli.documents_of import explain_all
from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, MATERIALIZES
from fairlead.contracts.environments.verbs import VERBS
from fairlead.core.explain import Block, Explain
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from kubesim.pods.behaviour import CRASH_AFTER, IMAGE_PULL, READY_AFTER
from tests.cli.notes import Notes
from tests.e2e.environments import NEWER, Scene, V, W, manifest, on_clusters
from tests.e2e.history import Tree
from tests.e2e.programs import finished
from tests.e2e.verbs import asked
from tests.e2e.zones import change, told

UNPULLABLE = {**W, "podAnnotations": {IMAGE_PULL: "fail"}}
CRASHING = {CRASH_AFTER: "500ms", READY_AFTER: "1m"}
"""Pods that crash before they are ready."""


async def look(scene: Scene) -> Explain:
    """By a command that finds no operator to ask."""
    (shown,) = await explain_all(scene.site.client, [scene.site.namespace])
    return shown


async def blocked(scene: Scene) -> Explain:
    """The document, once a look shows that the rollout is blocked."""

    async def is_blocked() -> Explain | None:
        shown = await look(scene)
        return shown if shown.stands.phase == "Blocked" else None

    found: Explain = await scene.until(is_blocked)
    return found


def warned(scene: Scene) -> list[Tree]:
    """The Events about the environment; its companions, whose pods get its annotations too, have their own."""
    events = scene.site.history.objects(EVENTS).values()
    about = [event for event in events if event["regarding"]["kind"] == MATERIALIZES.kind]
    return [event for event in about if event["reason"] == "RolloutBlocked"]


async def pod_of(scene: Scene, generation: int) -> str:
    return f"{(await scene.statefulset(generation))['metadata']['name']}-0"


@on_clusters(long=True)
async def test_an_image_that_cannot_be_pulled_blocks_and_the_advice_ends_it(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest(UNPULLABLE))

    shown = await blocked(scene)
    events = await scene.site.until(lambda: warned(scene), following=[EVENTS])

    pod, namespace = await pod_of(scene, 2), scene.site.namespace
    cause = f"{pod} does not become ready: container environmentd is in ImagePullBackOff"
    assert [(event["regarding"]["name"], event["note"]) for event in events] == [("m", f"pod/{cause}")]
    first = shown.blocked_by[0]
    assert (first.text, first.kind, first.since_exact) == (f"{cause} (image {NEWER})", "blocked", True)
    assert (shown.next, shown.stands.lanes[1].cells[0].state) == ((), "stuck")
    assert first.advice == (
        f"kubectl -n {namespace} describe pod {pod}",
        f"go back to generation 1: fairlead abort m -n {namespace}",
    )
    assert (await scene.condition())["reason"] == "Applying"

    end = await within(60, Cluster(scene.site.client, (namespace,)), WatchScope("m", exit_when_blocked=True), Notes())
    assert (end.code, end.text) == (exits.BLOCKED, f"m is blocked: {first.text}")

    await asked(scene.site, VERBS, "abort", "m")
    await scene.promoted(1)
    assert (await look(scene)).stands.phase == "Applied"
    assert len(warned(scene)) == 1


@on_clusters(long=True)
async def test_a_crash_loop_of_the_first_generation_is_told_once_and_ends_with_another_spec(scene: Scene) -> None:
    await scene.site.history.follow(PODS)
    await scene.apply(manifest({**V, "podAnnotations": CRASHING}))

    shown = await blocked(scene)
    await scene.site.until(lambda: warned(scene), following=[EVENTS])

    pod, namespace = await pod_of(scene, 1), scene.site.namespace
    first = shown.blocked_by[0]
    assert "container environmentd is in CrashLoopBackOff (" in first.text
    assert first.advice[0] == f"kubectl -n {namespace} logs {pod} -c environmentd --previous"
    assert first.advice[-1] == f"correct the spec: kubectl -n {namespace} edit materialize m"
    before = restarts(scene, pod)
    await scene.site.until(lambda: restarts(scene, pod) >= before + 3)
    assert len(warned(scene)) == 1

    await scene.apply(manifest(V))
    await scene.promoted(1)
    assert (await look(scene)).blocked_by == ()


@on_clusters(long=True)
async def test_balancers_in_a_crash_loop_are_told_of_beside_the_environment(scene: Scene) -> None:
    await scene.site.history.follow(PODS)
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.until(lambda: companions_are_ready(scene))
    pods = sorted(name for name in scene.site.history.objects(PODS) if "-balancerd-" in name)
    for pod in pods:
        await change(scene.site, PODS, pod, {"metadata": {"annotations": CRASHING}})

    events = await told(scene.site, "RolloutBlocked")

    assert {(event["regarding"]["kind"], event["regarding"]["name"]) for event in events} == {("Balancer", "m")}
    cause = "container balancerd is in CrashLoopBackOff"
    assert {event["note"] for event in events} <= {f"pod/{pod} does not become ready: {cause}" for pod in pods}
    shown = await scene.until(lambda: waiting_for(scene, "balancer/m"))
    assert shown.text in [f"Balancer m is not available: pod {pod}: {cause}" for pod in pods]
    assert shown.advice[0].startswith(f"kubectl -n {scene.site.namespace} logs ")

    for pod in pods:
        await scene.site.client.call(delete(Ref(PODS, scene.site.namespace, pod)))
    await scene.until(lambda: companions_are_ready(scene))
    assert (await look(scene)).blocked_by == ()


async def companions_are_ready(scene: Scene) -> bool:
    found = [await scene.site.get(resource, "m") for resource in (BALANCERS, CONSOLES)]
    return all(
        each is not None and [one["status"] for one in (each.get("status") or {}).get("conditions", ())] == ["True"]
        for each in found
    )


async def waiting_for(scene: Scene, about: str) -> Block | None:
    """The wait because of a stuck pod of this companion."""
    blocks = (await look(scene)).blocked_by
    return next((each for each in blocks if each.object == about and each.reason == "DeploymentNotReady"), None)


def restarts(scene: Scene, pod: str) -> int:
    statuses = scene.site.history.objects(PODS)[pod]["status"].get("containerStatuses", ())
    return max((each["restartCount"] for each in statuses), default=0)


@on_clusters(on=("served", "real"), long=True)
async def test_commands_show_what_blocks_and_the_watch_leaves_with_4(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)
    await scene.apply(manifest(UNPULLABLE))
    await blocked(scene)
    kubeconfig, place = scene.site.server.kubeconfig, ("-n", scene.site.namespace)

    got = await finished("fairlead", "get", *place, kubeconfig=kubeconfig)
    explained = await finished("fairlead", "explain", "m", *place, kubeconfig=kubeconfig)
    watched = await finished(
        *("fairlead", "watch", "m", *place, "--exit-when-blocked", "--timeout", "60s"), kubeconfig=kubeconfig
    )

    (row,) = [line for line in got.out.splitlines() if line.startswith("environments")]
    assert row.split()[2:4] == ["blocked", "Blocked"]
    assert explained.out.splitlines()[0].endswith("Blocked")
    assert f"        fairlead abort m {' '.join(place)}\n" in explained.out
    assert watched.code == exits.BLOCKED
    assert "m is blocked: " in watched.err
    assert "container environmentd is in ImagePullBackOff" in watched.err
