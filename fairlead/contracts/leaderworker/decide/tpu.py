"""Variables by which TPU workers of a group find one another (section 3.7 step 5)."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.decide.identity import parent_and_ordinal
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal, PodView, environment_of
from fairlead.contracts.leaderworker.decide.subgroups import has_subgroups, subgroup_size
from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.kinds import LEADER_REQUESTS_TPUS, SUBGROUP_INDEX, WORKER_INDEX, Json
from kubeloop import quantities

RESOURCE = "google.com/tpu"
HOSTNAMES, WORKER_ID, LEADER, ADDRESSES, PORT = (
    "TPU_WORKER_HOSTNAMES",
    "TPU_WORKER_ID",
    "TPU_NAME",
    "TPU_PROCESS_ADDRESSES",
    "TPU_PROCESS_PORT",
)
FIRST_PORT = 8476
LARGEST = 3 * 1024 * 1024
"""Characters of the lists of a pod: one with more is larger than any object that the API server takes."""
_ORDINAL = 12
"""Characters of an ordinal with what stands around it."""


def requests_tpus(container: object) -> bool:
    """Whether it asks for any; `0` and `0k` ask for none, and so does what is no container."""
    return any(_is_some(part(container, "resources", kind).get(RESOURCE)) for kind in ("limits", "requests"))


def _is_some(quantity: object) -> bool:
    if quantity is None:
        return False
    try:
        return quantities.number(str(quantity)) != 0
    except (ValueError, ArithmeticError):  # the API server refuses the pod by name
        return False


def tpu_variables(pod: PodView, size: int) -> list[tuple[Json, list[Json]]]:
    """The containers that get variables, each with its own; none where the first container has them already."""
    containers = [each for each in pod.containers if requests_tpus(each)]
    if not containers or {HOSTNAMES, WORKER_ID} & {each.get("name") for each in environment_of(containers[0])}:
        return []
    if has_subgroups(pod):
        return [(containers[0], _in_subgroup(pod, containers[0]))]
    return [*_in_group(pod, size, containers)]


def _in_group(pod: PodView, size: int, containers: list[Json]) -> Iterator[tuple[Json, list[Json]]]:
    """Worker ids count containers: with 2 of them the pod at place q has 2q and 2q+1."""
    leader, worker = _place(pod)
    with_leader = pod.is_leader or _leader_requests(pod)
    count = len(containers)
    ports = [_port(each) or str(FIRST_PORT + place) for place, each in enumerate(containers)]
    _bounded(pod, size * count, ports, lists=count)
    hosts = [leader] * with_leader + [f"{leader}-{each}" for each in range(1, size)]
    names = [f"{host}.{pod.subdomain}" for host in hosts for _ in containers]
    addresses = [f"{name}:{ports[place % count]}" for place, name in enumerate(names)]
    first = (worker if with_leader else worker - 1) * count
    for place, container in enumerate(containers):
        yield container, [*_variables(names, first + place, leader, addresses, container, ports[place])]


def _in_subgroup(pod: PodView, container: Json) -> list[Json]:
    """With a leader that takes part, subgroups of 4 are (leader, 1, 2, 3) and (4, 5, 6, 7); else (1, 2, 3, 4), …"""
    leader, worker = _place(pod)
    size = subgroup_size(pod)
    port = _port(container) or str(FIRST_PORT)
    _bounded(pod, size, [port])
    if SUBGROUP_INDEX not in pod.labels:
        raise PodRefusal(
            f"pod {pod.name} requests {RESOURCE} but belongs to no subgroup, so it has no place among TPU workers: a "
            "leader that is excluded from subgroups cannot request TPUs"
        )
    index = pod.number(SUBGROUP_INDEX, pod.labels[SUBGROUP_INDEX], "label")
    if pod.is_leader or _leader_requests(pod):
        identifier, members = worker % size, range(index * size, (index + 1) * size)
    else:
        index = (worker - 1) // size
        identifier, members = (worker - 1) % size, range(index * size + 1, (index + 1) * size + 1)
    names = [f"{leader if each == 0 else f'{leader}-{each}'}.{pod.subdomain}" for each in members]
    addresses = [f"{name}:{port}" for name in names]
    return [*_variables(names, identifier, leader, addresses, container, port)]


def _variables(
    names: list[str], identifier: int, leader: str, addresses: list[str], container: Json, port: str
) -> Iterator[Json]:
    yield {"name": HOSTNAMES, "value": ",".join(names)}
    yield {"name": WORKER_ID, "value": str(identifier)}
    yield {"name": LEADER, "value": leader}
    yield {"name": ADDRESSES, "value": ",".join(addresses)}
    if _port(container) is None:
        yield {"name": PORT, "value": port}


def _place(pod: PodView) -> tuple[str, int]:
    """The leader of the group, and the pod's place in it."""
    if pod.is_leader:
        return pod.name, 0
    leader, _ = parent_and_ordinal(pod.name)
    return leader, pod.number(WORKER_INDEX, pod.labels[WORKER_INDEX], "label")


def _leader_requests(pod: PodView) -> bool:
    return pod.annotations.get(LEADER_REQUESTS_TPUS) == "true"


def _port(container: Json) -> str | None:
    """The one that its environment names; empty where it is not said as a text, None without the variable."""
    found = (each.get("value") or "" for each in environment_of(container) if each.get("name") == PORT)
    return next(found, None)


def _bounded(pod: PodView, hosts: int, ports: list[str], lists: int = 1) -> None:
    """Before the lists are made, each of which holds all hosts; nobody has looked yet at what the pod is made of."""
    longest = len(pod.name) + len(pod.subdomain) + max(map(len, ports)) + _ORDINAL
    if hosts * lists * longest > LARGEST:
        raise PodRefusal(f"pod {pod.name} would get the names of {hosts} TPU workers, which no pod can hold")
