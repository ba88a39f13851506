"""People, pods and crashes in any order: what must always hold about a pair, judged from what stands in the cluster.

I-1 (never fewer pods than T), I-2, I-5, I-6, and in the end L-1 to L-4: left alone, every rollout comes to an end and
holds nothing.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.kinds import Json
from fairlead.core.ask import Answers, Bad, Good
from fairlead.core.written import read, written
from tests.contracts.plans.decide.cluster import Cluster, Died, a_pair
from tests.examples import examples

SIZE = 5
NAMES = ("d1", "d2", "d3")
HOOKS: list[Json] = [
    {"type": kind, "name": kind, "url": f"http://hooks/{kind}"}
    for kind in ("initialize-rollout", "pre-batch-rollout", "post-batch-rollout", "finalize-rollout")
]
ACTIONS = st.one_of(
    st.sampled_from(["run", "run", "run", "settle", "settle", "flap", "crash", "refuse", "accept"]),
    st.sampled_from(["pause", "resume", "open", "delete", "later"]),
    st.tuples(st.just("aim"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
    st.tuples(st.just("scale"), st.sampled_from(NAMES), st.integers(0, 7)),
    st.tuples(st.just("lose"), st.sampled_from(NAMES)),
    st.tuples(st.just("ask"), st.sampled_from(["abort", "revert", "retry"]), st.integers(0, 9)),
)
PLANS = st.fixed_dictionaries(
    {
        "rolloutBatches": st.sampled_from(
            [
                [{"replicas": 1}, {"replicas": "40%"}, {}],
                [{"replicas": 2}, {"replicas": 3}],
                [{"replicas": 0}, {"replicas": 4, "maxUnavailable": 1}, {}],
                [{"replicas": 3, "instanceInterval": 7}, {}],
            ]
        ),
        "rolloutStrategy": st.sampled_from(["IncreaseFirst", "DecreaseFirst"]),
        "rolloutWebhooks": st.sampled_from([[], HOOKS]),
    },
    optional={
        "lastBatchToRollout": st.integers(0, 2),
        "progressDeadlineSeconds": st.just(600),
        "revertOnDelete": st.booleans(),
        "onFailure": st.sampled_from(["stop", "revert"]),
    },
)


class People:
    def __init__(self, plan: Json) -> None:
        self.cluster = a_pair(plan)
        self.cluster.add_deployment("d3", 0, paused=True)
        self.is_foreign = False
        """Whether somebody scaled or removed a workload, so that numbers are no longer those of the plan."""

    def act(self, action: Any) -> None:
        match action:
            case "run":
                self.run()
            case "crash":
                self.cluster.writes_left = 1
                self.run()
                self.cluster.writes_left = None
            case ("aim", target, source) if target != source:
                self._aim(target, source)
            case ("ask", verb, time):
                self.cluster.ask(f"{verb}@{time}")
            case ("scale" | "lose", name, *size) if name in self.cluster.objects:
                self._meddle(name, *size)
            case str():
                self._ask(action)

    def _ask(self, action: str) -> None:
        cluster = self.cluster
        match action:
            case "settle" | "flap":
                cluster.settle(ready=action == "settle")
            case "refuse" | "accept":
                answer = Bad("failed", code=500) if action == "refuse" else Good(code=200)
                cluster.hook = lambda _body, _call: answer
            case "pause" | "resume":
                cluster.edit(paused=True if action == "pause" else None)
            case "open":
                cluster.edit(lastBatchToRollout=None)
            case "delete":
                cluster.delete()
            case "later":
                cluster.now += timedelta(seconds=60)

    def _aim(self, target: str, source: str) -> None:
        cluster = self.cluster
        cluster.change(targetRef=cluster.reference(target), sourceRef=[cluster.reference(source)])

    def _meddle(self, name: str, size: int | None = None) -> None:
        """Somebody else scales a workload, or takes it away."""
        self.is_foreign = True
        if size is None:
            del self.cluster.objects[name]
        else:
            self.cluster.scale(name, size)

    def run(self) -> None:
        """One pass, judged by what it changed."""
        cluster = self.cluster
        if not cluster.is_there:
            return
        before, was = dict(cluster.objects), cluster.rollout
        is_paused = bool(cluster.plan.get("paused")) and was.rolling_state == "rollingInBatches"
        with suppress(Died):
            cluster.run()
        self._judge_recording()
        changed = [name for name in cluster.objects if cluster.tree(name) != before[name][1]]
        is_changed_plan = cluster.meta.deletion_timestamp is not None or cluster.state == "rolloutAbandoned"
        assert not changed or not is_paused or is_changed_plan, "I-5"
        assert not changed or was.rolling_state not in ("rolloutSucceed", "rolloutFailed"), "I-5"
        for name in cluster.objects:
            owners = cluster.tree(name)["metadata"].get("ownerReferences", [])
            assert sum(each.get("controller") is True for each in owners) <= 1, "I-6"
        if not self.is_foreign:
            self._judge_sizes(before, was.rolling_state)

    def _judge_recording(self) -> None:
        seen = self.cluster.seen(Answers())
        assert read(written(seen, TraitSeen), TraitSeen) == seen

    def _judge_sizes(self, before: dict[str, Any], state: str) -> None:
        cluster = self.cluster
        old = {name: tree["spec"]["replicas"] for name, (_, tree) in before.items()}
        new = {name: cluster.size(name) for name in before}
        if cluster.plan["rolloutStrategy"] == "IncreaseFirst":
            assert sum(new.values()) >= min(SIZE, sum(old.values())), "I-1"
        if state != "rollingInBatches":
            return
        target = cluster.rollout.last_target_ref
        assert target is not None
        for name, size in new.items():
            assert size >= old[name] if name == target.name else size <= old[name], "I-2"

    def leave_alone(self) -> None:
        """Nobody disturbs it any more, hooks accept and pods become ready."""
        cluster = self.cluster
        cluster.hook = lambda _body, _call: Good(code=200)
        cluster.edit(paused=None, lastBatchToRollout=None)
        for name in NAMES:
            if name not in cluster.objects:
                cluster.add_deployment(name, 0, paused=True)
        for _ in range(150):
            self.run()
            cluster.settle()
            cluster.now += timedelta(seconds=5)


@examples(20)
@given(PLANS, st.lists(ACTIONS, max_size=40))
@example(
    {"rolloutBatches": [{"replicas": 2}, {"replicas": 3}], "rolloutStrategy": "IncreaseFirst", "rolloutWebhooks": []},
    [],
)
def test_whatever_people_do_pods_stay_and_it_ends(plan: Json, actions: list[Any]) -> None:
    people = People(plan)

    for action in actions:
        people.act(action)
    people.leave_alone()

    cluster: Cluster = people.cluster
    assert not cluster.is_there or cluster.state in ("rolloutSucceed", "rolloutFailed")
    for name in NAMES:
        assert "RolloutTrait" not in cluster.owners(name)
    if cluster.is_there and cluster.state == "rolloutSucceed" and not people.is_foreign:
        target = cluster.spec["targetRef"]["name"]
        assert {name: cluster.size(name) for name in NAMES} == {
            **dict.fromkeys(NAMES, 0),
            target: cluster.rollout.rollout_target_size,
        }
