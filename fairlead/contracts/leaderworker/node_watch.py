"""Nodes, watched only while leaders wait for the label of a topology on theirs (section 3.1 point 2).

A cluster has many nodes, and they change often; nobody else here reads them.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.seen import GroupSeen
from fairlead.core.decision import Decision
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey, Wake
from kubeloop.caches import Caches, Share
from kubeloop.informer import Change
from kubeloop.objects.core import NODES
from kubeloop.objects.meta import Meta


class Node(Struct, frozen=True):
    metadata: Meta


class NodeWatch:
    """Wakes the groups whose leader waits for a label, when the labels of its node change."""

    def __init__(self, caches: Caches) -> None:
        self._caches = caches
        self._share: Share[Node] | None = None
        self._waiting: dict[RolloutKey, str] = {}
        """The node that a group waits for."""
        self._wakes: list[Wake] = []

    def subscribe(self, wake: Wake) -> None:
        self._wakes.append(wake)

    def decided(self, key: RolloutKey, seen: GroupSeen, decision: Decision) -> None:
        """A round of the group has come to this."""
        if decision.verdict.reason is Reason.NODE_UNLABELLED and seen.leader is not None:
            self._waiting[key] = seen.leader.spec.node_name
        else:
            self._waiting.pop(key, None)
        self._follow()

    def forget(self, key: RolloutKey) -> None:
        self._waiting.pop(key, None)
        self._follow()

    def clear(self) -> None:
        """Another replica decides from now on."""
        self._waiting.clear()
        self._follow()

    def _follow(self) -> None:
        if self._waiting and self._share is None:
            self._share = self._caches.share(NODES, Node, optional=True)
            self._share.subscribe(self._changed)
        elif not self._waiting and self._share is not None:
            self._share.give_back()
            self._share = None

    def _changed(self, change: Change[Node]) -> None:
        old, new = change.old, change.new
        if new is None or (old is not None and old.metadata.labels == new.metadata.labels):
            return
        for key in [each for each, node in self._waiting.items() if node == new.metadata.name]:
            for wake in self._wakes:
                wake(key, False)
