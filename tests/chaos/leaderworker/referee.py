"""Judges operators of LeaderWorkerSets from outside: by what was stored, when, and by whom.

The truth is the cluster's record of writes. Whoever is judged for a write is judged by the set as it was told to them
when the round began in which they asked for it, or as it has become since: nobody can know of an edit before it is
handed over. What pods and StatefulSets do of themselves excuses nothing: preconditions, the ledger and the UIDs of
owners are there so that a stale view of them does no harm.

The budget (S1) is that of a set whose groups fail for no other reason than its rollout. It is watched from the moment
in which all wanted groups are ready and nothing is under way, until somebody else touches a pod or a StatefulSet, a pod
fails, or the set is given another size or budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from kubeloop.request import Request, place_of
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.doing import doing
from tests.chaos.judge import Asked, Judge
from tests.chaos.leaderworker.facts import (
    EXCLUSIVE,
    GROUP_KEY,
    NAME,
    NO_RESTART,
    PAUSED,
    TEARDOWN,
    SetFact,
    content_of,
    index_of,
    is_going,
    is_ready,
    key_of,
    label,
    owner_of,
    partition_of,
    restarts_of,
    set_fact,
    uid_of,
)
from tests.chaos.leaderworker.lines import line_of, name_in, uid_in
from tests.chaos.leaderworker.record import KEPT, Record

OTHERS = "somebody"
REVISION = "controller-revision-hash"
OF_EVERY_REPLICA = ("leases", "events")
IN_FLIGHT = 5.0
"""Seconds after which nothing arrives any more that was decided on an older view of a set."""

Place = tuple[str, str]
"""Plural and name."""


class SetReferee(Judge):
    def __init__(self, now: Callable[[], float], steps: Callable[[], int], lease: str) -> None:
        super().__init__(now, steps, lease)
        self.record = Record()
        self.own_writes: list[str] = []
        """Writes of operators that were carried out and changed something, but for leases and Events."""
        self.recreations: list[str] = []
        """Leaders that operators deleted, in order."""
        self.numbers: list[str] = []
        """Partition and replicas of leaders, each time that they changed, like `a 3/4`."""
        self._told: dict[str, int] = {}
        """By operator: the newest version of sets that was handed over."""
        self._begun: dict[str, int] = {}
        """By round: the same when it began."""
        self._wrote: dict[tuple[str, Place], int] = {}
        """By operator and object: the same of the round that wrote to it last."""
        self._deleted: set[str] = set()
        """UIDs of leaders that operators deleted."""
        self._failed: set[str] = set()
        """UIDs of leaders of whose groups a pod failed or went."""
        self._owners: dict[str, str] = {}
        """By UID of a StatefulSet of workers: that of the leader that controls it, also when it is gone."""
        self._ready: set[str] = set()
        """UIDs of leaders that were ready once, and of StatefulSets of workers that were available."""
        self._moved: dict[str, set[int]] = defaultdict(set)
        """By UID of a set: indexes of the groups that have been ready on the key of its leaders since its selection."""
        self._selected: dict[str, tuple[str, str]] = {}
        """By UID of a set: the key of its leaders, and what it says."""
        self._keys: dict[str, set[str]] = defaultdict(set)
        """By UID of a set: the keys that its leaders have had."""
        self._most: dict[str, int] = defaultdict(int)
        """By UID of a set: the highest number of a revision so far."""
        self._names: dict[tuple[str, str], str] = {}
        """By UID of a set and name of a revision: what it says."""
        self.lost: set[str] = set()
        """UIDs of sets of which somebody else deleted a revision."""
        self.edited: set[str] = set()
        """UIDs of sets whose leaders somebody else edited by hand."""
        self._armed: set[str] = set()
        """UIDs of sets whose budget is watched."""
        self._resized: dict[str, tuple[int, float]] = {}
        """By UID of a set: the version that changed size or budget last, and when operators were told."""

    # What operators are told and ask for.

    def begins(self, operator: str) -> None:
        self._told[operator] = 0

    def told(self, operator: str, plural: str, version: int) -> None:
        if plural == "leaderworkersets":
            self._told[operator] = max(self._told[operator], version)

    def read(self, operator: str, body: bytes) -> None:
        pass

    def round_begins(self, operator: str, this: str) -> None:
        self._begun[this] = self._told[operator]

    def asks(self, operator: str, request: Request) -> Asked | None:
        place = place_of(request.path)
        if place.plural in OF_EVERY_REPLICA:
            return None
        self.note(f"{operator} asks {request.doing}")
        self.writes += 1
        if operator != self.holder:
            self.broken("lease", f"{operator} sent a write while {self.holder or 'nobody'} held the lease")
        if request.method == "DELETE" and place.plural == "pods" and uid_in(request.body) in self._deleted:
            self.broken("S11", f"{operator} asked to delete {place.name}, which an operator has deleted already")
        name = place.name or name_in(request.body)
        self._wrote[operator, (place.plural, name)] = self._begun.get(doing(), self._told[operator])
        return None

    def refused(self, request: Request) -> None:
        pass

    def failed(self, request: Request) -> None:
        pass

    def answered(self, asked: Asked | None) -> None:
        pass

    # What is stored.

    def see(self, entry: Entry) -> None:
        plural = entry.resource.plural
        if plural == "leases":
            if entry.name == self._lease:
                self.holder = entry.new["spec"].get("holderIdentity") or ""
            return
        if plural not in (*KEPT, "leaderworkersets"):
            return
        own, new = entry.user.startswith("operator-"), entry.new
        old = entry.old
        self.note(line_of(entry, new))
        if own:
            self.own_writes.append(f"{entry.verb} {plural}/{entry.name} {entry.subresource}")
            self._check_own(entry, old, new)
        self._see_disturbance(entry, old, new)
        if plural == "leaderworkersets":
            self._see_set(entry, new)
        else:
            self._see_made(entry, new)
        for uid in list(self.record.sets):
            self._see_groups(uid)

    def _see_set(self, entry: Entry, tree: Tree) -> None:
        if entry.type == "DELETED":
            self.record.sets.pop(uid_of(tree), None)
            self._armed.discard(uid_of(tree))
            return
        fact = set_fact(tree, entry.event.revision)
        history = self.record.sets.setdefault(fact.uid, [])
        if history and _sized(history[-1]) != _sized(fact):
            self._armed.discard(fact.uid)
            self._resized[fact.uid] = (fact.version, float("inf"))
        history.append(fact)
        self._check_conditions(fact)

    def _see_made(self, entry: Entry, tree: Tree) -> None:
        plural = entry.resource.plural
        if plural == "statefulsets":
            self._owners[uid_of(tree)] = owner_of(tree)
        is_gone = entry.type == "DELETED"
        if plural == "controllerrevisions" and not entry.user.startswith("operator-") and (is_gone or is_going(tree)):
            self.lost.add(owner_of(tree))
        self.record.put(plural, entry.name, None if is_gone else tree)
        if is_gone:
            return
        if plural == "pods" and tree["spec"].get("nodeName") and not (entry.old or tree)["spec"].get("nodeName"):
            self._check_company(entry, tree)
        uid = self.record.set_of(tree)
        excused = entry.user == OTHERS or uid in self.lost or uid in self.edited
        if plural in ("pods", "statefulsets") and uid and not is_going(tree) and not excused:
            key = key_of(tree)
            if key and key not in self.record.recorded(uid) and _is_keyed(entry):
                self.broken("S5", f"{plural}/{entry.name} carries {key}, of which there is no revision")
        leaders = self.record.leaders(uid) if uid else None
        if leaders is not None and uid_of(leaders) == uid_of(tree):
            self._see_leaders(entry, uid, tree)

    def _see_leaders(self, entry: Entry, uid: str, tree: Tree) -> None:
        key = key_of(tree)
        self._keys[uid].add(key)
        if self._selected.get(uid, ("", ""))[0] != key:
            data = self.record.data.get((uid, key))
            self._selected[uid] = (key, "" if data is None else content_of(data["spec"]))
            self._moved.pop(uid, None)
        numbers = f"{entry.name} {partition_of(tree)}/{tree['spec']['replicas']}"
        if not self.numbers or self.numbers[-1] != numbers:
            self.numbers.append(numbers)

    def _check_company(self, entry: Entry, pod: Tree) -> None:
        """Step 4 of 3.7: a pod that comes to a node is not beside another group of a set with a node for each."""
        if EXCLUSIVE not in (pod["metadata"].get("annotations") or {}):
            return
        node, name = pod["spec"]["nodeName"], label(pod, NAME)
        beside = {
            label(each, GROUP_KEY): each["metadata"]["name"]
            for each in self.record.objects["pods"].values()
            if each["spec"].get("nodeName") == node and label(each, NAME) == name and label(each, GROUP_KEY)
        }
        if len(beside) > 1:
            self.broken("exclusive", f"{entry.name} came to {node}, which has {sorted(beside.values())}")

    # The budget (S1), and what must have been so once.

    def _see_disturbance(self, entry: Entry, old: Tree | None, new: Tree) -> None:
        """Pods that fail are noted; whatever is not the rollout's doing ends the watch over the budget."""
        plural = entry.resource.plural
        if plural not in ("pods", "statefulsets"):
            return
        by_others = entry.user == OTHERS
        uid = self.record.set_of(new)
        if plural == "pods":
            failed = restarts_of(new) > 0 or is_going(new) or entry.type == "DELETED"
            if failed and (leader := self._leader_of(new)):
                self._failed.add(leader)
            lost = old is not None and is_ready(old) and not is_ready(new) and not is_going(new)
            deleted = entry.verb == "delete" and entry.user.startswith("operator-")
            if lost or deleted:
                self._armed.discard(uid)
        if by_others and (plural == "statefulsets" or entry.verb == "delete"):
            self._armed.discard(uid)
            if plural == "statefulsets" and entry.verb != "delete":
                self.edited.add(uid)

    def _leader_of(self, pod: Tree) -> str:
        """The UID of the leader of its group; its own where it is one."""
        owner = owner_of(pod)
        leader = self._owners.get(owner, "")
        return uid_of(pod) if leader in self.record.sets else leader

    def _see_groups(self, uid: str) -> None:
        fact, leaders = self.record.sets[uid][-1], self.record.leaders(uid)
        if leaders is None or fact.is_leaving:
            return
        ready = self.record.ready(uid)
        for leader in self.record.leader_pods(uid):
            if key_of(leader) == key_of(leaders) and self._was_ready(uid, leader):
                self._moved[uid].add(index_of(leader))
        if uid in self._armed:
            if len(ready) < fact.replicas - fact.unavailable:
                self._armed.discard(uid)
                self.broken(
                    "S1", f"groups {sorted(ready)} of {fact.name} are ready: {fact.replicas} - {fact.unavailable}"
                )
        elif ready >= set(range(fact.replicas)) and self._is_calm(fact, leaders):
            self._armed.add(uid)

    def _was_ready(self, uid: str, leader: Tree) -> bool:
        """Leader and workers, together or one after the other: nobody sees both at once."""
        workers = self.record.workers_of(leader)
        if is_ready(leader):
            self._ready.add(uid_of(leader))
        if (
            workers is not None
            and (workers.get("status") or {}).get("availableReplicas") == workers["spec"]["replicas"]
        ):
            self._ready.add(uid_of(workers))
        is_alone = self.record.size_of(uid, key_of(leader)) == 1
        return uid_of(leader) in self._ready and (is_alone or (workers is not None and uid_of(workers) in self._ready))

    def _is_calm(self, fact: SetFact, leaders: Tree) -> bool:
        """Whether operators know the size and the budget, and nobody is about to replace a group."""
        changed, known = self._resized.get(fact.uid, (0, 0.0))
        if known == float("inf") and self._told.get(self.holder, 0) >= changed:
            known = self._now() + IN_FLIGHT
            self._resized[fact.uid] = (changed, known)
        status = leaders.get("status") or {}
        seen = status.get("observedGeneration") == leaders["metadata"]["generation"]
        moving = [each for each in self.record.leader_pods(fact.uid) if index_of(each) >= partition_of(leaders)]
        moved = all(label(each, REVISION) == status.get("updateRevision") for each in moving)
        stays = not any(map(is_going, (leaders, *self.record.worker_sets(fact.uid))))
        return known <= self._now() and seen and moved and stays and leaders["spec"]["replicas"] >= fact.replicas

    # Sets.

    def _check_conditions(self, fact: SetFact) -> None:
        if "Available" in fact.holding and fact.holding & {"Progressing", "UpdateInProgress"}:
            self.broken("S13", f"of {fact.name} hold {sorted(fact.holding)}")
        if "UpdateInProgress" in fact.holding and len(self._keys[fact.uid]) < 2:
            self.broken("S13", f"{fact.name} is said to be updated, and has had one revision")

    # What operators did.

    def _check_own(self, entry: Entry, old: Tree | None, new: Tree) -> None:
        plural = entry.resource.plural
        if plural == "leaderworkersets":
            if entry.subresource != "status" or old is None or old["spec"] != new["spec"]:
                self.broken("S10", f"{entry.user} wrote more than the status of {entry.name}")
        elif plural == "pods":
            before = new if old is None else old
            if entry.type != "DELETED" or not is_going(before) or "nodeName" in before["spec"]:
                self._check_deletion(entry, before)  # of a pod without a node, which goes in two steps, the first
        elif plural == "controllerrevisions":
            self._check_revision(entry, old, new)
        elif plural == "statefulsets":
            fact = self.record.set_named(entry.name)
            if fact is not None and owner_of(new) == fact.uid:
                self._check_leaders(entry, fact.uid, old, new)
            else:
                self._check_workers(entry, old, new)
        elif entry.type != "ADDED":
            self.broken("S10", f"{entry.user} changed Service {entry.name}")

    def _as_seen(self, entry: Entry, uid: str) -> list[SetFact]:
        """The set as whoever wrote to the object may have seen it, oldest first."""
        history = self.record.sets.get(uid, [])
        told = self._wrote.get((entry.user, (entry.resource.plural, entry.name)), 0)
        known = [number for number, fact in enumerate(history) if fact.version <= told]
        return history[known[-1] if known else 0 :]

    def _check_leaders(self, entry: Entry, uid: str, old: Tree | None, new: Tree) -> None:
        """S2, S3, S7 and S8: how leaders may be written."""
        if entry.verb == "delete":
            self.broken("S10", f"{entry.user} deleted the leaders {entry.name}")
            return
        if old is not None and owner_of(old) != uid:
            self.broken("S10", f"{entry.user} took {entry.name}, which is somebody else's")
        seen = self._as_seen(entry, uid)
        key, partition, replicas = key_of(new), partition_of(new), new["spec"]["replicas"]
        if key not in self.record.recorded(uid):
            self.broken("S8", f"{entry.name} got {key}, of which there is no revision")
        before = 0 if old is None else old["spec"]["replicas"]
        if replicas > before and not any(replicas <= fact.most for fact in seen):
            self.broken("S2", f"{entry.name} got {replicas} leaders, and may have {[each.most for each in seen]}")
        if old is None:
            return
        was = partition_of(old) if key_of(old["spec"]["template"]) == key else replicas + before
        if not any(fact.partition <= partition <= max(was, fact.partition) for fact in seen):
            self.broken("S3", f"the partition of {entry.name} went from {was} to {partition}")
        if all(fact.annotations.get(PAUSED) == "true" for fact in seen) and uid not in self.edited:
            self._check_pause(entry, old, new)
        excused = uid in self.edited or uid in self.lost  # section 5.8: a lost key is the live spec's
        if old["spec"]["template"] != new["spec"]["template"] and key_of(old) == key and not excused:
            self.broken("S7", f"the template of {entry.name} changed, and its key did not")
        self._check_selection(entry, uid, key, seen)

    def _check_pause(self, entry: Entry, old: Tree, new: Tree) -> None:
        """Section 6.8: no group moves or goes; another revision is selected above all leaders that there are."""
        least = partition_of(old) if key_of(old) == key_of(new) else old["spec"]["replicas"]
        if partition_of(new) < least or new["spec"]["replicas"] < old["spec"]["replicas"]:
            self.broken("pause", f"{entry.name} moves although it is paused")

    def _check_selection(self, entry: Entry, uid: str, key: str, seen: list[SetFact]) -> None:
        """Another key is selected because the set says something else, and for no other reason."""
        had, said = self._selected.get(uid, ("", ""))
        if had in ("", key) or uid in self.lost or uid in self.edited:
            return
        data = self.record.data.get((uid, key))
        wanted = "" if data is None else content_of(data["spec"])
        if wanted == said:
            self.broken("S7", f"{entry.name} got {key} instead of {had}, and both say the same")
        if not any(fact.content == wanted for fact in seen):
            self.broken("S7", f"{entry.name} got {key}, which says what nobody asked for")

    def _check_workers(self, entry: Entry, old: Tree | None, new: Tree) -> None:
        """S4: made for a leader that is there, of its own revision; and never changed."""
        if entry.verb == "delete":
            self._check_teardown(entry, old or new)
            return
        if old is not None:
            self.broken("S10", f"{entry.user} changed StatefulSet {entry.name}")
            return
        leader = self.record.objects["pods"].get(entry.name)
        if leader is None or uid_of(leader) != owner_of(new):
            return  # it went meanwhile, and its workers go after it
        uid, key = self.record.set_of(leader), key_of(new)
        if not uid:
            if not is_going(leader):  # else the leaders above it went in the moment before
                self.broken("S10", f"workers were made for {entry.name}, which is of no set")
            return
        if key != key_of(leader):
            self.broken("S4", f"workers {entry.name} carry {key}, and their leader {key_of(leader)}")
        if key not in self.record.recorded(uid) and uid not in self.lost:
            self.broken("S8", f"workers {entry.name} carry {key}, of which there is no revision")
        for problem in self._unlike(uid, key, new):
            self.broken("S4", f"workers {entry.name} of {key}: {problem}")

    def _unlike(self, uid: str, key: str, workers: Tree) -> Iterator[str]:
        data = self.record.data.get((uid, key))
        if data is None:
            return
        spec, stored = workers["spec"], data["spec"]["leaderWorkerTemplate"]
        if spec["replicas"] != stored.get("size", 1) - 1:
            yield f"{spec['replicas']} of a group of {stored.get('size', 1)}"
        wanted = stored["workerTemplate"]["spec"]["containers"]
        images = [each["image"] for each in spec["template"]["spec"]["containers"]]
        if images != [each["image"] for each in wanted]:
            yield f"they run {images}"
        shared = (data["spec"].get("networkConfig") or {}).get("subdomainPolicy", "Shared") == "Shared"
        name = self.record.sets[uid][-1].name if shared else workers["metadata"]["name"]
        if spec["serviceName"] != name:
            yield f"their Service is {spec['serviceName']}"

    def _check_teardown(self, entry: Entry, workers: Tree) -> None:
        went = self.record.went.get(owner_of(workers), "")  # the leader, while the deletion was under way
        uid = self.record.set_of(workers) or went
        leader = self.record.objects["pods"].get(entry.name)
        is_own = leader is not None and owner_of(workers) == uid_of(leader)
        if not uid or not (is_own or went):
            self.broken("S10", f"{entry.user} deleted StatefulSet {entry.name}, which is of no set")
        elif leader is not None and is_own and not is_going(leader):
            self.broken("S11", f"{entry.user} deleted the workers of {entry.name}, which stays")
        elif not any(fact.annotations.get(TEARDOWN) == "Parallel" for fact in self._as_seen(entry, uid)):
            self.broken("S10", f"{entry.user} deleted the workers of {entry.name}, and nobody asked for it")

    def _check_deletion(self, entry: Entry, pod: Tree) -> None:
        """S10, S11: a leader of a set, once, because a pod of its group failed or the rollout waits for it."""
        uid = self.record.set_of(pod)
        leaders = self.record.leaders(uid) if uid else None
        if entry.verb != "delete" or leaders is None or owner_of(pod) != uid_of(leaders):
            self.broken("S10", f"{entry.user}: {entry.verb} of pod {entry.name}, which is no leader of a set")
            return
        if uid_of(pod) in self._deleted:
            self.broken("S11", f"{entry.name} was deleted twice")
        self._deleted.add(uid_of(pod))
        if _is_stalled(leaders, pod):
            return
        self.recreations.append(entry.name)
        if uid_of(pod) not in self._failed:
            self.broken("S11", f"{entry.name} was deleted, and no pod of its group has failed")
        policy = self.record.policy_of(uid, key_of(pod))
        if policy in NO_RESTART and uid not in self.lost:
            self.broken("S11", f"{entry.name} was deleted, and its revision says {policy}")

    # Revisions.

    def _check_revision(self, entry: Entry, old: Tree | None, new: Tree) -> None:
        uid = owner_of(new)
        if uid not in self.record.sets:
            known = uid == "" or any(history[-1].uid == uid for history in self.record.sets.values())
            if known or entry.type != "ADDED":
                self.broken("S10", f"{entry.user}: {entry.verb} of {entry.name}, which is of no set")
            return
        if entry.verb == "delete":
            self._check_truncation(entry, uid, new)
            return
        if old is not None and old["data"] != new["data"]:
            self.broken("S12", f"{entry.user} changed what {entry.name} says")
        if new["revision"] <= self._most[uid] and uid not in self.lost:
            self.broken("S12", f"{entry.name} got {new['revision']} after {self._most[uid]}")
        self._most[uid] = max(self._most[uid], new["revision"])
        said = content_of(new["data"]["spec"])
        if self._names.setdefault((uid, entry.name), said) != said:
            self.broken("S12", f"{entry.name} says something else than the one before it")
        if old is None and not any(fact.content == said for fact in self._as_seen(entry, uid)):
            self.broken("S7", f"{entry.name} says what nobody asked for")
        equal = [each["metadata"]["name"] for each in self.record.revisions(uid) if _says(each) == said]
        leaders = self.record.leaders(uid)
        is_missing = uid in self.edited and leaders is not None and key_of(leaders) == key_of(new)
        if old is None and equal and uid not in self.lost and not is_missing:
            self.broken("S7", f"{entry.name} says what {equal} said already")

    def _check_truncation(self, entry: Entry, uid: str, revision: Tree) -> None:
        seen, key = self._as_seen(entry, uid), key_of(revision)
        current, _ = self._selected.get(uid, ("", ""))
        newest = [each for each in self.record.revisions(uid) if key_of(each) == key][-1:]
        is_current = key == current and [each["metadata"]["name"] for each in newest] == [entry.name]
        if is_current:
            self.broken("S5", f"{entry.name} was deleted, and leaders carry {key}")
        carried = [each["metadata"]["name"] for each in self.record.living(uid) if key_of(each) == key]
        if carried and key != current:
            self.broken("S5", f"{entry.name} was deleted, and {carried} carry {key}")
        if not any(fact.partition == 0 for fact in seen):
            self.broken("S6", f"{entry.name} was deleted, and the partition is {seen[-1].partition}")
        if not any(self._moved[uid] >= set(range(fact.replicas)) for fact in seen):
            self.broken("S6", f"{entry.name} was deleted, and {sorted(self._moved[uid])} have moved to {current}")


def _says(revision: Tree) -> str:
    return content_of(revision["data"]["spec"])


def _sized(fact: SetFact) -> tuple[int, int, int]:
    return fact.replicas, fact.unavailable, fact.surge


def _is_keyed(entry: Entry) -> bool:
    """Whether this write gave it its key."""
    old = entry.old
    return old is None or key_of(old) != key_of(entry.new)


def _is_stalled(leaders: Tree, pod: Tree) -> bool:
    """Whether it is to go for the sake of the rollout and is not ready, where its StatefulSet may wait for it.

    It does, with the feature by which several leaders may be unavailable, while as many are.
    """
    is_bounded = "maxUnavailable" in leaders["spec"]["updateStrategy"].get("rollingUpdate", {})
    is_outdated = label(pod, REVISION) != leaders["status"].get("updateRevision")
    return is_bounded and is_outdated and not is_ready(pod) and index_of(pod) >= partition_of(leaders)
