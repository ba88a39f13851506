"""Sets in the middle of a rollout, as people look at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    NAME,
    REPLICAS,
    REVISION_KEY,
    WORKER_INDEX,
    LeaderWorkerSet,
    Pod,
    PodSpec,
    RollingUpdate,
    RolloutStrategy,
    StatefulSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.core import ContainerRunning, ContainerState, ContainerStatus, PodMeta, PodStatus
from kubeloop.objects.meta import Condition, OwnerReference
from kubeloop.safe_hash import safe_hash
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, some_workers, the_leaders

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
BEFORE = datetime(2026, 5, 1, 11, 59, tzinfo=UTC)
OLD_KEY, NEW_KEY = (safe_hash(data_of(a_set(image))) for image in ("nginx:1", "nginx:2"))


def a_worker(index: int, key: str, *, ready: bool = True, **meta: Any) -> Pod:
    """Pod 1 of a group, on a node."""
    found = PodMeta(
        name=f"a-{index}-1",
        uid=f"worker-{index}",
        resource_version="1",
        namespace="default",
        labels={NAME: "a", GROUP_INDEX: str(index), WORKER_INDEX: "1", REVISION_KEY: key},
        owner_references=(OwnerReference("StatefulSet", f"a-{index}", f"workers-{index}", controller=True),),
        creation_timestamp=BEFORE,
        **meta,
    )
    return Pod(found, a_status(ready), PodSpec(node_name="node-1"))


def a_status(ready: bool, state: ContainerState | None = None, restarts: int = 0) -> PodStatus:
    running = state or ContainerState(running=ContainerRunning())
    condition = Condition("Ready", "True" if ready else "False", last_transition_time=BEFORE)
    return PodStatus("Running", (condition,), (ContainerStatus("worker", ready, running, restart_count=restarts),))


def a_group(index: int, key: str, *, ready: bool = True) -> tuple[Pod, StatefulSet, Pod]:
    """Leader, workers and the one pod of them."""
    leader = replace(a_leader(index, key, ready=ready, meta={"creation_timestamp": BEFORE}), status=a_status(ready))
    return leader, some_workers(index, key, ready), a_worker(index, key, ready=ready)


def a_look(
    groups: Sequence[tuple[Pod | None, StatefulSet | None, Pod | None]],
    verdict: Verdict | None = None,
    *,
    partition: int = 0,
    key: str = NEW_KEY,
    update: RollingUpdate | None = None,
    rounds: Mapping[str, Decision] | None = None,
    given: LeaderWorkerSet | None = None,
    **changes: Any,
) -> Shown:
    """A set of three that goes from nginx:1 to nginx:2, in which these groups are there."""
    wanted = given or a_set("nginx:2", replicas=3, **changes)
    strategy = RolloutStrategy(rolling_update_configuration=update or RollingUpdate())
    wanted = replace(wanted, spec=replace(wanted.spec, rollout_strategy=strategy))
    labels = {NAME: "a", REVISION_KEY: key}
    leaders = the_leaders(
        {
            "metadata": {"labels": labels, "annotations": {REPLICAS: "3"}},
            "spec": {
                "replicas": 3,
                "updateStrategy": {"rollingUpdate": {"partition": partition}},
                "template": {"metadata": {"labels": labels}},
            },
        }
    )
    pods = tuple(leader for leader, _, _ in groups if leader is not None)
    workers = tuple(worker for _, _, worker in groups if worker is not None)
    seen = SetSeen(
        set=wanted,
        leaders=leaders,
        pods=pods,
        workers=tuple(each for _, each, _ in groups if each is not None),
        revisions=(a_revision(a_set("nginx:1"), 1), a_revision(a_set("nginx:2"), 2)),
        answers=Answers({}),
        settings=Settings(),
    )
    return Shown(
        seen=seen,
        decision=Decision("rolling", verdict or Hold(Reason.GROUPS_NOT_READY)),
        pods=(*pods, *workers),
        rounds=rounds or {},
        at=NOW,
    )
