"""Acceptance scenarios 14 to 21 of the zone contract, by their numbers: followers, mirrors and delayed downscales."""

from __future__ import annotations

from fairlead.contracts.zones.kinds import MIN_TIME, MIRROR_KIND
from kubeloop import clock
from kubeloop.objects.apps import STATEFULSETS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.endpoints import Answer, timestamp
from tests.e2e.scaling import (
    TEMPLATES,
    a_template,
    ask_for,
    define_templates,
    delayed,
    following,
    grown,
    looked,
    mirroring,
    replicas,
    shrunk,
    told,
)
from tests.e2e.zones import PREFIX, a_zone, begin
from tests.e2e.zones import told as events_told


@everywhere(controllers=False, seeds=tuple(range(3)))
async def test_14_leader_up(site: Site) -> None:
    """A chain grows one zone in a pass; no pod goes in such a pass, though the group is healthy and pods are old."""
    await a_zone(site, "a", 4, revision="new", current="new")
    b = await a_zone(site, "b", annotations=following("a"))
    c = await a_zone(site, "c", annotations=following("b"))

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 4", "c: 3 to 4"]
    assert play.deletions == []
    rounds = [record.keys["round"] for record in play.operator.records("info", "scaling performed")]
    assert len(set(rounds)) == 2
    assert sorted(event["regarding"]["name"] for event in await events_told(site, "ReplicasScaled")) == [b.name, c.name]

    await grown(b, 4, first=3)
    await grown(c, 4, first=3)
    await play.rest()

    assert play.deletions == ["b-0"]
    assert play.operator.failures() == 0


@everywhere(controllers=False)
async def test_15_leader_down_with_spacing(site: Site) -> None:
    """An hour after the leader shrank the follower waits and pods roll; thirteen hours after it follows."""
    a = await a_zone(site, "a", 2, annotations=shrunk(hours=1))
    await a_zone(site, "b", annotations=following("a"), own_labels={MIN_TIME: "12h"})

    play = await begin(site)
    await play.rest()

    assert await replicas(site, "b") == 3
    assert play.deletions == ["a-0"]
    assert play.operator.failures() == 0

    await a.make_pod(0)
    await a.annotate(**shrunk(hours=13))
    await play.rest()

    assert play.scalings == ["b: 3 to 2"]
    assert await replicas(site, "b") == 2


@everywhere(controllers=False)
async def test_16_leader_missing(site: Site) -> None:
    """Nothing is scaled, which is said and counts as no failure; pods still roll."""
    a = await a_zone(site, "a", 4)
    b = await a_zone(site, "b", annotations=following("nope"))
    await a_zone(site, "c", annotations=following("a"))

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert play.deletions == ["a-0"]
    assert play.operator.failures() == 0
    warnings = play.operator.records("warn", "scaling impossible")
    assert warnings
    assert all(f'{b.name} follows "{PREFIX}nope"' in record.keys["text"] for record in warnings)
    (event,) = await events_told(site, "ScalingFailed")
    assert (event["regarding"]["name"], event["type"]) == (b.name, "Warning")

    passes = play.operator.passes()
    await looked(play, a)

    assert play.operator.passes() > passes
    assert len(play.operator.records("warn", "scaling impossible")) > len(warnings)


@everywhere(controllers=False)
async def test_17_mirror_up_and_down(site: Site) -> None:
    """The zone takes the number and the reference is told; where both agree, only a wrong report is put right."""
    await define_templates(site)
    await a_template(site, 5)
    zone = await a_zone(site, "a", 2, annotations=mirroring())

    play = await begin(site)
    await play.rest()
    assert (await replicas(site), await told(site)) == (5, 5)

    await ask_for(site, 3)
    await looked(play, zone)
    assert (await replicas(site), await told(site)) == (3, 3)

    await site.write_status(TEMPLATES, "rt", {"replicas": 7})
    spec = await spec_of(site)
    await looked(play, zone)
    assert await told(site) == 3
    assert await spec_of(site) == spec
    assert play.scalings == ["a: 2 to 5", "a: 5 to 3"]
    assert play.operator.failures() == 0
    assert play.operator.warnings() == []


@everywhere(controllers=False)
async def test_18_mirror_broken(site: Site) -> None:
    """A kind that there is not stops scaling and no rollout; with the annotation put right, scaling happens."""
    await define_templates(site)
    await a_template(site, 5)
    zone = await a_zone(site, "a", annotations=mirroring(kind="ReplicaTemplat"))

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0"]
    assert play.scalings == []
    assert play.operator.failures() == 0
    (warning,) = {record.keys["text"] for record in play.operator.records("warn", "scaling impossible")}
    assert 'no kind "ReplicaTemplat"' in warning

    await zone.annotate(**{MIRROR_KIND: "ReplicaTemplate"})
    await play.rest()

    assert play.scalings == ["a: 3 to 5"]
    assert await told(site) == 5


@everywhere(controllers=False)
async def test_19_delayed_downscale_waits(site: Site) -> None:
    """Pods that are to go are asked and the others told that they stay; nothing shrinks before the delay is over."""
    zone, pods = await delayed(site, wanted=3)

    play = await begin(site)
    await play.rest()

    assert pods.called("POST") == ["a-3", "a-4"]
    assert pods.called("DELETE") == ["a-0", "a-1", "a-2"]
    methods = [call.split()[0] for call in pods.calls()[:5]]
    assert methods == ["DELETE"] * 3 + ["POST"] * 2
    assert (await replicas(site), await told(site)) == (5, 5)
    assert play.operator.failures() == 0
    for heard in pods.heard:
        assert heard.host == f"{PREFIX}{heard.pod}.ingester.{site.namespace}.svc.cluster.local.:8080"
        assert heard.path == "/prepare/delayed?unset=false"
        assert heard.headers["content-type"] == "application/json"
        assert heard.headers["x-cluster"] == site.namespace
        assert heard.headers.get("content-length", "0") == "0"

    pods.age(a_3=70, a_4=70)
    await looked(play, zone)

    assert play.scalings == ["a: 5 to 3"]
    assert (await replicas(site), await told(site)) == (3, 3)


@everywhere(controllers=False)
async def test_20_delayed_partial(site: Site) -> None:
    """Pods go from the last one down, as far as each is old enough; that a lower one is too does not help."""
    zone, pods = await delayed(site, wanted=1)
    pods.age(a_4=70, a_3=75, a_2=30, a_1=75)

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["a: 5 to 3"]
    assert (await replicas(site), await told(site)) == (3, 3)
    assert pods.called("POST") == ["a-1", "a-2", "a-3", "a-4"]

    pods.age(a_2=61)
    await looked(play, zone)

    assert play.scalings == ["a: 5 to 3", "a: 3 to 1"]
    assert await told(site) == 1


@everywhere(controllers=False)
async def test_21_delayed_failure(site: Site) -> None:
    """One pod that fails, whatever else it says, keeps all; when no pod is to go any more, every one hears that."""
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=70)
    old = timestamp(int(clock.now().timestamp()) - 70 * 60)
    pods.answer("a-4", "POST", Answer(500, old.body))

    play = await begin(site)
    await play.rest()

    assert pods.called("POST") == ["a-3", "a-4"]
    assert play.scalings == []
    assert (await replicas(site), await told(site)) == (5, 5)
    assert play.operator.failures() == 0
    (warning,) = {record.keys["text"] for record in play.operator.records("warn", "downscale not prepared")}
    assert "a-4" in warning
    assert "500" in warning

    since = pods.now
    await ask_for(site, 5)
    await site.until(lambda: pods.called("DELETE", since) == ["a-0", "a-1", "a-2", "a-3", "a-4"])
    after = pods.now
    await looked(play, zone)

    assert pods.called("POST", after) == []
    assert play.scalings == []


async def spec_of(site: Site) -> tuple[object, object]:
    zone, reference = await site.get(STATEFULSETS, f"{PREFIX}a"), await site.get(TEMPLATES, "rt")
    assert zone is not None
    assert reference is not None
    return zone["spec"], reference["spec"]
