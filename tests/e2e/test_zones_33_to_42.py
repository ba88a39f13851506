"""Acceptance scenarios 33 to 42 of the zone contract as far as they are about rolling and forcing, by their numbers."""

from __future__ import annotations

import asyncio
import random

import pytest

from fairlead.contracts.zones.kinds import FORCE_REPLICAS, MIN_TIME
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.lives import Life
from tests.e2e.operators import LOOK_EVERY, Operator
from tests.e2e.programs import finished
from tests.e2e.roles import SEED_ROLE, grant
from tests.e2e.rollouts import SECOND, is_complete, roll, three_zones, zones_out
from tests.e2e.scaling import following, shrunk
from tests.e2e.zones import a_zone, begin

LIVES = 6
OWN_CERTIFICATE = (
    "-kubernetes.namespace=n",
    "-server-tls.enabled",
    "-server-tls.self-signed-cert.enabled=false",
    "-server-tls.cert-file=/cert",
    "-server-tls.key-file=/key",
)


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        pytest.param((), "-kubernetes.namespace", id="without a namespace"),
        pytest.param(
            ("-kubernetes.namespace=n", "-kubernetes.api-url=http://x"), "-kubernetes.config-file", id="only an API URL"
        ),
        pytest.param(
            ("-kubernetes.namespace=n", "-kubernetes.config-file=/x"), "-kubernetes.api-url", id="only a config file"
        ),
        pytest.param(OWN_CERTIFICATE, "-webhooks.update-ca-bundle", id="CA injection with own certificate files"),
        pytest.param(("-kubernetes.namespace=n", "-log.level=loud"), "-log.level", id="a level there is not"),
    ],
)
def test_33_values_that_do_not_fit_end_with_code_1_and_one_line(arguments: tuple[str, ...], culprit: str) -> None:
    ended = asyncio.run(finished("rollout-operator", *arguments))

    assert ended.code == 1
    assert culprit in ended.err
    assert ended.err.count("\n") == 1
    assert ended.out == ""


@pytest.mark.parametrize(
    ("argument", "culprit"),
    [
        pytest.param("-no-such-flag", "-no-such-flag", id="an unknown flag"),
        pytest.param("-reconcile.interval=5 minutes", "5 minutes", id="no duration"),
        pytest.param("-reconcile.interval=1d", "1d", id="a unit that Go does not have"),
        pytest.param("-server.port=http", "http", id="no number"),
    ],
)
def test_33_flags_that_cannot_be_read_end_with_code_2_and_the_usage(argument: str, culprit: str) -> None:
    ended = asyncio.run(finished("rollout-operator", "-kubernetes.namespace=n", argument))

    assert ended.code == 2
    assert culprit in ended.err.splitlines()[0]
    assert "-kubernetes.namespace" in ended.err
    assert ended.out == ""


@everywhere(controllers=False)
@pytest.mark.parametrize(
    ("replicas", "share", "deleted"),
    [
        pytest.param(10, "25%", ["a-0", "a-1"], id="25% of 10 is 2"),
        pytest.param(3, "50%", ["a-0"], id="50% of 3 is 1"),
        pytest.param(3, " 100% ", ["a-0", "a-1", "a-2"], id="100% of 3 is 3"),
    ],
)
async def test_34_percentage(site: Site, replicas: int, share: str, deleted: list[str]) -> None:
    await a_zone(site, "a", replicas, max_unavailable=share)

    play = await begin(site)
    await play.rest()

    assert play.deletions == deleted
    assert play.operator.warnings() == []


@everywhere(controllers=False)
async def test_34_percentage_above_100_counts_as_one_pod_with_a_warning(site: Site) -> None:
    await a_zone(site, "a", max_unavailable="300%")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0"]
    assert "300%" in play.operator.records("warn", "invalid max-unavailable")[0].keys["text"]


@everywhere(controllers=False)
async def test_35_paused_zone_is_passed_by(site: Site) -> None:
    """Nothing of it goes, its revision is not recorded, and the next zone rolls."""
    await a_zone(site, "a", paused="true")
    await a_zone(site, "b")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["b-0"]
    assert play.completions == []


@everywhere(controllers=False)
async def test_35_paused_zone_whose_pods_are_all_new_is_not_recorded_before_the_pause_ends(site: Site) -> None:
    zone = await a_zone(site, "a", paused="true", revision="new")
    play = await begin(site)
    await play.rest()
    assert play.completions == []

    await zone.annotate(**{"grafana.com/rollout-paused": None})
    await play.rest()

    assert play.completions == ["a"]


@everywhere(controllers=False)
async def test_35_paused_zone_that_is_not_ready_holds_back_the_others(site: Site) -> None:
    zone = await a_zone(site, "a", paused="true", _1="notReady")
    await a_zone(site, "b")
    play = await begin(site)
    await play.rest()
    assert play.deletions == []

    await zone.set_pod(1, "ready")
    await play.rest()

    assert play.deletions == ["b-0"]


@everywhere(controllers=False)
async def test_35_forced_follower_goes_to_0_at_once(site: Site) -> None:
    """However recently another zone shrank, and whatever its leader has."""
    await a_zone(site, "a", 2, annotations=shrunk(minutes=1))
    await a_zone(site, "b", annotations=following("a", **{FORCE_REPLICAS: "0", MIN_TIME: "12h"}))

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 0"]
    assert play.operator.failures() == 0


@everywhere(controllers=False)
async def test_40_stuck_pod(site: Site) -> None:
    """E-8."""
    """A pod that only the new template can help goes although the budget is used, and no healthy one does."""
    await a_zone(site, "a", ready=2, _0="stuck")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0"]


@everywhere(controllers=False)
async def test_40_stuck_pod_frees_no_budget_for_healthy_ones(site: Site) -> None:
    await a_zone(site, "a", ready=2, _2="stuck")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-2"]


@everywhere(controllers=False)
async def test_41_no_crds_and_the_rights_of_the_contracts_first_release(site: Site) -> None:
    """No right to read namespaces, to write Events or Leases: the operator rolls, and nothing counts as failed."""
    await a_zone(site, "a", revision="new")
    await a_zone(site, "b")
    user = await grant(site, SEED_ROLE)

    play = await begin(site, Operator(site, through=user.limits), user=user.name)
    await play.rest()
    # Two Events, each offered to both APIs that there are for them.
    await site.until(lambda: user.refused.count("create events") == 4, every=LOOK_EVERY)

    assert play.operator.ready
    assert (play.completions, play.deletions) == (["a"], ["b-0"])
    assert play.operator.failures() == 0
    assert set(user.refused) == {
        "get namespaces",
        "create events",
        "list rollouthealthchecks",
        "list zoneawarepoddisruptionbudgets",
    }


@everywhere(controllers=True, seeds=tuple(range(10)))
async def test_42_restart_safety(site: Site) -> None:
    """Killed at random calls, before or after they are carried out, the operator starts again and does no harm."""
    lots = random.Random(site.ground.cluster.seed if isinstance(site.ground, SimGround) else 42)
    await three_zones(site, max_unavailable=lots.choice(("1", "2")))
    before = site.history.events[-1].version
    play = await begin(site)
    await play.operator.at_rest()
    await site.stop(play.task)

    await roll(site)
    killed = 0
    for _ in range(LIVES):
        life = Life(lots.randint(4, 24), after=lots.random() < 0.5)
        killed += await life.live(site, until=lambda: is_complete(site, SECOND))
    site.start_operator(Operator(site, interval=None))
    await site.until(lambda: is_complete(site, SECOND))

    assert killed >= 2
    assert play.witness.unfinished() == []
    assert sorted(play.deletions) == [f"{letter}-{ordinal}" for letter in "abc" for ordinal in range(3)]
    assert zones_out(site, since=before) == 1
