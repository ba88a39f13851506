"""A world of values: decisions about one environment are carried out in it, and its controllers do what they are told.

Writes are played back into objects, calls reach a leader API per generation, time moves only when a test moves it.
What must hold at every moment is asserted on every write and every call, so that any play is a test of it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs

from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    MATERIALIZES,
    NAME,
    NIL,
    RESOURCE_ID,
    Balancer,
    Child,
    Console,
    GenerationSet,
    Materialize,
)
from fairlead.contracts.environments.settings import Settings
from fairlead.core.act import AnyWrite, Apply, Create, Delete, EventNote, Patch, Replace
from fairlead.core.ask import (
    REFUSAL_HOLDS,
    Answer,
    Answers,
    Ask,
    Bad,
    Good,
    Http,
    Listing,
    Need,
    Question,
    Read,
    ReadSecret,
)
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.uuids import parse
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from kubeloop.objects.meta import Ref
from kubeloop.sealing import seal
from tests.builders import NOW
from tests.contracts.environments.decide import holding
from tests.contracts.environments.decide.specs import NEXT, a_license, a_ready_condition, a_spec
from tests.contracts.environments.decide.things import Thing, Tree

NAMESPACE, NAME_OF_IT, UID = "e", "m", "uid-m"


class Crashed(Exception):
    """The operator was killed here."""


class World:
    def __init__(self, spec: Tree | None = None, settings: Settings | None = None) -> None:
        self.now = NOW
        self.settings = settings or Settings()
        self.things: dict[Ref, Thing] = {}
        self.applied: dict[Ref, tuple[str, int]] = {}
        self.tried: dict[Question, tuple[Answer, datetime]] = {}
        self.secret: dict[str, str] | None = {"license_key": a_license()}
        self.states: dict[int, str] = {}
        self.leader: int | None = None
        self.starts_as, self.takes_over, self.skips = "ReadyToPromote", True, 204
        self.pods_start = True
        self.refuses: Callable[[AnyWrite], Bad | None] = lambda _: None
        self.answers: Callable[[Ask], Answer | None] = lambda _: None
        """What is answered in place of what the world would say."""
        self.dies_after: int | None = None
        """How many further effects the operator survives."""
        self.calls: list[tuple[int, str]] = []
        self.asked: list[Ask] = []
        self.writes: list[AnyWrite] = []
        self.tells: list[EventNote] = []
        self.has_certificates = True
        self.may_list_certificates = True
        self.twins: tuple[Materialize, ...] = ()
        self.rounds = 0
        self.last: Decision | None = None
        self.heard_leading: set[int] = set()
        self.is_meddled_with = False
        """Whether somebody else writes the status or makes generations, so that what stands may not hold."""
        self._count = 0
        meta = {"name": NAME_OF_IT, "namespace": NAMESPACE}
        self.own = self._made({"metadata": meta, "spec": spec or a_spec(), "kind": "Materialize"}, uid=UID)

    # What people do.

    def edit(self, **fields: object) -> None:
        """Changes the spec; None removes a field."""
        spec = self.own.body["spec"] | fields
        self.own.body["spec"] = {name: value for name, value in spec.items() if value is not None}
        self.own.generation += 1
        self._touched(self.own)

    def replace_spec(self, spec: Tree) -> None:
        self.own.body["spec"] = spec
        self.own.generation += 1
        self._touched(self.own)

    def annotate(self, name: str, value: str | None) -> None:
        annotations = self.own.body["metadata"].setdefault("annotations", {})
        annotations.pop(name, None)
        if value is not None:
            annotations[name] = value
        self._touched(self.own)

    def restart(self) -> None:
        """The operator forgets what only its memory held."""
        self.applied, self.tried, self.dies_after = {}, {}, None

    def remove(self, resource_name: str) -> None:
        """Somebody deletes objects by hand, at once."""
        self.things = {ref: thing for ref, thing in self.things.items() if str(ref) != resource_name}

    def put(self, ref: Ref, body: Tree) -> None:
        """Somebody makes an object."""
        self.things[ref] = self._made(body)

    def unlabel(self, resource_name: str) -> Thing:
        """Somebody takes the label away by which the caches find an object."""
        (found,) = (thing for ref, thing in self.things.items() if str(ref) == resource_name)
        del found.body["metadata"]["labels"][RESOURCE_ID]
        self._touched(found)
        return found

    # What controllers do.

    def controllers(self) -> None:
        """Deletions end, and pods of StatefulSets come up as far as they may."""
        self.things = {ref: thing for ref, thing in self.things.items() if not thing.terminating}
        for ref in self.things:
            if ref.resource == STATEFULSETS and self.pods_start:
                self.start_pod(int(ref.name.rpartition("-")[2]))
        for ref, thing in self.things.items():
            if ref.resource == BALANCERS and not thing.status:
                thing.status = {"resourceId": "x", "conditions": [a_ready_condition()]}
                self._touched(thing)

    def start_pod(self, generation: int) -> None:
        thing = self.statefulset(generation)
        revision = thing.body["metadata"]["annotations"].get("materialize.cloud/rollout-hash", "none")
        status = {
            "observedGeneration": thing.generation,
            "replicas": 1,
            "readyReplicas": 1,
            "updatedReplicas": 1,
            "currentRevision": revision,
            "updateRevision": revision,
        }
        if thing.status != status:
            fresh = thing.status.get("currentRevision") != revision
            thing.status = status
            self._touched(thing)
            if fresh:
                self.states[generation] = "IsLeader" if self.leader == generation else self.starts_as

    # One round of the operator.

    def step(self) -> Decision:
        self.rounds += 1
        self.last = decision = self._settle()
        for tell in decision.tell:
            self._tell(tell)
        moved = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
        for write in (*moved, *decision.reports):
            bad = self.refuses(write)
            if bad is not None:
                assert write.refusable, f"the refusal of {write.does} would be an error without a word"
                self.tried[write] = (bad, self.now)
                return self.step()
            self._effect()
            self._write(write)
        for write in moved:
            if write.refusable:
                self.tried[write] = (Good(), self.now)
        holding.stands(self)
        return decision

    def play(self, most: int = 120) -> Decision:
        """Rounds and controllers in turn until nothing changes any more without time passing."""
        for _ in range(most):
            before = self._count
            decision = self.step()
            self.controllers()
            if isinstance(decision.verdict, Hold) and self._count == before:
                return decision
        raise AssertionError(f"{most} rounds did not come to rest: {decision}")

    def wait(self, seconds: float) -> Decision:
        self.now += timedelta(seconds=seconds)
        return self.play()

    def look_again_at(self) -> datetime:
        """When the last decision wanted to be looked at again."""
        assert self.last is not None
        assert self.last.verdict.again is not None
        assert self.last.verdict.again > self.now
        return self.last.verdict.again

    def look_again(self) -> Decision:
        """The next round that the operator asks for itself."""
        self.now = self.look_again_at()
        return self.play()

    # What tests look at.

    @property
    def environment(self) -> Materialize:
        tree = self.own.tree
        return msgspec.convert(tree | {"status": tree["status"] or None}, Materialize)

    @property
    def status(self) -> Tree:
        return self.own.status

    @property
    def condition(self) -> Tree:
        found: Tree = self.status["conditions"][0]
        return found

    @property
    def says(self) -> tuple[str, str, str]:
        return self.condition["status"], self.condition["reason"], self.condition["message"]

    @property
    def hash(self) -> str:
        return rollout_hash(self.own.body["spec"], self.own.body["metadata"].get("annotations", {}))

    @property
    def is_promoting(self) -> bool:
        return any(each["reason"] == "Promoting" for each in self.status["conditions"])

    @property
    def is_promoted(self) -> bool:
        status = self.status
        same = status.get("lastCompletedRolloutHash") == status.get("requestedRolloutHash") == self.hash
        return bool(same) and self.condition["reason"] == "Applied" and self.selected == status["activeGeneration"]

    @property
    def id(self) -> str:
        return str(self.status["resourceId"])

    def statefulset(self, generation: int) -> Thing:
        return self.things[Ref(STATEFULSETS, NAMESPACE, f"mz{self.id}-environmentd-{generation}")]

    @property
    def generations(self) -> dict[int, list[str]]:
        """By generation the kinds of objects that exist."""
        found: dict[int, list[str]] = {}
        for ref in self.things:
            number = ref.name.rpartition("-")[2]
            if ref.resource in (STATEFULSETS, SERVICES, CONFIGMAPS) and number.isdigit():
                found.setdefault(int(number), []).append(ref.resource.kind)
        return {number: sorted(kinds) for number, kinds in sorted(found.items())}

    @property
    def selected(self) -> int | None:
        """The generation that the public Service selects."""
        thing = self.things.get(Ref(SERVICES, NAMESPACE, f"mz{self.id}-environmentd"))
        return None if thing is None else int(thing.body["spec"]["selector"][NAME].rpartition("-")[2])

    def image(self, generation: int) -> str:
        return str(self.statefulset(generation).body["spec"]["template"]["spec"]["containers"][0]["image"])

    def seen(self, answers: dict[Question, Answer] | None = None) -> Snapshot:
        shown = {ref: thing.tree for ref, thing in self.things.items() if self._is_shown(thing)}
        sets = [tree for ref, tree in shown.items() if ref.resource == STATEFULSETS]
        children = {
            (ref.resource, ref.name): msgspec.convert(tree, Child)
            for ref, tree in shown.items()
            if ref.resource not in (STATEFULSETS, BALANCERS, CONSOLES)
        }
        return Snapshot(
            environment=self.environment,
            twins=self.twins,
            statefulsets=tuple(msgspec.convert(tree, GenerationSet) for tree in sets),
            children=children,
            balancer=self._companion(BALANCERS, Balancer),
            console=self._companion(CONSOLES, Console),
            has_certificates=self.has_certificates,
            may_list_certificates=self.may_list_certificates,
            applied={ref: digest for ref, (digest, version) in self.applied.items() if self._is_same(ref, version)},
            settings=self.settings,
            answers=Answers(answers or {}),
        )

    # How it is carried out.

    def _settle(self) -> Decision:
        known = {write: each for write, (each, at) in self.tried.items() if self.now - at < REFUSAL_HOLDS}
        for _ in range(16):
            outcome = decide(self.seen(known), self.now)
            if isinstance(outcome, Decision):
                return outcome
            assert isinstance(outcome, Need)
            for stage in outcome.stages:
                for question in stage:
                    assert question not in known, f"{question} was answered already"
                    known[question] = self._answer(question) if isinstance(question, Ask) else self._tried(question)
        raise AssertionError("it keeps asking")

    def _answer(self, question: Ask) -> Answer:
        self.asked.append(question)
        given = self.answers(question)
        if given is not None:
            return given
        match question.to:
            case ReadSecret():
                if self.secret is None:
                    return Bad("absent", "not found", 404)
                return Good(sealed=tuple((key, seal(value.encode())) for key, value in self.secret.items()))
            case Read(ref):
                thing = self.own if ref.resource == MATERIALIZES else self.things.get(structs.replace(ref, uid=""))
                return Bad("absent", "not found", 404) if thing is None else Good(msgspec.json.encode(thing.tree))
            case Listing(resource):
                trees = [thing.tree for ref, thing in self.things.items() if ref.resource == resource]
                return Good(msgspec.json.encode({"items": trees}))
            case Http() as call:
                return self._called(call, question.effect)
        raise AssertionError(f"nobody answers {question}")

    def _tried(self, write: AnyWrite) -> Answer:
        assert write.dry_run
        return self.refuses(write) or Good()

    def _called(self, call: Http, effect: bool) -> Answer:
        host, _, path = call.url.partition("://")[2].partition("/")
        generation = int(host.partition(".")[0].rpartition("-")[2])
        if effect:
            self._effect()
        self.calls.append((generation, path.rpartition("/")[2]))
        ref = Ref(STATEFULSETS, NAMESPACE, f"mz{self.id}-environmentd-{generation}")
        thing = self.things.get(ref)
        if path.endswith("promote"):
            message = f"Attempting to promote generation {generation}"
            assert self.condition["message"] == message, "S3: the promotion was not recorded"
        if thing is None or not thing.status.get("readyReplicas"):
            return Bad("unreachable", "connection refused")
        assert call.subject == thing.uid
        return self._led(generation, path)

    def _led(self, generation: int, path: str) -> Answer:
        state = self.states.get(generation, self.starts_as)
        if path.endswith("status"):
            if state == "IsLeader":
                self.heard_leading.add(generation)
            return Good(msgspec.json.encode({"status": state})) if state != "broken" else Bad("failed", "broken", 500)
        if path.endswith("skip-catchup"):
            if self.skips == 204 and state == "Initializing":
                self.states[generation] = "ReadyToPromote"
            return Good() if self.skips == 204 else Bad("failed", f"it answered with status {self.skips}", self.skips)
        if state in ("Initializing", "broken"):
            return Bad("failed", "it answered with status 400", 400)
        if self.takes_over:
            self.states[generation], self.leader = "IsLeader", generation
        elif state != "IsLeader":
            self.states[generation] = "Promoting"
        return Good(b'{"result":"Success"}')

    def _effect(self) -> None:
        if self.dies_after is not None:
            if self.dies_after == 0:
                raise Crashed
            self.dies_after -= 1

    def _write(self, write: AnyWrite) -> None:
        self.writes.append(write)
        match write:
            case Replace() | Patch():
                assert write.ref.resource == MATERIALIZES
                self._write_own(write)
            case Apply(ref=ref):
                self._put(ref, msgspec.json.decode(write.body))
                self.applied[ref] = (
                    Wanted(ref.resource, ref.namespace, ref.name, write.body).digest,
                    self.things[ref].version,
                )
            case Create():
                ref = Ref(write.resource, write.namespace, write.name)
                if ref not in self.things:
                    self._put(ref, msgspec.json.decode(write.body))
            case Delete(ref=ref):
                self._delete(ref, write.propagation)
        if write.tell is not None:
            self._tell(write.tell)
        holding.stands(self)

    def _write_own(self, write: Replace | Patch) -> None:
        body: Tree = msgspec.json.decode(write.body)
        assert body["metadata"]["resourceVersion"] == str(self.own.version), "it was made from another version"
        if isinstance(write, Replace):
            assert write.resource_version == str(self.own.version)
            assert write.subresource == "status"
            assert body["spec"] == self.own.body["spec"]
            holding.status_written(self, body["status"])
            self.own.status = body["status"]
        else:
            changed = {*body} - {"metadata"}
            assert changed <= {"spec"}
            assert {*body.get("spec", {})} <= {"environmentId"}, "S12: only the environment id is ever written"
            if "spec" in body:
                assert parse(self.own.body["spec"].get("environmentId", NIL)) == NIL, "S12: it is never changed"
                self.own.body["spec"] = self.own.body["spec"] | body["spec"]
                self.own.generation += 1
            if "finalizers" in body["metadata"]:
                self.own.body["metadata"]["finalizers"] = body["metadata"]["finalizers"]
        self._touched(self.own)

    def _put(self, ref: Ref, body: Tree) -> None:
        thing = self.things.get(ref)
        holding.touched(self, ref, exists=thing is not None)
        if thing is None:
            self.things[ref] = self._made(body)
        elif thing.body != body:
            assert not thing.terminating, f"{ref} is on its way out, and what is applied to it goes with it"
            thing.generation += thing.body.get("spec") != body.get("spec")
            thing.body = body
            self._touched(thing)

    def _delete(self, ref: Ref, propagation: str) -> None:
        thing = self.things.get(structs.replace(ref, uid=""))
        assert thing is not None
        assert ref.uid == thing.uid, "a deletion is bound to one incarnation"
        holding.touched(self, structs.replace(ref, uid=""), exists=True, deletes=True)
        assert propagation == ("Background" if ref.resource in (BALANCERS, CONSOLES) else "Foreground")
        thing.terminating = True
        self._touched(thing)

    def _tell(self, tell: EventNote) -> None:
        assert len(tell.text.encode()) <= 1024
        self.tells.append(tell)

    def _made(self, body: Tree, uid: str = "") -> Thing:
        self._count += 1
        return Thing(deepcopy(body), uid or f"uid-{self._count}", self._count)

    def _touched(self, thing: Thing) -> None:
        self._count += 1
        thing.version = self._count

    def _is_shown(self, thing: Thing) -> bool:
        """Caches hold what carries the resource id."""
        return bool(thing.body["metadata"].get("labels", {}).get(RESOURCE_ID) == self.own.status.get("resourceId"))

    def _is_same(self, ref: Ref, version: int) -> bool:
        """For StatefulSets and Balancers, whose status others write, what was applied is what counts."""
        thing = self.things.get(ref)
        if thing is None or not self._is_shown(thing):
            return False
        return thing.version == version or ref.resource in (STATEFULSETS, BALANCERS)

    def _companion(self, resource: Any, into: Any) -> Any:
        thing = self.things.get(Ref(resource, NAMESPACE, NAME_OF_IT))
        tree = None if thing is None else thing.tree
        return None if tree is None else msgspec.convert(tree | {"status": tree["status"] or None}, into)


def promoted(spec: Tree | None = None, settings: Settings | None = None) -> World:
    """A world whose first generation serves."""
    world = World(spec, settings)
    world.play()
    assert world.is_promoted
    assert world.status["activeGeneration"] == 1
    return world


def waiting(**fields: object) -> World:
    """A second generation that does not get ready to be promoted."""
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT, **fields)
    world.play()
    return world
