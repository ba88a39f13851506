"""What the pods of a set get when they are created: labels, placement, variables (sections 2.9 and 3.7).

Leaders and workers come from StatefulSets, which know neither groups nor one another's names; here a pod learns its
place from its name. Admitting the result again changes nothing (section 3.7 step 7).
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.decide.exclusive_placement import place_exclusively
from fairlead.contracts.leaderworker.decide.gang_scheduling import GANG_SCHEDULERS, pod_group_name
from fairlead.contracts.leaderworker.decide.identity import group_key, parent_and_ordinal
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal, PodView, environment_of
from fairlead.contracts.leaderworker.decide.subgroups import join_subgroup
from fairlead.contracts.leaderworker.decide.tpu import tpu_variables
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    NAME,
    REVISION_KEY,
    SIZE,
    SUBDOMAIN_POLICY,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_KEY,
    UNIQUE_PER_REPLICA,
    WORKER_INDEX,
    Json,
)

LONGEST = 2000
"""Characters of the variables that each container gets: a pod may have tens of thousands of containers by then."""
LEADER_ADDRESS, GROUP_SIZE, OWN_INDEX = "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"


def admitted(tree: Json, namespace: str = "", gang_scheduler: str = "") -> Json:
    """The pod as it is created; raises PodRefusal (section 3.7 step 1). The tree that is given is not changed."""
    pod = PodView(tree, namespace)
    if not pod.is_of_a_set:
        return tree
    size = pod.size
    worker = 0 if pod.is_leader else _ordinal(pod)
    pod.label(WORKER_INDEX, str(worker))
    if pod.is_leader:
        _lead(pod)
    if join_subgroup(pod, size, worker):
        topology = pod.annotations.get(SUBGROUP_EXCLUSIVE_TOPOLOGY, "")
        place_exclusively(pod, SUBGROUP_KEY, pod.labels[SUBGROUP_KEY], topology)
    if gang_scheduler:
        _mark(pod, gang_scheduler)
    _set_variables(pod, size)
    return pod.tree


def _lead(pod: PodView) -> None:
    """Section 3.7 step 2: a key on the pod is used as it is."""
    if GROUP_INDEX not in pod.labels:
        pod.label(GROUP_INDEX, str(_ordinal(pod)))
    if pod.annotations.get(SUBDOMAIN_POLICY) == UNIQUE_PER_REPLICA:
        pod.put_subdomain(pod.name)
    if GROUP_KEY not in pod.labels:
        pod.label(GROUP_KEY, group_key(pod.namespace, pod.name))
    place_exclusively(pod, GROUP_KEY, pod.labels[GROUP_KEY], pod.annotations.get(EXCLUSIVE_TOPOLOGY, ""))


def _ordinal(pod: PodView) -> int:
    _, ordinal = parent_and_ordinal(pod.name)
    if ordinal is None:
        raise PodRefusal(f"parsing pod ordinal for pod {pod.name}")
    return ordinal


def _mark(pod: PodView, gang_scheduler: str) -> None:
    labels = pod.labels
    group = pod_group_name(labels[NAME], labels.get(GROUP_INDEX, ""), labels.get(REVISION_KEY, ""))
    marks = GANG_SCHEDULERS[gang_scheduler].pod_marks(group)
    for key, value in marks.labels.items():
        pod.label(key, value)
    for key, value in marks.annotations.items():
        pod.annotate(key, value)


def _set_variables(pod: PodView, size: int) -> None:
    """Section 3.7 step 6: those of the set stand first, so that a user's may refer to them, and no name twice."""
    if GROUP_INDEX not in pod.labels:
        raise PodRefusal(
            f"Failure constructing environment variables, no group index label found for pod {pod.namespace}/{pod.name}"
        )
    address = f"{pod.labels[NAME]}-{pod.labels[GROUP_INDEX]}.{pod.subdomain}.{pod.namespace}"
    own = (
        {"name": LEADER_ADDRESS, "value": address},
        {"name": GROUP_SIZE, "value": pod.annotations[SIZE]},
        {"name": OWN_INDEX, "value": pod.labels[WORKER_INDEX]},
    )
    if sum(len(each["value"]) for each in own) > LONGEST:
        raise PodRefusal(
            f"the labels {NAME} and {GROUP_INDEX}, the subdomain and the annotation {SIZE} of a pod in {pod.namespace}"
            " are longer than names and numbers can be"
        )
    of_tpus = tpu_variables(pod, size)

    def variables(container: Json) -> Iterator[Json]:
        added = [made for asking, made in of_tpus if asking is container]
        taken: set[str] = set()
        for each in (*own, *environment_of(container), *(each for made in added for each in made)):
            name = each.get("name") or ""
            if name not in taken:
                taken.add(name)
                yield each

    pod.put_environment(variables)
