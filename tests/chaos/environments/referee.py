"""Judges operators of environments from outside: by what was stored, when, by whom, and by what environmentd was told.

The truth is the cluster's record of writes, and every call to environmentd with its answer. Whoever is judged for a
write to an object of a generation is judged by the environment as it was told to them when the round began in which
they asked for it, or as it has become since: nobody can know of an edit before it is handed over, and deletions and
applies are not bound to a version of the environment. Status writes are bound to one, so nothing of them is excused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from kubeloop.calls import Call, Reply
from kubeloop.request import Request, place_of
from kubesim.store.record import Entry
from kubesim.store.versions import Tree
from tests.chaos.doing import doing
from tests.chaos.environments.facts import IMMEDIATELY, MANUALLY, NIL, Fact, fact_of, generated, public
from tests.chaos.judge import Asked, Judge

REVISION = "controller-revision-hash"
NAME = "materialize.cloud/name"
ROLLOUT_HASH = "materialize.cloud/rollout-hash"
CHILDREN = ("statefulsets", "services", "configmaps")
CONVERTED = ("forcePromote", "inPlaceRollout", "requestRollout")
"""Fields that an object loses with the version that had them, or that had a default in it."""
OF_EVERY_REPLICA = ("leases", "events")

Which = tuple[str, int]
"""The id of an environment and a generation."""
Place = tuple[str, str, str]
"""Plural, namespace and name."""


class Heard(Struct, frozen=True):
    """What environmentd of a generation said of itself last."""

    state: str
    statefulset: str
    """UID and generation of the StatefulSet at that moment."""
    is_newest: bool
    """Whether it was a pod of its newest template that answered."""


class Referee(Judge):
    def __init__(self, now: Callable[[], float], steps: Callable[[], int], lease: str) -> None:
        super().__init__(now, steps, lease)
        self.facts: dict[str, list[Fact]] = {}
        """By UID: every version of an environment that is there, the newest last."""
        self.objects: dict[Place, Tree] = {}
        """What belongs to generations, and public Services."""
        self.promotions = 0
        self.promote_calls: list[Which] = []
        self.skips: list[Which] = []
        self.reasons: list[str] = []
        """Every reason that was stored, in order."""
        self.own_writes: list[str] = []
        """Writes of operators that were carried out and changed something, but for leases and Events."""
        self.status_puts = 0
        self._named: set[Which] = set()
        """Generations that a stored status said to be promoting."""
        self._leads: set[Which] = set()
        """Generations that an operator has heard to lead."""
        self._heard: dict[Which, Heard] = {}
        self._pods: dict[tuple[str, str], Tree] = {}
        self._told: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        """By round: the version of environments that was handed over last when it began."""
        self._wrote: dict[tuple[str, Place], int] = {}
        """By operator and object: the same of the round that wrote to it last."""

    # What operators are told and ask for.

    def begins(self, operator: str) -> None:
        self._told[operator] = 0

    def told(self, operator: str, plural: str, version: int) -> None:
        if plural == "materializes":
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
        self.status_puts += place.plural == "materializes" and place.subresource == "status"
        if operator != self.holder:
            self.broken("lease", f"{operator} sent a write while {self.holder or 'nobody'} held the lease")
        name = place.name or _name_in(request.body)
        self._wrote[operator, (place.plural, place.namespace, name)] = self._begun.get(doing(), self._told[operator])
        return None

    def refused(self, request: Request) -> None:
        pass

    def answered(self, asked: Asked | None) -> None:
        pass

    def calls(self, operator: str, which: Which, call: Call) -> None:
        """An operator calls environmentd."""
        path = call.url.rpartition("/")[2]
        if call.method != "GET" and operator != self.holder:
            self.broken("lease", f"{operator} called {path} while {self.holder or 'nobody'} held the lease")
        self.note(f"{call.method} {path} of generation {which[1]}")
        if path == "promote":
            self.promote_calls.append(which)
            if which not in self._named:
                self.broken("S3", f"generation {which[1]} was told to lead before the status said so")
        elif path == "skip-catchup":
            self.skips.append(which)
            history = self._history(which[0])
            if not any(fact.is_forced for fact in history):
                self.broken("3.5", f"generation {which[1]} was told to skip, and nobody has ever forced it")

    def hears(self, which: Which, call: Call, reply: Reply) -> None:
        """An operator that lives has got the answer."""
        if not call.url.endswith("/status") or reply.status != 200:
            return
        state = msgspec.json.decode(reply.body)["status"]
        self.note(f"generation {which[1]} says {state}")
        if state == "IsLeader":
            self._leads.add(which)
        fact = self.of_id(which[0])
        if fact is not None:
            self._heard[which] = self._answering(fact.namespace, which, state)

    def _answering(self, namespace: str, which: Which, state: str) -> Heard:
        name = f"mz{which[0]}-environmentd-{which[1]}"
        found, pod = self.objects.get(("statefulsets", namespace, name)), self._pods.get((namespace, f"{name}-0"))
        if found is None or pod is None:
            return Heard(state, "", False)
        status = found.get("status", {})
        is_seen = status.get("observedGeneration") == found["metadata"]["generation"]
        revision = pod["metadata"]["labels"].get(REVISION)
        return Heard(state, _incarnation(found), is_seen and revision == status.get("updateRevision"))

    # What is stored.

    def see(self, entry: Entry) -> None:
        plural, own = entry.resource.plural, entry.user.startswith("operator-")
        if plural == "leases":
            if entry.name == self._lease:
                self.holder = entry.new["spec"].get("holderIdentity") or ""
            return
        if own and plural not in OF_EVERY_REPLICA:
            self.own_writes.append(f"{entry.verb} {plural}/{entry.name} {entry.subresource}")
        if plural == "materializes":
            self._see_environment(entry)
        elif plural == "pods":
            self._see_pod(entry)
        elif plural in CHILDREN:
            self._see_child(entry)

    def _see_pod(self, entry: Entry) -> None:
        if generated(entry.name.removesuffix("-0")) is None:
            return
        if entry.type == "DELETED":
            self._pods.pop((entry.namespace, entry.name), None)
        else:
            self._pods[entry.namespace, entry.name] = entry.new

    def _see_environment(self, entry: Entry) -> None:
        tree = entry.new
        if entry.type == "DELETED":
            self.facts.pop(tree["metadata"]["uid"], None)
            self.note(f"{entry.user} DELETED {entry.name}")
            return
        new = fact_of(tree, entry.event.revision)
        history = self.facts.setdefault(new.uid, [])
        old = history[-1] if history else None
        self.note(
            f"{entry.user} {entry.type} {entry.name} A={new.active} H={new.hash[:6]} R={(new.requested or '-')[:6]}"
            f" L={(new.completed or '-')[:6]} {new.reason} {new.strategy} {new.image.rpartition(':')[2]}"
        )
        history.append(new)
        if old is None:
            return
        if old.reason != new.reason:
            self.reasons.append(new.reason)
        if new.is_promoting:
            self._named.add((new.id, new.active + 1))
        self._check_status(old, new)
        if entry.user.startswith("operator-"):
            self._check_own(old, new, entry)

    def _check_status(self, old: Fact, new: Fact) -> None:
        """What holds whoever writes: people, conversion, migration or an operator."""
        if old.id and new.id != old.id:
            self.broken("S12", f"the id of {new.name} went from {old.id} to {new.id}")
        if old.is_promoting and new.is_promoting and new.requested != old.requested:
            self.broken("S1", f"R of {new.name} went from {old.requested} to {new.requested} while promoting")
        if old.is_promoting and not new.is_promoting and new.active != old.active + 1:
            self.broken("L2", f"{new.name} stopped promoting without its generation {old.active + 1}: {new.reason}")
        if new.active != old.active:
            self._check_promotion(old, new)
        elif new.api_version != old.api_version:
            return  # conversion works out L, which the old version did not have
        elif new.completed != old.completed:
            self.broken("S2", f"L of {new.name} went from {old.completed} to {new.completed} without a promotion")

    def _check_promotion(self, old: Fact, new: Fact) -> None:
        if old.id == "":
            return  # the status begins
        self.promotions += 1
        if new.active != old.active + 1 or not old.is_promoting:
            self.broken("S2", f"A of {new.name} went from {old.active} to {new.active}, from {old.reason}")
        if new.completed != old.requested:
            self.broken("S2", f"L of {new.name} became {new.completed}, and R was {old.requested}")
        if (new.id, new.active) not in self._leads:
            self.broken("S2", f"{new.name} ended a promotion to {new.active}, which nobody has heard to lead")
        found = self.objects.get(("statefulsets", new.namespace, f"mz{new.id}-environmentd-{new.active}"))
        images = [] if found is None else [each["image"] for each in found["spec"]["template"]["spec"]["containers"]]
        if found is not None and new.running_image not in images:
            self.broken("S13", f"{new.name} says {new.running_image} of generation {new.active}, which runs {images}")
        service = self.objects.get(("services", new.namespace, f"mz{new.id}-environmentd"))
        if service is not None and (selected := _selected(service)) != (new.id, new.active):
            self.broken("S5", f"{new.name} is at {new.active}, and its public Service selects {selected}")

    def _check_own(self, old: Fact, new: Fact, entry: Entry) -> None:
        """A status write is bound to the version it was made from: what it says must be right for exactly that one."""
        changed = {key for key in {**old.spec, **new.spec} if old.spec.get(key) != new.spec.get(key)}
        if old.api_version != new.api_version:
            changed -= set(CONVERTED)
        if changed - {"environmentId"} or (changed and old.environment_id != NIL):
            self.broken("S12", f"{entry.user} changed {sorted(changed)} of {new.name}")
        if new.requested not in (old.requested, new.hash):
            self.broken("S9", f"R of {new.name} became {new.requested}, and H is {new.hash}")
        if new.environment_id == NIL and new.reason:
            self.broken("3.2", f"a rollout of {new.name} began before it had an environment id")
        if new.is_promoting and not old.is_promoting:
            self._check_commit(new)

    def _check_commit(self, new: Fact) -> None:
        """The point of no return: R is what is wanted, N is made of it, and the pod that said it could lead too."""
        target = new.active + 1
        if new.requested != new.hash:
            self.broken("3.4", f"{new.name} promotes {new.requested}, and H is {new.hash}")
        if new.strategy == MANUALLY and not new.is_forced:
            self.broken("3.5", f"{new.name} promotes generation {target} without anybody's approval")
        if new.is_refused:
            self.broken("3.8", f"{new.name} promotes {new.image} after {new.running_image}")
        found = self.objects.get(("statefulsets", new.namespace, f"mz{new.id}-environmentd-{target}"))
        heard = self._heard.get((new.id, target))
        if found is None:
            return  # somebody deleted it in this moment
        if found["metadata"].get("annotations", {}).get(ROLLOUT_HASH) != new.requested:
            self.broken("3.6", f"{new.name} promotes generation {target}, which was made for another rollout")
        if heard is None or heard.statefulset != _incarnation(found) or not heard.is_newest:
            self.broken("3.6", f"{new.name} promotes generation {target} on the word of another pod: {heard}")
        elif heard.state == "Initializing" and (new.id, target) not in self.skips:
            self.broken("3.6", f"{new.name} promotes generation {target}, which is initializing")

    # Objects of generations.

    def _see_child(self, entry: Entry) -> None:
        which, own = generated(entry.name), entry.user.startswith("operator-")
        if which is None and (entry.resource.plural != "services" or public(entry.name) is None):
            return
        place = (entry.resource.plural, entry.namespace, entry.name)
        tree = entry.new
        if own:
            self.note(f"{entry.user} {entry.type} {place[0]}/{entry.name}")
        if which is None:
            self._see_public(entry, tree)
        elif own:
            self._check_generated(entry, which, place)
        if entry.type == "DELETED":
            self.objects.pop(place, None)
        else:
            self.objects[place] = tree
        if which is not None and entry.type == "ADDED":
            self._check_count(which)

    def _see_public(self, entry: Entry, tree: Tree) -> None:
        fact = self.of_id(public(entry.name) or "")
        if fact is None or not entry.user.startswith("operator-"):
            return
        if entry.type == "DELETED" or entry.verb == "delete":
            self.broken("3.7", f"{entry.user} deleted the public Service of {fact.name}")
            return
        selected = _selected(tree)
        if selected == (fact.id, fact.active):
            if entry.type == "MODIFIED" and not fact.is_promoting:
                self.broken("S7", f"{entry.user} changed the public Service of {fact.name}, which is at rest")
        elif selected != (fact.id, fact.active + 1) or not fact.is_promoting or selected not in self._leads:
            self.broken("S5", f"the public Service of {fact.name} selects {selected}, and {fact.active} serves")

    def _check_generated(self, entry: Entry, which: Which, place: Place) -> None:
        """An operator wrote to an object of a generation."""
        seen = self._as_seen(entry.user, place, which[0])
        if not seen:
            return  # its environment is gone
        if entry.type == "ADDED":
            self._check_creation(entry, which, place, seen)
        elif entry.verb == "delete":
            self._check_deletion(entry, which, seen)
        elif not any(fact.active + 1 == which[1] and _rolls(fact) for fact in seen):
            what = "S7" if which[1] <= seen[-1].active else "3.4"
            self.broken(what, f"{entry.user} changed {entry.name} while {seen[-1].active} served, {seen[-1].reason}")

    def _check_creation(self, entry: Entry, which: Which, place: Place, seen: list[Fact]) -> None:
        healing = any(fact.active == which[1] and fact.is_settled for fact in seen)
        rolling = any(fact.active + 1 == which[1] and (_rolls(fact) or fact.is_promoting) for fact in seen)
        if not healing and not rolling:
            self.broken("S9", f"{entry.user} created {entry.name} while nothing asked for it: {_shown(seen[-1])}")
        fact = seen[-1]
        for twin in self._twins(fact):
            is_known = twin[0].version <= self._known(entry.user, place)
            # A promotion that has begun ends all the same, as long as nothing of the other one runs.
            if self.left_of(twin[-1].id) or (is_known and not any(each.is_promoting for each in seen)):
                self.broken("S14", f"{entry.name} was created in spite of {twin[0].namespace}/{twin[0].name}")
        left = [name for generation, name in self.left_of(fact.id) if generation == fact.active < which[1]]
        if left and all(_vacates(each) for each in seen):
            self.broken("3.5", f"{entry.name} was created before {left} were gone")

    def _check_deletion(self, entry: Entry, which: Which, seen: list[Fact]) -> None:
        name = f"{entry.user} deleted {entry.name}"
        if any(fact.active + 1 == which[1] and not fact.is_promoting for fact in seen):
            return
        if not any(fact.active == which[1] for fact in seen):
            self.broken("3.4", f"{name} while it was promoted")
        elif not any(fact.active == which[1] and not fact.is_settled for fact in seen):
            self.broken("S7", f"{name}, which is at rest")
        elif (which[0], which[1] + 1) not in self._leads and not any(_vacates(fact) for fact in seen):
            self.broken("S4", f"{name} before generation {which[1] + 1} led")

    def _check_count(self, which: Which) -> None:
        fact = self.of_id(which[0])
        if fact is None:
            return
        if other := {generation for generation, _ in self.left_of(which[0])} - {fact.active, fact.active + 1}:
            self.broken("S6", f"objects of {sorted(other)} are there, and {fact.active} serves")

    # Looking up.

    def of_id(self, id_: str) -> Fact | None:
        """The environment with that id, as it is."""
        return next((history[-1] for history in self.facts.values() if history[-1].id == id_), None)

    def left_of(self, id_: str) -> list[tuple[int, str]]:
        """Generations and names of the objects of an environment that there are."""
        every = ((generated(name), name) for _, _, name in self.objects)
        return [(which[1], name) for which, name in every if which is not None and which[0] == id_]

    def _history(self, id_: str) -> list[Fact]:
        return next((history for history in self.facts.values() if history[-1].id == id_), [])

    def _twins(self, fact: Fact) -> list[list[Fact]]:
        """Versions with the same environment id of other environments that have it still."""
        others = [history for uid, history in self.facts.items() if uid != fact.uid]
        same = [[each for each in history if each.environment_id == fact.environment_id] for history in others]
        return [twin for twin, history in zip(same, others, strict=True) if twin and twin[-1] is history[-1]]

    def _known(self, operator: str, place: Place) -> int:
        return self._wrote.get((operator, place), 0)

    def _as_seen(self, operator: str, place: Place, id_: str) -> list[Fact]:
        """The environment as whoever wrote to the object may have seen it, oldest first."""
        history, told = self._history(id_), self._known(operator, place)
        known = [number for number, fact in enumerate(history) if fact.version <= told]
        return history[known[-1] if known else 0 :]


def _rolls(fact: Fact) -> bool:
    """Section 3.4 case 2: something else is wanted than serves, and R says so."""
    return not fact.is_promoting and fact.hash != fact.completed


def _vacates(fact: Fact) -> bool:
    return fact.strategy == IMMEDIATELY and _rolls(fact)


def _incarnation(statefulset: Tree) -> str:
    metadata = statefulset["metadata"]
    return f"{metadata['uid']} {metadata['generation']}"


def _selected(service: Tree) -> Which | None:
    return generated((service["spec"].get("selector") or {}).get(NAME, ""))


def _shown(fact: Fact) -> str:
    return f"A={fact.active} H={fact.hash[:6]} L={(fact.completed or '-')[:6]} {fact.reason}"


def _name_in(body: bytes) -> str:
    tree: Any = msgspec.json.decode(body) if body else {}
    return str(tree.get("metadata", {}).get("name", "")) if isinstance(tree, dict) else ""
