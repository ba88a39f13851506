"""The objects of LeaderWorkerSets as they are, and what belongs to whom by UIDs."""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.store.versions import Tree
from tests.chaos.leaderworker.facts import (
    NAME,
    SetFact,
    index_of,
    is_going,
    is_ready,
    key_of,
    label,
    owner_of,
    uid_of,
)

KEPT = ("statefulsets", "pods", "controllerrevisions", "services")


class Record:
    """Kept from the cluster's history."""

    def __init__(self) -> None:
        self.sets: dict[str, list[SetFact]] = {}
        """By UID: every version of a set that is there, the newest last."""
        self.objects: dict[str, dict[str, Tree]] = {plural: {} for plural in KEPT}
        """By plural and name, of the one namespace that there is."""
        self.data: dict[tuple[str, str], Tree] = {}
        """By UID of the set and key: what the newest revision of it stored, also when it is gone."""
        self.went: dict[str, str] = {}
        """By UID of a pod that is gone: the set that controlled it."""

    def put(self, plural: str, name: str, tree: Tree | None) -> None:
        """None: it is gone."""
        if tree is None:
            found = self.objects[plural].pop(name, None)
            if found is not None and plural == "pods":
                self.went[uid_of(found)] = self.set_of(found)
            return
        self.objects[plural][name] = tree
        if plural == "controllerrevisions" and owner_of(tree) in self.sets:
            self.data[owner_of(tree), key_of(tree)] = tree["data"]

    # Whose is what.

    def set_named(self, name: str) -> SetFact | None:
        return next((history[-1] for history in self.sets.values() if history[-1].name == name), None)

    def leaders(self, uid: str) -> Tree | None:
        """The StatefulSet of leaders that a set controls."""
        name = self.sets[uid][-1].name if uid in self.sets else ""
        found = self.objects["statefulsets"].get(name)
        return found if found is not None and owner_of(found) == uid else None

    def set_of(self, tree: Tree) -> str:
        """The UID of the set that controls it, whatever lies between; empty where there is none."""
        by_uid = {uid_of(each): each for plural in ("statefulsets", "pods") for each in self.objects[plural].values()}
        owner = owner_of(tree)
        for _ in range(4):
            if owner in self.sets:
                return owner
            if owner not in by_uid:
                return ""
            owner = owner_of(by_uid[owner])
        return ""

    def leader_pods(self, uid: str) -> list[Tree]:
        leaders = self.leaders(uid)
        if leaders is None:
            return []
        mine = [each for each in self.objects["pods"].values() if owner_of(each) == uid_of(leaders)]
        return sorted(mine, key=index_of)

    def workers_of(self, leader: Tree) -> Tree | None:
        """The StatefulSet that this leader controls."""
        found = self.objects["statefulsets"].get(leader["metadata"]["name"])
        return found if found is not None and owner_of(found) == uid_of(leader) else None

    def worker_sets(self, uid: str) -> list[Tree]:
        return [found for each in self.leader_pods(uid) if (found := self.workers_of(each)) is not None]

    def group(self, leader: Tree) -> list[Tree]:
        """Its pods."""
        workers = self.workers_of(leader)
        if workers is None:
            return [leader]
        return [leader, *(each for each in self.objects["pods"].values() if owner_of(each) == uid_of(workers))]

    def revisions(self, uid: str) -> list[Tree]:
        """Those that the set controls, by number."""
        mine = [each for each in self.objects["controllerrevisions"].values() if owner_of(each) == uid]
        return sorted(mine, key=lambda each: each["revision"])

    def recorded(self, uid: str) -> set[str]:
        """Keys that have a revision: one that the set controls, or one of nobody that carries its name."""
        name = self.sets[uid][-1].name
        return {
            key_of(each)
            for each in self.objects["controllerrevisions"].values()
            if owner_of(each) in ("", uid) and label(each, NAME) == name and not is_going(each)
        }

    def size_of(self, uid: str, key: str) -> int:
        data = self.data.get((uid, key))
        return 1 if data is None else data["spec"]["leaderWorkerTemplate"].get("size", 1)

    def policy_of(self, uid: str, key: str) -> str:
        data = self.data.get((uid, key))
        live = self.sets[uid][-1].restart_policy
        return live if data is None else data["spec"]["leaderWorkerTemplate"].get("restartPolicy", live)

    # What is ready.

    def ready(self, uid: str, key: str | None = None) -> set[int]:
        """Indexes of the groups that are ready, of one key or of any."""
        return {
            index_of(leader)
            for leader in self.leader_pods(uid)
            if (key is None or key_of(leader) == key) and self._is_ready(uid, leader)
        }

    def _is_ready(self, uid: str, leader: Tree) -> bool:
        size = self.size_of(uid, key_of(leader))
        if not is_ready(leader):
            return False
        if size == 1:
            return True
        workers = self.workers_of(leader)
        pods = self.group(leader)
        wanted = 0 if workers is None else workers["spec"]["replicas"] + 1
        return workers is not None and len(pods) == wanted and all(map(is_ready, pods))

    def living(self, uid: str) -> Iterator[Tree]:
        """All that carries a key and is not going: leaders, their StatefulSet, and whatever else has the set's name."""
        name = self.sets[uid][-1].name
        named = [each for each in self.objects["statefulsets"].values() if label(each, NAME) == name]
        every = [*named, *self.leader_pods(uid)]
        return (each for each in every if not is_going(each) and key_of(each))
