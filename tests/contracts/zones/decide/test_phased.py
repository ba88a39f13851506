"""When a held template may roll out, as a table and for any state of the world."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fairlead.contracts.zones.decide.phased.phased_rollout import PhasedSnapshot, decide
from fairlead.contracts.zones.kinds import GATE, RESUME
from fairlead.core.act import Does, Patch
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import Deployment
from kubeloop.objects.core import Pod
from tests.builders import NOW
from tests.contracts.zones.decide.deployments import HELD, LONG_AGO, RUNNING, TEMPLATE, a_canary, a_cell, a_pod, pods

BLOCKED = f"blocked {TEMPLATE} over {RUNNING}"
LATELY = NOW - timedelta(minutes=2)
END = LATELY + timedelta(minutes=5)


def written(decision: Decision) -> Patch:
    assert isinstance(decision.verdict, Move), decision
    (write,) = decision.verdict.writes
    assert isinstance(write, Patch)
    return write


def released(decision: Decision) -> bool:
    return isinstance(decision.verdict, Move) and written(decision).does is Does.RELEASE_DEPLOYMENT


def text_of(decision: Decision) -> str:
    return decision.tell[0].text if decision.tell else ""


RELEASED = {
    "rolled out and soaked": PhasedSnapshot(a_cell(), (a_canary(),), pods()),
    "without revisions": PhasedSnapshot(a_cell(revision=""), (a_canary(revision=""),), pods()),
    "without a revision of its own": PhasedSnapshot(a_cell(revision=""), (a_canary(revision="v9"),), pods()),
    "resumed by the revision while blocked": PhasedSnapshot(a_cell(mark=BLOCKED, resume="v2"), (a_canary(),), pods()),
    "resumed by the template where there is no revision": PhasedSnapshot(a_cell(revision="", resume=TEMPLATE)),
    "resumed although nothing is there": PhasedSnapshot(a_cell(resume="v2")),
    "resumed although its annotations are wrong": PhasedSnapshot(
        a_cell(resume="v2", soak_duration="x"), (a_canary(),), pods()
    ),
    "depends on nothing any more": PhasedSnapshot(a_cell(depends_on="")),
    "depends on a Deployment without pods": PhasedSnapshot(a_cell(), (a_canary(0),)),
    "no soak asked for": PhasedSnapshot(a_cell(soak_duration="0s"), (a_canary(rolled_out=NOW),), pods()),
    "soak over to the second": PhasedSnapshot(a_cell(), (a_canary(rolled_out=NOW - timedelta(minutes=5)),), pods()),
    "no progress deadline, pods ready for long": PhasedSnapshot(a_cell(), (a_canary(reason=""),), pods()),
    "restart before the rollout was complete": PhasedSnapshot(
        a_cell(), (a_canary(),), (*pods(2), a_pod(2, ended=LONG_AGO - timedelta(seconds=1)))
    ),
    "restart long after the soak": PhasedSnapshot(a_cell(), (a_canary(),), (*pods(2), a_pod(2, ended=NOW))),
    "restarts as many as allowed": PhasedSnapshot(a_cell(), (a_canary(10),), (*pods(9), a_pod(9, ended=LONG_AGO))),
    "restart of a pod that is going": PhasedSnapshot(
        a_cell(), (a_canary(),), (*pods(), a_pod(9, ended=LONG_AGO, terminating=True))
    ),
    "restart of a pod of another": PhasedSnapshot(
        a_cell(), (a_canary(),), (*pods(), a_pod(9, of="x", ended=LONG_AGO), a_pod(8, owner="Job", ended=LONG_AGO))
    ),
    "restart of a pod in another namespace": PhasedSnapshot(
        a_cell(), (a_canary(),), (*pods(), a_pod(9, namespace="other", ended=LONG_AGO))
    ),
}


@pytest.mark.parametrize("seen", RELEASED.values(), ids=RELEASED)
def test_released_when(seen: PhasedSnapshot) -> None:
    decision = decide(seen, NOW)

    write = written(decision)
    assert (decision.rule, write.does) == ("release", Does.RELEASE_DEPLOYMENT)
    assert msgspec.json.decode(write.body) == {
        "metadata": {
            "uid": "uid-cell-a",
            "resourceVersion": "7",
            "annotations": {GATE: f"passed {TEMPLATE}"},
        },
        "spec": {"paused": False},
    }
    assert (write.ref.name, write.scope) == ("cell-a", "uid-cell-a")
    assert write.tell is not None
    assert (write.tell.warning, write.tell.reason) == (False, "RolloutReleased")


def test_owner_who_had_paused_it_keeps_it_paused() -> None:
    decision = decide(PhasedSnapshot(a_cell(mark=f"{HELD} paused"), (a_canary(),), pods()), NOW)

    body = msgspec.json.decode(written(decision).body)
    assert body["spec"] == {"paused": True}
    assert body["metadata"]["annotations"] == {GATE: f"passed {TEMPLATE} paused"}


WAITING = {
    "what it depends on does not exist": (PhasedSnapshot(a_cell()), "deployment/canary does not exist", True),
    "what it depends on is being deleted": (
        PhasedSnapshot(a_cell(), (a_canary(deleted=True),), pods()),
        "deployment/canary does not exist",
        True,
    ),
    "another revision": (
        PhasedSnapshot(a_cell(), (a_canary(revision="v1"),), pods()),
        "deployment/canary is at revision v1, and v2 is wanted",
        False,
    ),
    "no revision": (
        PhasedSnapshot(a_cell(), (a_canary(revision=""),), pods()),
        "deployment/canary has no annotation grafana.com/rollout-revision, and v2 is wanted",
        False,
    ),
    "paused": (PhasedSnapshot(a_cell(), (a_canary(paused=True),), pods()), "deployment/canary is paused", False),
}
NOT_ROLLED_OUT = {
    "generation not observed": a_canary(observed=1),
    "nothing observed": a_canary(observed=None),
    "pods not updated": a_canary(counts={"updated_replicas": 2}),
    "old pods left": a_canary(counts={"replicas": 4}),
    "controller has not said so": a_canary(reason="ReplicaSetUpdated"),
}
WAITING |= {
    name: (PhasedSnapshot(a_cell(), (canary,), pods()), "deployment/canary has not rolled out yet", False)
    for name, canary in NOT_ROLLED_OUT.items()
}
WAITING |= {
    name: (seen, "not all pods of deployment/canary are available", False)
    for name, seen in {
        "pods not available": PhasedSnapshot(a_cell(), (a_canary(counts={"available_replicas": 2}),), pods()),
        "scaled since": PhasedSnapshot(a_cell(), (a_canary(counts={"replicas": 4, "updated_replicas": 4}),), pods(4)),
        "pods not seen yet": PhasedSnapshot(a_cell(), (a_canary(),), pods(2)),
        "restarts few enough of the pods there must be": PhasedSnapshot(
            a_cell(), (a_canary(10),), (a_pod(0, ended=LONG_AGO), a_pod(1))
        ),
        "a pod is down long after the soak": PhasedSnapshot(
            a_cell(), (a_canary(),), (*pods(2), a_pod(2, ended=NOW, down=True))
        ),
    }.items()
}


@pytest.mark.parametrize(("seen", "text", "trouble"), WAITING.values(), ids=WAITING)
def test_waits_when(seen: PhasedSnapshot, text: str, trouble: bool) -> None:
    decision = decide(seen, NOW)

    assert isinstance(decision.verdict, Hold)
    assert (decision.rule, decision.verdict.reason) == ("waiting", Reason.DEPENDENCY_NOT_ROLLED)
    assert text_of(decision) == f"Stays paused: {text}"
    assert [(tell.warning, tell.reason) for tell in decision.tell] == [
        (True, "RolloutBlocked") if trouble else (False, "RolloutWaiting")
    ]


INVALID = {
    "soak is no duration": (PhasedSnapshot(a_cell(soak_duration="5"), (a_canary(),), pods()), "rollout-soak-duration"),
    "threshold is no share": (
        PhasedSnapshot(a_cell(restart_threshold="5"), (a_canary(),), pods()),
        "rollout-restart-threshold",
    ),
    "it depends on itself": (PhasedSnapshot(a_cell(depends_on="cell-a")), "by way of cell-a"),
    "it depends on itself by way of another": (
        PhasedSnapshot(a_cell(), (a_canary(depends_on="cell-a"),), pods()),
        "by way of canary",
    ),
}


@pytest.mark.parametrize(("seen", "text"), INVALID.values(), ids=INVALID)
def test_stays_held_and_says_what_to_correct_when(seen: PhasedSnapshot, text: str) -> None:
    decision = decide(seen, NOW)

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.GATE_INVALID
    assert text in text_of(decision)
    assert (decision.tell[0].warning, decision.tell[0].reason) == (True, "InvalidAnnotation")


def test_longer_ring_that_it_is_not_part_of_is_no_mistake_of_its_own() -> None:
    ring = (a_canary(depends_on="x"), a_cell("x", depends_on="canary"))

    assert released(decide(PhasedSnapshot(a_cell(), ring, pods()), NOW))


def test_soaks_from_the_moment_at_which_the_rollout_was_complete() -> None:
    decision = decide(PhasedSnapshot(a_cell(), (a_canary(rolled_out=LATELY),), pods()), NOW)

    assert isinstance(decision.verdict, Hold)
    assert (decision.rule, decision.verdict.reason, decision.verdict.again) == (
        "soaking",
        Reason.DEPENDENCY_SOAKING,
        END,
    )
    assert text_of(decision) == "Stays paused: deployment/canary soaks until 2026-03-01T12:03:00Z"
    assert (decision.tell[0].warning, decision.tell[0].reason) == (False, "RolloutSoaking")


def test_without_a_progress_deadline_it_soaks_from_the_moment_at_which_the_last_pod_was_ready() -> None:
    decision = decide(PhasedSnapshot(a_cell(), (a_canary(reason=""),), (*pods(2), a_pod(2, ready_since=LATELY))), NOW)

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.again == END


def test_soak_beyond_the_end_of_time_is_a_soak_without_end() -> None:
    decision = decide(PhasedSnapshot(a_cell(soak_duration="290y"), (a_canary(),), pods()), NOW.replace(year=9998))

    assert released(decision)
    late = a_canary(rolled_out=NOW.replace(year=9990))
    assert not released(decide(PhasedSnapshot(a_cell(soak_duration="290y"), (late,), pods()), NOW.replace(year=9999)))


@pytest.mark.parametrize("down", [False, True], ids=["up again", "still down"])
@pytest.mark.parametrize("ended", [LATELY, NOW], ids=["first", "last"])
def test_too_many_restarts_block_before_the_soak_ends_and_while_a_pod_is_down(ended: datetime, down: bool) -> None:
    canary = a_canary(4, rolled_out=LATELY, counts={"available_replicas": 3 if down else 4})
    seen = (*pods(3), a_pod(3, ended=ended, down=down))

    decision = decide(PhasedSnapshot(a_cell(), (canary,), seen), NOW)

    write = written(decision)
    assert (decision.rule, write.does) == ("block", Does.BLOCK_DEPLOYMENT)
    assert msgspec.json.decode(write.body) == {
        "metadata": {"uid": "uid-cell-a", "resourceVersion": "7", "annotations": {GATE: BLOCKED}}
    }
    assert write.tell is not None
    assert (write.tell.warning, write.tell.reason) == (True, "RolloutBlocked")
    assert write.tell.text == (
        "Stays paused: 1 of 4 pods of deployment/canary restarted while it soaked, more than 10%; "
        f"to go on all the same, set annotation {RESUME} to v2"
    )


def test_blocked_it_stays_when_the_pods_that_showed_why_are_gone() -> None:
    decision = decide(PhasedSnapshot(a_cell(mark=BLOCKED), (a_canary(),), pods()), NOW)

    assert isinstance(decision.verdict, Hold)
    assert (decision.rule, decision.verdict.reason) == ("blocked", Reason.SOAK_FAILED)
    assert f"set annotation {RESUME} to v2" in text_of(decision)
    assert decision.tell[0].warning


def test_blocked_without_a_revision_is_resumed_by_the_name_of_the_template() -> None:
    decision = decide(PhasedSnapshot(a_cell(mark=BLOCKED, revision=""), (a_canary(),), pods()), NOW)

    assert f"set annotation {RESUME} to {TEMPLATE}" in text_of(decision)


@pytest.mark.parametrize(
    "deployment",
    [
        a_cell(label=""),
        a_cell(label="yes"),
        a_cell(mark=""),
        a_cell(mark="nonsense"),
        a_cell(mark=f"passed {TEMPLATE}"),
        a_cell(deleted=True),
    ],
    ids=["without label", "other label", "without mark", "unreadable mark", "passed", "being deleted"],
)
def test_nothing_is_done_or_said_about_a_deployment_that_no_gate_holds(deployment: Deployment) -> None:
    """A pause without a mark is its owner's."""
    decision = decide(PhasedSnapshot(deployment, (a_canary(),), pods()), NOW)

    assert decision == Decision("", Hold(Reason.COMPLETE))


MOMENTS = st.integers(-900, 0).map(lambda seconds: NOW + timedelta(seconds=seconds))
PODS = st.lists(
    st.tuples(st.one_of(st.none(), MOMENTS), st.booleans(), st.booleans()).map(
        lambda drawn: (drawn[0], drawn[1] and drawn[0] is not None, drawn[2])
    ),
    max_size=6,
)
CANARIES = st.builds(
    a_canary,
    st.integers(0, 4),
    rolled_out=MOMENTS,
    reason=st.sampled_from(["NewReplicaSetAvailable", "ReplicaSetUpdated"]),
    revision=st.sampled_from(["v1", "v2", ""]),
    paused=st.booleans(),
    observed=st.sampled_from([1, 2, None]),
    counts=st.dictionaries(st.sampled_from(["replicas", "updated_replicas", "available_replicas"]), st.integers(0, 4)),
    deleted=st.booleans(),
)
CELLS = st.builds(
    a_cell,
    mark=st.sampled_from([HELD, BLOCKED, f"{HELD} paused", f"passed {TEMPLATE}"]),
    revision=st.sampled_from(["v2", ""]),
    label=st.sampled_from(["true", ""]),
    soak_duration=st.sampled_from(["", "0", "10m", "x"]),
    restart_threshold=st.sampled_from(["", "0%", "50%", "100%", "x"]),
)


@given(CELLS, st.one_of(st.none(), CANARIES), PODS)
def test_never_released_before_what_it_depends_on_has_rolled_out_and_soaked(
    cell: Deployment, canary: Deployment | None, drawn: list[tuple[datetime | None, bool, bool]]
) -> None:
    """Nobody resumed it; whoever is resumed is released in whatever state of the world."""
    found = tuple(
        a_pod(number, ended=ended, down=down, terminating=going) for number, (ended, down, going) in enumerate(drawn)
    )
    seen = PhasedSnapshot(cell, () if canary is None else (canary,), found)

    decision = decide(seen, NOW)

    annotations = cell.metadata.annotations
    if released(decision):
        assert cell.metadata.labels
        assert annotations[GATE].startswith("held")
        assert_rolled_out(cell, canary, found)
    elif cell.metadata.labels and not annotations[GATE].startswith("passed"):
        resumed = {**annotations, RESUME: annotations.get("grafana.com/rollout-revision", TEMPLATE)}
        again = structs.replace(cell, metadata=structs.replace(cell.metadata, annotations=resumed))
        assert released(decide(structs.replace(seen, deployment=again), NOW))


def assert_rolled_out(cell: Deployment, canary: Deployment | None, found: tuple[Pod, ...]) -> None:
    """Told in the test's own words."""
    annotations = cell.metadata.annotations
    assert canary is not None
    assert canary.metadata.deletion_timestamp is None
    assert not canary.spec.paused
    if "grafana.com/rollout-revision" in annotations:
        assert canary.metadata.annotations.get("grafana.com/rollout-revision") == "v2"
    status, wanted = canary.status, canary.spec.replicas
    assert status.observed_generation == 2
    assert status.replicas == status.updated_replicas == status.available_replicas == wanted
    said = status.conditions[1]
    assert said.reason == "NewReplicaSetAvailable"
    assert said.last_update_time is not None
    soak = {"": 300, "0": 0, "10m": 600}[annotations.get("grafana.com/rollout-soak-duration", "")]
    assert said.last_update_time + timedelta(seconds=soak) <= NOW
    living = [pod for pod in found if pod.metadata.deletion_timestamp is None]
    ends = [end for pod in living for end in ended(pod)]
    inside = [end for end in ends if said.last_update_time <= end <= said.last_update_time + timedelta(seconds=soak)]
    share = {"": 10, "0%": 0, "50%": 50, "100%": 100}[annotations.get("grafana.com/rollout-restart-threshold", "")]
    assert 100 * len(inside) <= share * len(living)


def ended(pod: Pod) -> list[datetime]:
    (container,) = pod.status.container_statuses
    states = [container.state.terminated, container.last_state.terminated]
    return [state.finished_at for state in states if state is not None and state.finished_at is not None]
