"""What people are shown of an environment, and the words for it."""

from __future__ import annotations

import string
from datetime import timedelta

import msgspec
import pytest

from fairlead.contracts.environments.decide.moments import fraction, later, soon
from fairlead.contracts.environments.decide.statuses import shortened
from fairlead.contracts.environments.explain import explain
from fairlead.contracts.environments.settings import Settings
from fairlead.contracts.environments.words import REASONS, WRITES
from fairlead.core.act import Does
from fairlead.core.ask import Bad, Http
from fairlead.core.explain import Explain
from fairlead.core.reason import Reason
from tests.builders import EARLIER, NOW
from tests.contracts.environments.decide.specs import NEXT, a_spec
from tests.contracts.environments.decide.world import World, promoted


def shown(world: World) -> Explain:
    decision = world.play()
    return explain(world.seen(), decision, world.now)


def test_what_serves_is_done() -> None:
    world = promoted()

    document = shown(world)

    assert (document.part, document.namespace, document.rollout) == ("environments", "e", "m")
    assert (document.stands.phase, document.stands.done, document.stands.total) == ("Applied", 1, 1)
    (lane,) = document.stands.lanes
    assert (lane.name, lane.phase, lane.done) == ("generation 1", "Serving", 1)
    assert [(cell.name, cell.state) for cell in lane.cells] == [(f"mz{world.id}-environmentd-1-0", "ready")]
    assert document.blocked_by == ()
    assert document.next == ()
    assert document.again is not None


@pytest.mark.parametrize(
    ("replicas", "said"),
    [
        (1, "waiting for {pod} to become ready: it is not ready, and generation 1 does not serve without it"),
        (0, "{pod} does not exist: its StatefulSet has not created it yet, and generation 1 does not serve without it"),
    ],
)
def test_what_serves_no_more_is_done_and_said_to_be_down(replicas: int, said: str) -> None:
    world = promoted()
    status = world.statefulset(1).status
    world.pods_start = False
    status |= {"replicas": replicas, "readyReplicas": 0}

    document = shown(world)

    pod = f"mz{world.id}-environmentd-1-0"
    assert (document.outcome, document.stands.phase) == ("done", "Applied")
    (block,) = document.blocked_by
    assert block.text == said.format(pod=pod)
    (advice,) = block.advice
    assert advice.endswith(f"describe pod {pod}" if replicas else f"describe statefulset {pod.removesuffix('-0')}")


@pytest.mark.parametrize("rolls", [False, True], ids=["at rest", "while it is promoted"])
def test_a_pod_that_nobody_makes_because_somebody_scaled_its_statefulset_is_told_so(rolls: bool) -> None:
    world = promoted()
    if rolls:
        world.takes_over = False
        world.edit(environmentdImageRef=NEXT)
        world.play()
        assert world.is_promoting
    which = 2 if rolls else 1
    world.pods_start = False
    world.statefulset(which).body["spec"]["replicas"] = 0
    world.statefulset(which).status |= {"replicas": 0, "readyReplicas": 0}

    (block,) = shown(world).blocked_by

    name = f"mz{world.id}-environmentd-{which}"
    assert "its StatefulSet is scaled to 0" in block.text
    assert block.advice == (f"scale it: kubectl -n e scale statefulset {name} --replicas=1",)


@pytest.mark.parametrize("edits", [{}, {"environmentdImageRef": NEXT, "rolloutStrategy": "ManuallyPromote"}])
def test_a_service_that_leads_users_nowhere_is_told(edits: dict[str, str]) -> None:
    world = promoted()
    world.is_meddled_with = True
    world.edit(**edits)
    world.play()
    service = next(thing for ref, thing in world.things.items() if ref.name == f"mz{world.id}-environmentd")
    service.body["spec"]["selector"] = {"app": "mine"}

    *others, block = shown(world).blocked_by

    assert [each.reason for each in others] == (["AwaitingPromotion"] if edits else [])
    assert "does not lead to generation 1, so that nobody reaches it" in block.text
    name = f"mz{world.id}-environmentd"
    assert f"set selector service {name} materialize.cloud/name={name}-1" in block.advice[0]


def test_a_rollout_shows_both_generations_and_what_it_waits_for() -> None:
    world = promoted()
    before = world.hash
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)

    document = shown(world)

    tree = msgspec.json.decode(msgspec.json.encode(document))
    assert tree["from"] == {"generation": 1, "image": "materialize/environmentd:v26.0.0", "hash": before}
    assert tree["to"] == {"generation": 2, "image": NEXT, "hash": world.hash}
    assert [(lane.name, lane.phase) for lane in document.stands.lanes] == [
        ("generation 1", "Serving"),
        ("generation 2", "Applying"),
    ]
    assert document.stands.lanes[1].from_revision == f"v26.0.0 {before[:12]}"
    assert document.stands.lanes[1].to_revision == f"v26.1.0 {world.hash[:12]}"
    (block,) = document.blocked_by
    assert (block.rule, block.reason) == ("await_readiness", "LeaderInitializing")
    assert block.object == f"service/mz{world.id}-environmentd-2"
    assert block.clears == Reason.LEADER_INITIALIZING.clears
    assert document.next == ("promote generation 2 when it is ready",)


def test_a_pod_that_does_not_come_up_is_named() -> None:
    world = promoted()
    world.pods_start = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.statefulset(2).status = {"observedGeneration": 1}

    document = shown(world)

    assert document.blocked_by[0].object == f"pod/mz{world.id}-environmentd-2-0"
    assert document.stands.lanes[1].waits[0].reason == document.blocked_by[0].reason
    assert document.stands.lanes[1].cells[0].state == "missing"
    name = f"mz{world.id}-environmentd-2"
    describe = f"kubectl -n {world.seen().environment.metadata.namespace} describe statefulset {name}"
    assert document.blocked_by[0].advice == (f"see what keeps it from being made: {describe}",)


def test_what_is_parked_says_how_to_go_on() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy="ManuallyPromote")

    document = shown(world)

    assert document.stands.phase == "ReadyToPromote"
    assert "fairlead promote m" in document.blocked_by[0].text
    assert world.hash in document.blocked_by[0].text
    assert "fairlead promote m" in document.next[0]


def test_a_refusal_says_since_when() -> None:
    world = promoted()
    world.edit(environmentdImageRef="materialize/environmentd:v29.0.0")
    world.play()
    world.now += timedelta(hours=1)

    (block,) = shown(world).blocked_by

    assert block.reason == "UpgradeRefused"
    assert (block.since, block.since_exact) == (NOW, True)


def test_other_waits_are_dated_by_who_looks() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    decision = world.play()
    wait = f"LeaderInitializing:service/mz{world.id}-environmentd-2"

    seen = msgspec.structs.replace(world.seen(), since={wait: EARLIER})
    (block,) = explain(seen, decision, NOW).blocked_by

    assert (block.since, block.since_exact) == (EARLIER, False)


def test_a_promotion_shows_what_it_ends_with() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)

    document = shown(world)

    assert document.stands.phase == "Promoting"
    assert document.blocked_by[0].reason == "NotYetLeader"
    assert document.next == ("generation 2 takes over, and generation 1 is removed",)


def test_the_first_generation_takes_over_from_none() -> None:
    world = World()
    world.takes_over = False

    document = shown(world)

    assert document.stands.phase == "Promoting"
    assert document.next == ("generation 1 takes over",)


def test_a_password_that_was_changed_on_the_way_is_read_by_a_pod_that_starts_again() -> None:
    """Nothing else ends the wait: a pod reads the Secret when it starts, and the operator with every sign-in."""
    world = promoted(a_spec(authenticatorKind="Password"))
    world.edit(environmentdImageRef=NEXT)
    world.answers = lambda ask: Bad("sign-in", "it answered with status 401") if isinstance(ask.to, Http) else None

    (block,) = shown(world).blocked_by

    about = f"mz{world.id}-environmentd-2"
    assert block.text == f"the operator cannot sign in to {about}: it answered with status 401"
    (advice,) = block.advice
    assert advice.endswith(f"if the Secret was changed since, start it again: kubectl -n e delete pod {about}-0")


def test_who_does_not_lead_is_looked_into() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)
    world.takes_over = False

    (block,) = shown(world).blocked_by

    assert block.reason == Reason.NOT_YET_LEADER.word
    assert block.advice == (f"see what it does: kubectl -n e logs mz{world.id}-environmentd-2-0",)


def test_a_console_that_waits_is_shown_beside() -> None:
    world = promoted(settings=Settings(create_console=True))

    (block,) = shown(world).blocked_by

    assert (block.rule, block.reason, block.object) == ("companions", "BalancerNotReady", "balancer/m")


def test_an_environment_without_a_secret_says_so() -> None:
    world = promoted()
    world.secret = None

    document = shown(world)

    assert document.blocked_by[0].reason == "SecretMissing"
    assert document.blocked_by[0].object == "secret/backend"


def test_an_environment_is_shown_before_it_is_anything() -> None:
    world = World()

    document = explain(world.seen(), world.step(), NOW)

    assert (document.stands.phase, document.stands.lanes) == ("New", ())


def test_what_is_done_now_comes_first() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)
    world.step()
    seen = world.seen()

    document = explain(seen, world.step(), NOW)

    assert document.next[0] == "apply the objects of generation 2"


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.word)
def test_texts_can_be_filled_in_and_failures_are_warnings(reason: Reason) -> None:
    words = REASONS[reason]

    fields = {name for _, name, _, _ in string.Formatter().parse(words.text) if name}
    assert fields <= {"object", "detail"}
    assert "object" in fields
    assert words.message == words.message.format()
    assert not reason.fails or words.level == "warn"


def test_every_write_of_an_environment_has_words() -> None:
    world = promoted(settings=Settings(create_balancers=True, create_console=True))
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.settings = Settings()
    world.play()
    world.own.terminating = True
    world.play()

    assert {write.does for write in world.writes} | {Does.MIGRATE_SELECTOR, Does.SET_ENVIRONMENT_ID} == {*WRITES}


def test_looks_are_spread_over_their_range_and_can_be_repeated() -> None:
    moments = [NOW + timedelta(seconds=second) for second in range(200)]

    waits = [(soon("uid", moment) - moment).total_seconds() for moment in moments]
    rests = [(later("uid", moment) - moment).total_seconds() for moment in moments]

    assert 5 <= min(waits) < 5.5 < 8.5 < max(waits) < 9
    assert 2400 <= min(rests) < 2500 < 3500 < max(rests) < 3599
    assert soon("uid", NOW) == soon("uid", NOW) != soon("other", NOW)
    assert len({fraction("uid", moment) for moment in moments}) == 200


def test_an_event_is_cut_between_characters() -> None:
    text = "\u00e9" * 600

    cut = shortened(text)

    assert cut.endswith("...")
    assert 1020 <= len(cut.encode()) <= 1024
    assert shortened("short") == "short"
