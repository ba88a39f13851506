"""Looking at environments, promoting and aborting their rollouts: with the operator, on both clusters."""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import yaml
from msgspec import Raw

from fairlead.cli import exits
from fairlead.cli.commands.watch import WatchEnd, WatchScope, follow, within
from fairlead.cli.connect import Cluster
from fairlead.cli.documents_of import explain_all
from fairlead.cli.selection import is_blocked, is_complete
from fairlead.cli.views.provenance import UNKNOWN
from fairlead.contracts.environments.kinds import MATERIALIZES, NIL
from fairlead.contracts.environments.stand_in.environmentd import SKIP
from fairlead.contracts.environments.verbs import VERBS
from fairlead.core.explain import Explain
from fairlead.core.verb import Absent, Refused
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Forbidden
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS, SECRETS, Pod
from kubesim.pods.behaviour import IMAGE_PULL
from tests.cli.notes import Notes
from tests.e2e.environments import NEWER, Scene, V, W, manifest, on_clusters
from tests.e2e.programs import finished, line_with, running
from tests.e2e.roles import Rights, grant
from tests.e2e.verbs import asked, interrupted, patches, said
from tests.e2e.zones import statefulset
from tests.licenses import a_license_key

MANUALLY = {**W, "rolloutStrategy": "ManuallyPromote"}
READ = ("get", "list", "watch")
LOOKING: Rights = {
    ("", "pods"): READ,
    ("", "services"): READ,
    ("", "configmaps"): READ,
    ("apps", "statefulsets"): READ,
    ("materialize.cloud", "materializes"): READ,
}
"""What a look needs of environments, and no more."""


async def look(scene: Scene) -> Explain:
    (shown,) = await explain_all(scene.site.client, [scene.site.namespace])
    return shown


async def waits_for(scene: Scene, reason: str) -> Explain:
    """The document, once its first wait has this reason, and a date.

    Kinds are listed one after the other, so for a moment a pod may be seen older than its StatefulSet.
    """

    async def is_waiting() -> Explain | None:
        shown = await look(scene)
        first = [(block.reason, block.since_exact) for block in shown.blocked_by][:1]
        return shown if first == [(reason, True)] else None

    found: Explain = await scene.until(is_waiting)
    return found


async def first_generation(scene: Scene) -> None:
    await scene.apply(manifest(V))
    await scene.promoted(1)


@on_clusters(on=("sim",))
async def test_the_environment_of_the_guide_is_served_once_its_key_is_valid(scene: Scene) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    secret, environment = yaml.safe_load_all(re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)[0])
    name, key = secret["metadata"]["name"], a_license_key(aud=NIL)
    await scene.keep_secret(name, **secret["stringData"])
    await scene.apply(environment)

    async def is_refused() -> Explain | None:
        shown = await look(scene)
        return shown if [block.reason for block in shown.blocked_by] == ["LicenseInvalid"] else None

    shown = await scene.until(is_refused)
    await scene.change({"data": {"license_key": b64encode(key.encode()).decode()}}, name, SECRETS)
    await scene.promoted(1, "shop")

    assert (shown.rollout, shown.stands.phase) == ("shop", "New")
    assert (await scene.read(name="shop"))["spec"]["environmentId"]


@on_clusters(long=True)
async def test_a_look_says_what_a_generation_waits_for_and_since_when(scene: Scene) -> None:
    await first_generation(scene)
    assert is_complete(await look(scene))
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(MANUALLY))

    catching_up = await waits_for(scene, "LeaderInitializing")

    assert [(lane.name, lane.phase) for lane in catching_up.stands.lanes] == [
        ("generation 1", "Serving"),
        ("generation 2", "Applying"),
    ]
    block = catching_up.blocked_by[0]
    assert block.object.startswith("service/mz")
    assert "the operator waits for it to catch up" in block.text
    assert block.since is not None
    assert not is_blocked(catching_up)

    scene.stubs.tell(2, catch_up="0s")
    parked = await waits_for(scene, "AwaitingPromotion")

    approval = parked.blocked_by[0]
    assert approval.since is not None
    assert block.since <= approval.since <= clock.now()
    assert is_blocked(parked)


@on_clusters(long=True)
async def test_promote_approves_what_is_parked(scene: Scene) -> None:
    await first_generation(scene)
    await scene.apply(manifest(MANUALLY))
    await scene.reason("ReadyToPromote")

    told = await said(scene.site, VERBS, "promote", "m")

    await scene.promoted(2)
    assert f"generation 2 of m ({NEWER}) takes over now" in told
    assert not scene.stubs.calls(SKIP, 1)


@on_clusters(long=True)
async def test_promote_cuts_the_catching_up_short(scene: Scene) -> None:
    await first_generation(scene)
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest(W))
    await waits_for(scene, "LeaderInitializing")

    told = await said(scene.site, VERBS, "promote", "m")

    await scene.promoted(2)
    assert "skips the rest of its catching up" in told
    assert scene.stubs.calls(SKIP, 2)


@on_clusters()
async def test_abort_takes_a_rollout_back_and_its_generation_goes(scene: Scene) -> None:
    await scene.apply(
        manifest({**V, "podLabels": {"team": "a"}, "environmentdExtraEnv": [{"name": "A", "value": "1"}]})
    )
    before = await scene.promoted(1)
    scene.stubs.tell(2, catch_up="never")
    await scene.apply(manifest({**MANUALLY, "environmentdExtraArgs": ["--x"]}))
    await waits_for(scene, "LeaderInitializing")

    told = await said(scene.site, VERBS, "abort", "m")

    after = await scene.promoted(1)
    assert after["lastCompletedRolloutHash"] == before["lastCompletedRolloutHash"]
    assert "m goes back to generation 1" in told
    spec = (await scene.read())["spec"]
    assert spec["podLabels"] == {"team": "a"}
    assert "environmentdExtraArgs" not in spec


@on_clusters(long=True)
async def test_abort_changes_nothing_where_it_cannot_know(scene: Scene) -> None:
    await scene.apply(manifest({**V, "serviceAccountLabels": {"a": "b"}}))
    completed = (await scene.promoted(1))["lastCompletedRolloutHash"]
    await scene.apply(manifest({**MANUALLY, "serviceAccountLabels": {"a": "c"}}))
    await scene.reason("ReadyToPromote")
    version = (await scene.read())["metadata"]["resourceVersion"]

    refused = await asked(scene.site, VERBS, "abort", "m")

    assert isinstance(refused, Refused)
    assert "serviceAccountLabels" in refused.sentence
    assert completed in refused.sentence
    assert (await scene.read())["metadata"]["resourceVersion"] == version


@on_clusters(long=True)
async def test_a_dry_run_prints_the_patch_and_sends_none(scene: Scene) -> None:
    await first_generation(scene)
    await scene.apply(manifest(MANUALLY))
    await scene.reason("ReadyToPromote")
    found = await scene.read()

    forced = (await patches(scene.site, VERBS, "promote", "m"))["m"]
    undone = (await patches(scene.site, VERBS, "abort", "m"))["m"]

    version = {"resourceVersion": found["metadata"]["resourceVersion"]}
    assert forced == {"spec": {"forcePromote": found["status"]["requestedRolloutHash"]}, "metadata": version}
    assert undone["spec"]["environmentdImageRef"] == V["environmentdImageRef"]
    assert (await scene.read())["metadata"]["resourceVersion"] == version["resourceVersion"]


@on_clusters(long=True)
async def test_what_is_said_of_another_version_is_judged_anew(scene: Scene) -> None:
    """Somebody changes the object between the look and the patch: the patch is refused, and made again."""
    await first_generation(scene)
    await scene.apply(manifest(MANUALLY))
    await scene.reason("ReadyToPromote")

    async with interrupted(scene.site, 1, lambda: scene.set_spec(balancerdReplicas=5)) as (client, sent):
        await asked(scene.site, VERBS, "promote", "m", client)

    await scene.promoted(2)
    assert sent.patches > 1
    assert (await scene.read())["spec"]["balancerdReplicas"] == 5


@on_clusters(on=("sim",))
async def test_a_watch_follows_an_environment_to_the_end_of_its_rollout(scene: Scene) -> None:
    await first_generation(scene)
    scene.stubs.tell(2, catch_up="3s", promote_takes="3s")
    await scene.apply(manifest(W))
    notes = Notes()

    end = await within(120, Cluster(scene.site.client, (scene.site.namespace,)), WatchScope("m"), notes)

    assert end == WatchEnd(exits.OK)
    assert [phase for phase in notes.phases if phase != "Changed"] == ["Applying", "Promoting", "Applied"]
    assert any("does not lead yet" in page for page in notes.pages)


@on_clusters(on=("sim",))
async def test_a_watch_leaves_when_somebody_must_act(scene: Scene) -> None:
    await first_generation(scene)
    await scene.apply(manifest(MANUALLY))
    cluster = Cluster(scene.site.client, (scene.site.namespace,))

    end = await within(120, cluster, WatchScope(exit_when_blocked=True), Notes())

    assert end.code == exits.GATED
    assert end.text.startswith("m is ready to be promoted: approve it with")


@asynccontextmanager
async def user_with(scene: Scene, rights: Rights, name: str) -> AsyncIterator[tuple[Cluster, list[str]]]:
    """What a user with these rights uses, once the server has learned of them, and what was refused."""
    user = await grant(scene.site, rights, name)
    transport = scene.site.ground.transport(user.name)
    client = Client(user.limits(transport))

    async def is_known() -> bool:
        try:
            await client.list(PODS, Pod, namespace=scene.site.namespace)
        except Forbidden:
            return False
        return True

    try:
        await scene.until(is_known)
        user.refused.clear()
        yield Cluster(client, (scene.site.namespace,)), user.refused
    finally:
        await Client(transport).close()


@on_clusters(long=True)
async def test_who_may_not_read_secrets_sees_the_rest(scene: Scene) -> None:
    await first_generation(scene)

    async with user_with(scene, LOOKING, "looker") as (cluster, refused):
        (shown,) = await explain_all(cluster.client, cluster.namespaces)

    assert is_complete(shown)
    assert refused
    companions = ("secrets", "balancers", "consoles")
    unknown = (
        *companions,
        "leaderworkersets",
        "disaggregatedsets",
        "rollouttraits",
        "applicationdeployments",
        "rollouts",
    )
    others = [each for each in refused if not any(kind in each for kind in unknown)]
    assert others == ["list pods"], "operators are looked for in all namespaces"


@on_clusters(long=True)
async def test_who_may_list_pods_and_not_get_one_sees_which_is_stuck(scene: Scene) -> None:
    await first_generation(scene)
    await scene.apply(manifest({**W, "podAnnotations": {IMAGE_PULL: "fail"}}))
    rights: Rights = {**LOOKING, ("", "pods"): ("list", "watch")}

    async with user_with(scene, rights, "lister") as (cluster, refused):
        end = await within(60, cluster, WatchScope("m", exit_when_blocked=True), Notes())

    assert end.code == exits.BLOCKED
    assert "container environmentd is in ImagePullBackOff" in end.text
    assert "get pods" not in refused


@on_clusters(long=True)
async def test_who_may_not_see_environments_sees_none_of_them(scene: Scene) -> None:
    await first_generation(scene)
    rights = {place: verbs for place, verbs in LOOKING.items() if place[0] != "materialize.cloud"}

    async with user_with(scene, rights, "outsider") as (cluster, _):
        assert await explain_all(cluster.client, cluster.namespaces) == []
        assert (await within(30, cluster, WatchScope(), Notes())).code == exits.NOT_FOUND


@on_clusters(long=True)
async def test_who_sees_environments_and_not_what_they_consist_of_is_told_the_missing_right(scene: Scene) -> None:
    await first_generation(scene)
    rights = {place: verbs for place, verbs in LOOKING.items() if place != ("", "configmaps")}

    async with user_with(scene, rights, "half") as (cluster, _):
        with pytest.raises(Forbidden, match="configmaps"):
            await explain_all(cluster.client, cluster.namespaces)
        with pytest.raises(ExceptionGroup) as watching:
            await within(30, cluster, WatchScope(), Notes())

    assert watching.group_contains(Forbidden, match="configmaps")


@on_clusters(on=("sim",))
async def test_zones_and_environments_are_shown_together_in_the_order_of_their_names(scene: Scene) -> None:
    await first_generation(scene)
    await scene.site.create(STATEFULSETS, statefulset("ingester-zone-a", 1))

    shown = await explain_all(scene.site.client, [scene.site.namespace])

    assert [(one.part, one.rollout) for one in shown] == [("zones", "ingester"), ("environments", "m")]


ALONE = f"worked out by this command, because no operator was found in the cluster: {UNKNOWN}\n"
"""Said where the operator does not run as a pod that can be asked."""


@on_clusters(on=("served", "real"), long=True)
async def test_the_programs_tell_what_a_rollout_waits_for_promote_it_and_see_its_end(scene: Scene) -> None:
    config, place = scene.site.server.kubeconfig, ("-n", scene.site.namespace)
    await first_generation(scene)
    await scene.apply(manifest(MANUALLY))
    await scene.reason("ReadyToPromote")

    listed = await finished("fairlead", "get", *place, "-o", "wide", kubeconfig=config)
    explained = await finished("fairlead", "explain", "m", *place, kubeconfig=config)

    assert (listed.code, listed.err) == (0, ALONE)
    assert listed.out.splitlines()[1].startswith("environments   m         gated     ReadyToPromote   0/1 generations")
    assert "generation 1 (environmentd:v26.0.0)   generation 2 (environmentd:v26.1.0)" in listed.out
    assert (explained.code, explained.err) == (0, "")
    assert "ends when a person approves the promotion" in explained.out

    refused = await finished("fairlead", "promote", "n", *place, kubeconfig=config)
    assert (refused.code, refused.out) == (exits.NOT_FOUND, "")
    named = f"no environment or RolloutTrait named n in namespace {place[1]}"
    assert refused.err == f"fairlead: {named}: `fairlead get` lists what there is\n"

    async with running("fairlead", "watch", "m", *place, "--timeout", "60s", kubeconfig=config) as watching:
        await line_with(watching.stdout, "ReadyToPromote")
        why = ("--reason", "the numbers look good")
        approved = await finished("fairlead", "promote", "m", *place, *why, kubeconfig=config)
        _, err = await watching.communicate()

    assert (approved.code, approved.err) == (0, "")
    assert (watching.returncode, err) == (0, b"")
    await scene.promoted(2)
    told = await scene.site.client.list(EVENTS, Raw, namespace=scene.site.namespace)
    notes = [event["note"] for event in map(msgspec.json.decode, told.items) if event["reason"] == "PromotionApproved"]
    assert notes == ["admin approved generation 2 with `fairlead promote`: the numbers look good"]
    again = await finished("fairlead", "abort", "m", *place, kubeconfig=config)
    assert again.code == exits.ERROR
    assert "nothing to take back" in again.err


@on_clusters(begins=False, secret=False, on=("sim",))
async def test_a_cluster_without_the_kinds_has_no_environments(scene: Scene) -> None:
    assert await explain_all(scene.site.client, [scene.site.namespace]) == []

    assert await asked(scene.site, VERBS, "promote", "m") == Absent()


@on_clusters(begins=False, on=("sim",))
async def test_a_watch_takes_up_the_kinds_when_they_come(scene: Scene) -> None:
    cluster = Cluster(scene.site.client, (scene.site.namespace,))
    notes = Notes()

    async def watch() -> None:
        await follow(cluster, WatchScope(forever=True), notes)

    watching = scene.site.start(watch())
    await asyncio.sleep(1)

    await scene.operator.start()
    await scene.site.history.follow(MATERIALIZES)
    await first_generation(scene)
    await asyncio.sleep(60)
    await scene.site.stop(watching)

    assert notes.phases[0] == ""
    assert notes.phases[-1] == "Applied"
