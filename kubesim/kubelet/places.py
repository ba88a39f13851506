"""Where pods are: the nodes that they may be put on, and the addresses that they get."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, cycle, islice

import msgspec

from kubeloop.client import Client
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Ref
from kubeloop.request import get
from kubesim.kubelet.neighbours import Neighbours
from kubesim.kubelet.nodes import NODES
from kubesim.kubelet.obstacles import UNATTRACTIVE, Obstacle, no_place, why_not_on
from kubesim.kubelet.pods import Pod
from kubesim.pods.affinity import Labels, Surroundings
from kubesim.pods.scheduling import Node, Wishes

ADDRESSES = 94 * 254 * 254
"""Pods get 10.2.1.1 up to 10.95.254.254, below those of Services; endpoints may not have those of the loopback."""


class Places:
    """The named nodes, as they are in the cluster; `found` is called when a pod that had no place may have one."""

    def __init__(self, client: Client, names: Sequence[str], neighbours: Neighbours, found: Callable[[], None]) -> None:
        self._client = client
        self._names = names
        self._neighbours = neighbours
        self._turns: dict[tuple[tuple[str, str], ...], Iterator[str]] = {}
        self._found = found
        self._avoided: dict[str, None] = {}
        """Names of nodes that not every pod may be on."""
        self._nodes = Informer(client, NODES, Node)
        self._nodes.subscribe(self._changed)

    async def follow(self, tasks: asyncio.TaskGroup) -> None:
        """Returns when the nodes are known; from then on they are followed in the group."""
        tasks.create_task(self._nodes.run())
        await self._nodes.synced.wait()

    async def place_for(self, pod: Pod, ref: Ref) -> str | Obstacle:
        """The node that the pod asks for by name, or the next that it may be on; else why there is none."""
        spec, nodes = pod.spec, self._nodes.store
        wishes = Wishes(node_selector=spec.node_selector, affinity=spec.affinity)
        if self._avoided:
            # Rare enough not to keep the tolerations of every pod for it.
            answer = await self._client.call(get(ref))
            wishes = _wishes_decoder.decode(answer.body).spec
        namespaces = await self._neighbours.read(pod)
        # From here on nothing is waited for, so that no other pod takes a node between the look and the choice.
        around = self._neighbours.around(pod, self._labels_of, namespaces)
        named = wishes.named_node
        names: Iterable[str] = (named,) if named else self._in_turn(wishes.node_selector)
        found = (node for name in names if (node := nodes.get("", name)) is not None)
        chosen = next((node.name for node in found if not _against(wishes, around, node)), "")
        if chosen:
            self._neighbours.take(pod, chosen)
            return chosen
        self._neighbours.wait(pod)
        known = (node for name in self._names if (node := nodes.get("", name)) is not None)
        return no_place([_against(wishes, around, node) or UNATTRACTIVE for node in known])

    def _labels_of(self, name: str) -> Labels | None:
        node = self._nodes.store.get("", name)
        return None if node is None else node.metadata.labels

    def _in_turn(self, selector: Mapping[str, str]) -> Iterable[str]:
        """Every node once. Pods that select alike take turns, so that they are spread in whichever order they come."""
        turns = self._turns.setdefault(tuple(sorted(selector.items())), cycle(self._names))
        return islice(turns, len(self._names))

    def _changed(self, change: Change[Node]) -> None:
        node = change.new or change.old
        if node is not None:
            self._avoided.pop(node.name, None)
            if change.new is not None and (node.spec.taints or node.spec.unschedulable):
                self._avoided[node.name] = None
        if change.new is not None and (change.old is None or change.old.spec != change.new.spec or _relabelled(change)):
            self._found()


class Addresses:
    """Of pods, each used by one at a time."""

    def __init__(self) -> None:
        self._next = count()
        self._taken: set[str] = set()

    def take(self, address: str) -> None:
        self._taken.add(address)

    def free(self, address: str) -> None:
        self._taken.discard(address)

    def next(self) -> str:
        """One that was free."""
        while True:
            number = next(self._next) % ADDRESSES
            address = f"10.{2 + number // (254 * 254)}.{1 + number // 254 % 254}.{1 + number % 254}"
            if address not in self._taken:
                self._taken.add(address)
                return address


class Placed(msgspec.Struct, frozen=True):
    """Of a pod, where it may be."""

    spec: Wishes = Wishes()


_wishes_decoder = msgspec.json.Decoder(Placed)


def _against(wishes: Wishes, around: Surroundings | None, node: Node) -> str:
    """Why the pod may not be on the node, in the order in which a scheduler looks; empty where it may."""
    return why_not_on(wishes, node) or ("" if around is None else around.against(node.metadata.labels))


def _relabelled(change: Change[Node]) -> bool:
    old, new = change.old, change.new
    return old is not None and new is not None and old.metadata.labels != new.metadata.labels
