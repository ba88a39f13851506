"""What is said of pods that wait for a domain of nodes to themselves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.explain import explain
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_KEY,
    WITHIN_SET,
    Pod,
    PodSpec,
)
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Block
from fairlead.core.reason import Reason
from kubeloop.objects.core import PodStatus
from kubeloop.objects.meta import Condition
from tests.contracts.leaderworker.showing import BEFORE, NEW_KEY, NOW, a_group, a_look

APART = "0/4 nodes are available: 4 node(s) didn't match pod anti-affinity rules."
ROOM = "0/4 nodes are available: 4 Insufficient cpu."
HELD = Decision("await_node", Hold(Reason.LEADER_UNBOUND, details=(("pod/a-2", "its workers are made then"),)))
GROUP = "its group needs nodes of one rack that no other group uses"


def without_a_node(pod: Pod, says: str, notes: dict[str, str], *, subgroup: bool = False, **meta: Any) -> Pod:
    labels = {**pod.metadata.labels, **({SUBGROUP_KEY: "k"} if subgroup else {})}
    found = replace(pod.metadata, annotations={**pod.metadata.annotations, **notes}, labels=labels, **meta)
    conditions = (Condition("PodScheduled", "False", BEFORE, says),) if says else ()
    return replace(pod, metadata=found, status=PodStatus("Pending", conditions), spec=PodSpec())


def waits_for(leader: Pod, *, replicas: int = 3) -> list[Block]:
    """What the set waits for whose last group is this leader alone."""
    others = [a_group(index, NEW_KEY) for index in range(2)]
    look = a_look([*others, (leader, None, None)], rounds={"a-2": HELD})
    spec = replace(look.seen.set.spec, replicas=replicas)
    shown = replace(look, seen=replace(look.seen, set=replace(look.seen.set, spec=spec)))
    return list(explain(shown).blocked_by)


@pytest.mark.parametrize(
    ("notes", "subgroup", "says", "text"),
    [
        pytest.param({EXCLUSIVE_TOPOLOGY: "rack"}, False, APART, f"({APART}): {GROUP}", id="a group"),
        pytest.param(
            {EXCLUSIVE_TOPOLOGY: "rack", EXCLUSIVE_SCOPE: WITHIN_SET},
            False,
            APART,
            f"({APART}): its group needs nodes of one rack that no other group of the set uses",
            id="a group that keeps its own set away",
        ),
        pytest.param(
            {EXCLUSIVE_TOPOLOGY: "rack", SUBGROUP_EXCLUSIVE_TOPOLOGY: "host"},
            True,
            APART,
            f"({APART}): {GROUP}, and its subgroup needs nodes of one host that no other subgroup uses",
            id="group and subgroup",
        ),
        pytest.param({EXCLUSIVE_TOPOLOGY: "rack"}, False, ROOM, f"({ROOM})", id="nodes that are full"),
        pytest.param({}, False, APART, f"({APART})", id="terms of the user's own"),
        pytest.param({EXCLUSIVE_TOPOLOGY: ""}, False, APART, f"({APART})", id="no topology"),
    ],
)
def test_one_sentence_says_what_the_scheduler_says_and_what_is_needed(
    notes: dict[str, str], subgroup: bool, says: str, text: str
) -> None:
    leader, _, _ = a_group(2, NEW_KEY, ready=False)

    (block,) = waits_for(without_a_node(leader, says, notes, subgroup=subgroup))

    assert (block.object, block.kind, block.since) == ("pod/a-2", "waiting", BEFORE)
    assert block.text == f"a-2 is not ready: no node is found for it {text}"
    assert block.advice[-1] == "kubectl -n default describe pod a-2"


def test_what_is_needed_is_said_where_the_scheduler_says_more_than_is_shown() -> None:
    """On a large cluster its sentence names many other reasons first."""
    others = ", ".join(f"{count} node(s) had untolerated taint {{example.com/pool-{count}: }}" for count in range(1, 6))
    leader, _, _ = a_group(2, NEW_KEY, ready=False)
    says = f"0/120 nodes are available: {others}, 99 node(s) didn't match pod anti-affinity rules."

    (block,) = waits_for(without_a_node(leader, says, {EXCLUSIVE_TOPOLOGY: "rack"}))

    assert block.text.endswith(f": {GROUP}")
    assert block.advice[0].startswith("give it nodes of a further rack")


def test_a_group_that_the_surge_has_made_may_do_without() -> None:
    leader, _, _ = a_group(2, NEW_KEY, ready=False)
    leader = without_a_node(leader, APART, {EXCLUSIVE_TOPOLOGY: "rack"})

    (wanted,), (of_the_surge,) = waits_for(leader), waits_for(leader, replicas=2)

    assert wanted.advice[0] == "give it nodes of a further rack, or take some from others; or ask for fewer groups"
    assert of_the_surge.advice[0] == "give it nodes of a further rack, or take some from others"
    assert of_the_surge.advice[1].startswith("roll without a surge")
    assert '{"maxSurge":0,"maxUnavailable":1}' in of_the_surge.advice[1]


def test_a_group_that_has_waited_too_long_is_stuck_and_still_says_why() -> None:
    leader, _, _ = a_group(2, NEW_KEY, ready=False)
    long_ago = NOW - timedelta(hours=1)

    (block,) = waits_for(without_a_node(leader, APART, {EXCLUSIVE_TOPOLOGY: "rack"}, creation_timestamp=long_ago))

    assert (block.kind, block.since) == ("blocked", long_ago)
    assert block.text == f"a-2 is stuck: no node is found for it ({APART}): {GROUP}"
    assert block.advice[0].startswith("give it nodes of a further rack")


def test_before_the_scheduler_has_looked_the_leader_is_waited_for() -> None:
    leader, _, _ = a_group(2, NEW_KEY, ready=False)

    found = waits_for(without_a_node(leader, "", {EXCLUSIVE_TOPOLOGY: "rack"}))

    assert Reason.LEADER_UNBOUND.word in {each.reason for each in found}
