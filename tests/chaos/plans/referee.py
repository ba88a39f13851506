"""Judges operators of rollouts from outside: by what was stored, when, and by whom.

The truth is the cluster's record of writes. A write to a workload is judged by the rollout as it was told to the
operator when its pass began, or as it has become since: nobody can know of an edit before it is handed over. Writes of
statuses are bound to the version that they were decided on, so nothing excuses them. What others do to sizes, claims
and plans excuses the bounds of the attempt (I-1), and never a write of the operator itself (I-2 to I-6).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import msgspec
from msgspec import Struct, structs

from kubeloop.request import Request, place_of
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.doing import doing
from tests.chaos.judge import Asked, Judge
from tests.chaos.plans.facts import (
    BATCH_INITIALIZING,
    BATCH_ROLLING,
    DELETING,
    ENDED,
    FAILING,
    FINALISING,
    GIVING_UP,
    INITIALIZING,
    LOCATING,
    ON_NODES,
    ORDINALS,
    PAIR,
    ROLLING,
    SUCCEEDED,
    VERIFYING,
    RolloutFact,
    WorkloadFact,
    rollout_fact,
    workload_fact,
)
from tests.chaos.plans.outside import ROUTES
from tests.chaos.plans.record import WORKLOADS, Attempt, Place, Record, rollouts_since, since
from tests.chaos.plans.route_referee import RouteReferee, may_route

OTHERS = "somebody"
TRAITS, PODS = "rollouttraits", "pods"
_UNWRITTEN = {LOCATING: "B-3", VERIFYING: "I-12"}
"""By state, the rule by which nothing is written to workloads in it."""
OF_EVERY_REPLICA = ("leases", "events")


class Begun(Struct, frozen=True):
    """A pass: about which rollout, and what had been handed to its operator by then."""

    name: str
    told: dict[str, int]
    heard: dict[str, int] = {}
    """The same when it asked for a write."""


class RolloutReferee(Judge):
    def __init__(self, now: Callable[[], float], steps: Callable[[], int], lease: str, rollouts: str = TRAITS) -> None:
        super().__init__(now, steps, lease)
        self.kind = rollouts
        """The plural of what is rolled by."""
        self.record = Record()
        self.routes = RouteReferee(self.record, self.broken)
        self.touched = False
        """Whether somebody troubled a pod, so that what is ready is judged by what operators were told."""
        self.own_writes: list[str] = []
        """Writes of operators that were carried out, but for leases and Events."""
        self.stripped: set[str] = set()
        """UIDs of rollouts whose finalizer somebody took off."""
        self._told: dict[str, dict[str, int]] = {}
        self._begun: dict[str, Begun] = {}
        self._sent: dict[tuple[str, Place], Begun] = {}
        """By operator and object, who asked last for a write of it."""
        self._sent_by: dict[tuple[str, Place, str], Begun] = {}
        """The same by the name of the rollout, too: two of them may ask at once."""
        self._removed: set[str] = set()
        """UIDs of workloads that somebody deleted."""
        self._edited: dict[Place, int] = {}
        """By rollout or workload: the version that somebody else gave to its spec last."""
        self._drifted: dict[Place, tuple[int, int]] = {}
        """Sizes that no attempt can have written: the version that brought them, and the size."""

    # What operators are told and ask for.

    def begins(self, operator: str) -> None:
        self._told[operator] = defaultdict(int)

    def told(self, operator: str, plural: str, version: int) -> None:
        self._told[operator][plural] = max(self._told[operator][plural], version)

    def read(self, operator: str, body: bytes) -> None:
        pass

    def round_begins(self, operator: str, this: str, name: str) -> None:
        self._begun[this] = Begun(name, dict(self._told[operator]))

    def asks(self, operator: str, request: Request) -> Asked | None:
        place = place_of(request.path)
        if place.plural in OF_EVERY_REPLICA:
            return None
        if place.plural in WORKLOADS:
            self.note(f"{operator} asks {request.doing} {request.body.decode()}")
        self.writes += 1
        if operator != self.holder:
            self.broken("lease", f"{operator} sent a write while {self.holder or 'nobody'} held the lease")
        begun = self._begun.get(doing())
        if begun is not None:
            where = (place.plural, place.name)
            begun = structs.replace(begun, heard=dict(self._told[operator]))
            self._sent[operator, where] = self._sent_by[operator, where, begun.name] = begun
            if place.plural in (*WORKLOADS, PODS):
                self._check_asked(begun, where, request.body)
            if place.plural == ROUTES:
                self._check_routing(begun)
        return None

    def refused(self, request: Request) -> None:
        pass

    def failed(self, request: Request) -> None:
        pass

    def answered(self, asked: Asked | None) -> None:
        pass

    def _check_asked(self, begun: Begun, where: Place, body: bytes) -> None:
        """I-5, I-12 and section 3.3: which states write to workloads."""
        fact = self.record.rollout(begun.name)
        if fact is None:
            return
        seen = rollouts_since(self.record.rollouts[fact.uid], begun.told.get(self.kind, 0))
        if self._makes_target(seen, where, body):
            return
        if not any(map(_may_write, seen)):
            rule = _UNWRITTEN.get(seen[-1].state) or ("I-5" if _rests(seen[-1]) else "3.3")
            self.broken(rule, f"{begun.name} wrote {where[1]} in {seen[-1].state} {seen[-1].batch_state}")
        if not fact.has_finalizer and fact.uid not in self.stripped:
            self.broken("R-14", f"{begun.name} wrote {where[1]} without a finalizer")
        if where[0] == PODS:
            return
        spec = msgspec.json.decode(body).get("spec") or {}
        if all(each.is_rolling for each in seen) and {"replicas", "updateStrategy"} & set(spec):
            self._check_drift(begun, fact)

    def _makes_target(self, seen: list[RolloutFact], where: Place, body: bytes) -> bool:
        """B-3: a target that is made has no pods, and one that is there keeps what moves them."""
        if where[0] == PODS or not any(each.state == LOCATING for each in seen):
            return False
        spec = msgspec.json.decode(body).get("spec") or {}
        is_new = self.record.workload(*where) is None
        if is_new and spec.get("replicas") == 0 and spec.get("paused") is True:
            return True
        return not is_new and not {"replicas", "paused"} & set(spec)

    def _check_routing(self, begun: Begun) -> None:
        """I-5 of routes."""
        fact = self.record.rollout(begun.name)
        if fact is None:
            return
        seen = rollouts_since(self.record.rollouts[fact.uid], begun.told.get(self.kind, 0))
        if not any(map(may_route, seen)):
            self.broken("I-5", f"{begun.name} wrote its route in {seen[-1].state} {seen[-1].batch_state}")

    def _check_drift(self, begun: Begun, fact: RolloutFact) -> None:
        """R-21: nobody writes against whoever scales its workloads."""
        for name in fact.workloads:
            version, size = self._drifted.get((fact.plural, name), (0, -1))
            live = self.record.workload(fact.plural, name)
            if live is None or live.size != size or size <= max(fact.size, fact.original):
                continue
            if version <= begun.told.get(fact.plural, 0):
                self.broken("R-21", f"{fact.name} goes on, although somebody scaled {name} to {size}")

    # Hooks.

    def hook(self, name: str, kind: str, *, accepted: bool) -> None:
        """I-8."""
        fact = self.record.rollout(name)
        if fact is None:
            return
        attempt, batch = self.record.attempts[fact.uid], fact.batch
        self.note(f"hook {kind} of batch {batch}: {'accepted' if accepted else 'refused'}")
        if kind == "pre-batch-rollout" and batch and (batch - 1, "post-batch-rollout") not in attempt.accepted:
            self.broken("I-8", f"batch {batch} of {name} began before the hooks after the one before accepted")
        if accepted:
            attempt.accepted.add((batch, kind))

    # What is stored.

    def see(self, entry: Entry) -> None:
        plural = entry.resource.plural
        if plural == "leases":
            if entry.name == self._lease:
                self.holder = entry.new["spec"].get("holderIdentity") or ""
            return
        if plural == PODS:
            self._see_pod(entry)
        elif plural == self.kind:
            self._see_rollout(entry)
        elif plural == ROUTES:
            begun = self._sent.get((entry.user, (ROUTES, entry.name)))
            by = None if begun is None else self.record.rollout(begun.name)
            self.note(f"{entry.user} {entry.verb} {entry.type} route {entry.new['spec']['rules'][1:]}")
            self.routes.see(entry, by, touched=self.touched)
        elif plural in WORKLOADS:
            self._see_workload(entry, (plural, entry.name))
        else:
            return
        self._check_sums()

    def _see_pod(self, entry: Entry) -> None:
        if entry.type == "DELETED":
            self.record.pods.pop(entry.name, None)
        else:
            self.record.pods[entry.name] = entry.new
        if entry.user.startswith("operator-"):
            self.own_writes.append(f"{entry.verb} {entry.name}")
            self._check_removal(entry)

    def _check_removal(self, entry: Entry) -> None:
        """I-3 of DaemonSets: no more old pods go than the batch makes new, and no new ones."""
        begun = self._sent.get((entry.user, (PODS, entry.name)))
        fact = None if begun is None else self.record.rollout(begun.name)
        place = None if fact is None else (fact.plural, fact.target)
        live = None if place is None else self.record.workload(*place)
        if fact is None or place is None or live is None or not fact.is_rolling:
            return
        if live.claimed_by != fact.uid and not self.record.attempts[fact.uid].is_disturbed:
            self.broken("I-6", f"{fact.name} deleted {entry.name} of {place[1]}, which it does not hold")
        if self.record.is_new(place, entry.new):
            self.broken("I-3", f"{fact.name} deleted {entry.name}, which is new")
        left = self.record.old_staying(place)
        if not self.touched and left < fact.size - fact.goal(fact.batch):
            self.broken("I-3", f"{fact.name} left {left} old pods of {fact.size}; its goal is {fact.goal(fact.batch)}")

    def _see_rollout(self, entry: Entry) -> None:
        fact = rollout_fact(entry.new, entry.event.revision)
        old = None if entry.old is None else rollout_fact(entry.old, 0)
        own = entry.user.startswith("operator-")
        self.note(
            f"{entry.user} {entry.verb} {entry.type} {fact.name} {entry.subresource} {fact.state} {fact.batch_state} "
            f"b={fact.batch} T={fact.size} {fact.target}<{fact.sources} p={fact.partition}"
            f"{' paused' if fact.is_paused else ''}{' leaving' if fact.is_leaving else ''}"
        )
        if entry.type == "DELETED":
            self.record.rollouts.pop(fact.uid, None)
            self.record.trees.pop((self.kind, fact.name), None)
            return
        self.record.trees[self.kind, fact.name] = entry.new
        if own:
            self.own_writes.append(f"{entry.verb} {fact.name} {entry.subresource}")
        self.record.rollouts.setdefault(fact.uid, []).append(fact)
        if old is not None and old.state != fact.state and fact.state in (LOCATING, VERIFYING):
            self.record.attempts[fact.uid] = Attempt()
            self.routes.overwritten.discard(fact.uid)
        if not own:
            self._edited[self.kind, fact.name] = fact.version
        if own and old is not None and entry.subresource == "status":
            where = (self.kind, fact.name)
            self._check_bound(entry.user, where, self._sent.get((entry.user, where)))
            self._check_status(entry.user, old, fact)

    def _check_bound(self, operator: str, place: Place, begun: Begun | None) -> None:
        """R-4: nobody writes onto what was edited since it was read."""
        if begun is not None and self._edited.get(place, 0) > begun.heard.get(place[0], 0):
            self.broken("R-4", f"{operator} wrote {place[1]}, which somebody edited meanwhile")

    def _check_status(self, operator: str, old: RolloutFact, new: RolloutFact) -> None:
        """Between two versions of one rollout, the older being what the newer was decided on."""
        attempt = self.record.attempts[new.uid]
        self.routes.moves(old, new, self._now())
        if not old.has_finalizer and new.uid not in self.stripped:
            self.broken("R-14", f"{new.name} has a status and no finalizer")
        follows = new.plural == ON_NODES
        if old.size >= 0 and new.size not in (old.size, -1) and old.state not in (LOCATING, VERIFYING) and not follows:
            self.broken("I-10", f"the size of {new.name} went from {old.size} to {new.size}")
        if old.is_rolling and new.is_rolling:
            if new.batch < old.batch:
                self.broken("I-2", f"{new.name} went back from batch {old.batch} to {new.batch}")
            if new.batch > old.batch and old.partition is not None and old.partition < new.batch:
                self.broken("I-3", f"{new.name} begins batch {new.batch} with the partition {old.partition}")
            if (new.batch, new.batch_state) != (old.batch, old.batch_state) and old.is_paused:
                self.broken("I-5", f"{new.name} went on while it was paused")
            if (old.batch_state, new.batch_state) == (BATCH_INITIALIZING, BATCH_ROLLING) and old.hooked:
                self._check_hooks(new, attempt)
        if old.state == INITIALIZING and new.is_rolling:
            attempt.most = self.record.total(new) or 0
        if old.state != FINALISING and new.state == FINALISING:
            self._check_ready(operator, new)
        if old.state != SUCCEEDED and new.state == SUCCEEDED:
            self._check_success(new, attempt)

    def _check_hooks(self, fact: RolloutFact, attempt: Attempt) -> None:
        if (fact.batch, "pre-batch-rollout") not in attempt.accepted:
            self.broken("I-8", f"batch {fact.batch} of {fact.name} is rolled before its hooks accepted")

    def _check_ready(self, operator: str, fact: RolloutFact) -> None:
        """I-9, for who may not have heard yet of a pod that failed."""
        place = (fact.plural, fact.target)
        live = self.record.workload(*place)
        if live is None or (fact.is_scale and fact.size < fact.original):
            return
        if not self.touched:
            found = self.record.new_ready(place)
        elif fact.plural in (ORDINALS, ON_NODES):
            return
        else:
            begun = self._sent[operator, (self.kind, fact.name)]
            told = begun.told.get(fact.plural, 0)
            found = max(each.ready for each in since(self.record.workloads[place], told))
        if found + fact.tolerance < fact.size:
            self.broken("I-9", f"{fact.name} has {found} ready pods of {fact.size} and ends")

    def _check_success(self, fact: RolloutFact, attempt: Attempt) -> None:
        for name in fact.workloads:
            live = self.record.workload(fact.plural, name)
            if live is None:
                continue
            if live.claimed_by == fact.uid:
                self.broken("I-9", f"{fact.name} succeeded and holds {name}")
            if attempt.is_disturbed:
                continue
            if name != fact.target and live.size:
                self.broken("I-9", f"{fact.name} succeeded and {name} has {live.size} replicas")
            if name == fact.target and (live.partition and not fact.is_scale):
                self.broken("I-9", f"{fact.name} succeeded with the partition {live.partition}")
        if fact.upgraded != fact.size:
            self.broken("I-9", f"{fact.name} succeeded with {fact.upgraded} of {fact.size}")
        if not attempt.is_disturbed:
            self.routes.at_success(fact)
        if self.kind != TRAITS:
            self._check_alone(fact)

    def _check_alone(self, fact: RolloutFact) -> None:
        """C-6: no pods of the component are left beside those of the target, but where somebody put them."""
        for place, (*_, live) in self.record.workloads.items():
            if live.size and place[1] != fact.target and place not in self._edited:
                self.broken("C-6", f"{fact.name} succeeded with {fact.target} beside {live.size} pods of {place[1]}")

    # Workloads.

    def _see_workload(self, entry: Entry, place: Place) -> None:
        new = workload_fact(place[0], entry.new, entry.event.revision)
        old = None if entry.old is None else workload_fact(place[0], entry.old, 0)
        if old is None or old.spec != new.spec or old.claimed_by != new.claimed_by or entry.type == "DELETED":
            self.note(
                f"{entry.user} {entry.verb} {entry.type} {place[1]} {new.size}/{new.partition} of {new.claimed_by[-4:]}"
                f" ready {self.record.ready(place[1])}"
            )
        self._see_others(entry, place, old, new)
        if entry.type == "DELETED":
            self.record.workloads.pop(place, None)
            return
        if entry.user.startswith("operator-") and old is not None:
            self.own_writes.append(f"{entry.verb} {place[1]}")
            begun = self._writer(entry.user, place, old, new)
            self._check_bound(entry.user, place, begun)
            self._check_write(begun, place, old, new)
        self.record.workloads.setdefault(place, []).append(new)
        self.record.trees[place] = entry.new

    def _see_others(self, entry: Entry, place: Place, old: WorkloadFact | None, new: WorkloadFact) -> None:
        by_somebody = entry.user == OTHERS
        if by_somebody and entry.verb == "delete":
            self._removed.add(new.uid)
        elif entry.type == "DELETED" and new.uid not in self._removed:
            self.broken("I-7", f"{entry.user} deleted {place[1]}")
        ours = old is None or old.spec != new.spec
        claims = old is not None and old.claimed_by != new.claimed_by
        if entry.user.startswith("operator-") or not (ours or claims or entry.type == "DELETED"):
            return
        self._edited[place] = new.version
        for each in self.record.naming(place):
            self.record.attempts[each.uid].is_disturbed = True
        self._drifted.pop(place, None)
        naming = [each for each in self.record.naming(place) if each.is_rolling]
        if by_somebody and naming and all(new.size > max(each.size, each.original) for each in naming):
            self._drifted[place] = (entry.event.revision, new.size)

    def _writer(self, operator: str, place: Place, old: WorkloadFact, new: WorkloadFact) -> Begun | None:
        """Nobody claims for another, so a new claim is of whoever has it, although somebody else has asked since."""
        last = self._sent.get((operator, place))
        claiming = self.record.rollouts.get(new.claimed_by) if new.claimed_by != old.claimed_by else None
        return self._sent_by.get((operator, place, claiming[-1].name), last) if claiming else last

    def _check_write(self, begun: Begun | None, place: Place, old: WorkloadFact, new: WorkloadFact) -> None:
        fact = None if begun is None else self.record.rollout(begun.name)
        if begun is None or fact is None:
            return
        living = {"", fact.uid}
        if old.claimed_by not in living and old.claimed_by in self.record.rollouts:
            self.broken("I-6", f"{fact.name} wrote {place[1]}, which another rollout holds")
        is_release = fact.state in (FINALISING, *GIVING_UP) and (old.size, old.partition) == (new.size, new.partition)
        if old.spec != new.spec and fact.uid not in (old.claimed_by, new.claimed_by) and not is_release:
            self.broken("I-6", f"{fact.name} wrote {place[1]} without a claim")
        goes_back = fact.reverts and fact.state in (FAILING, DELETING)
        if fact.state in (ROLLING, FINALISING, *GIVING_UP) and not goes_back:
            self._check_direction(fact, place, old, new)
        if fact.state in (INITIALIZING, ROLLING):
            self._check_asked_for(fact, place, new)
        if fact.is_rolling:
            self._check_taken(fact, begun, place, old, new)

    def _check_direction(self, fact: RolloutFact, place: Place, old: WorkloadFact, new: WorkloadFact) -> None:
        """I-2."""
        is_target = place[1] == fact.target
        if fact.is_scale:
            return
        if is_target and new.size < old.size:
            self.broken("I-2", f"{fact.name} shrank its target {place[1]} from {old.size} to {new.size}")
        if not is_target and new.size > old.size:
            self.broken("I-2", f"{fact.name} grew its source {place[1]} from {old.size} to {new.size}")
        if new.partition > old.partition:
            self.broken("I-2", f"{fact.name} raised the partition from {old.partition} to {new.partition}")

    def _check_asked_for(self, fact: RolloutFact, place: Place, new: WorkloadFact) -> None:
        """I-3."""
        if place[1] != fact.target or fact.size < 0 or fact.is_scale or fact.plural == ON_NODES:
            return
        goal = fact.goal(fact.batch) if fact.is_rolling else 0
        if fact.plural == PAIR:
            asked, least = new.size, fact.start if fact.is_rolling else new.size
        else:
            asked = max(0, new.size - new.partition)
            least = asked if self.touched else self.record.new_pods(place)
        if asked > max(goal, least):
            self.broken("I-3", f"{fact.name} asks for {asked} new pods; its goal is {goal}")

    def _check_taken(self, fact: RolloutFact, begun: Begun, place: Place, old: WorkloadFact, new: WorkloadFact) -> None:
        """I-4."""
        if place[1] == fact.target or fact.decreases or not fact.is_exact or new.size >= old.size:
            return
        if not self.record.attempts[fact.uid].is_disturbed:
            self.routes.before_pods_go(fact)
        if self.touched and len(fact.sources) > 1:
            return
        target = (fact.plural, fact.target)
        there = self.record.ready(fact.target)
        if self.touched and target in self.record.workloads:
            told = begun.told.get(fact.plural, 0)
            there = max(there, *(each.ready for each in since(self.record.workloads[target], told)))
        sources = sum(map(self.record.ready, fact.sources))
        taken = max(0, self.record.ready(place[1]) - new.size)
        if taken and there + sources - taken < fact.size and not self.record.attempts[fact.uid].is_disturbed:
            self.broken(
                "I-4", f"{fact.name} took {taken} of {sources} ready old pods, with {there} new ones of {fact.size}"
            )

    def _check_sums(self) -> None:
        """I-1."""
        for history in self.record.rollouts.values():
            fact = history[-1]
            attempt = self.record.attempts[fact.uid]
            total = self.record.total(fact)
            if not fact.is_rolling or fact.plural != PAIR or fact.is_scale or attempt.is_disturbed or total is None:
                continue
            size = fact.sizes[fact.batch] if fact.batch < len(fact.sizes) else 0
            if fact.batch == fact.last:
                size = fact.size - fact.goal(fact.batch - 1)
            most = max(fact.size, attempt.most)
            low, high = (fact.size - size, most) if fact.decreases else (fact.size, most + size)
            if not low <= total <= high:
                self.broken("I-1", f"{fact.name} has {total} pods in batch {fact.batch}; from {low} to {high} may be")


def _may_write(fact: RolloutFact) -> bool:
    if fact.is_rolling:
        return fact.batch_state == BATCH_ROLLING and not fact.is_paused
    return fact.state in (INITIALIZING, FINALISING, *GIVING_UP)


def _rests(fact: RolloutFact) -> bool:
    return fact.state in ENDED or (fact.is_rolling and fact.is_paused)


def condition_of(tree: Tree) -> str:
    """Why it failed, for people who read a broken run."""
    found = (tree.get("status") or {}).get("conditions") or ()
    return "; ".join(f"{each['type']}: {each['message']}" for each in found if each["status"] == "False")
