"""What a pass asks for before it decides: the namespace that guards, owners that may be gone, custom kinds."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.facts import completed, discovery, served_resource, workloads_of
from fairlead.contracts.plans.decide.seen import LiveObject, TraitSeen, of_trait
from fairlead.contracts.plans.decide.trait_round import SOON, decide
from fairlead.contracts.plans.kinds import WORKLOAD_DEFINITIONS, Json, RolloutTrait, TraitMeta, WorkloadReference
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Question, Read
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import NAMESPACES, SECRETS
from kubeloop.objects.meta import Ref, Resource, ServedVersion

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ROBOTS = Resource("toys.example.com", "v1", "robots", "Robot")
OLDER = Resource("toys.example.com", "v1beta1", "robots", "Robot")
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d2"}
OTHER = {"apiVersion": "toys.example.com/v1", "kind": "Robot", "name": "x", "uid": "uid-x", "controller": True}
READ_NAMESPACE = Ask(Read(Ref(NAMESPACES, "", "ns")))
READ_OWNER = Ask(Read(Ref(ROBOTS, "ns", "x")))
LISTS = tuple(Ask(Listing(WORKLOAD_DEFINITIONS, each), max_age=30.0) for each in ("ns", "vela-system"))


def served(*resources: Resource) -> Good:
    return Good(msgspec.json.encode([ServedVersion(each) for each in resources]))


def an_object(uid: str) -> Good:
    return Good(msgspec.json.encode({"metadata": {"uid": uid}}))


def seen(state: str = "verifyingSpec", target: Json | None = None, owners: tuple[Json, ...] = ()) -> TraitSeen:
    meta = TraitMeta("r", "uid-r", "1", namespace="ns", finalizers=("finalizers.rollouttrait.standard.oam.dev",))
    spec: Json = {"targetRef": target or TARGET, "sourceRef": [], "rolloutPlan": {"targetSize": 2}}
    rollout = of_trait(RolloutTrait(meta, spec, {"rollingState": state}))
    tree = {"metadata": {"name": "d2", "ownerReferences": list(owners)}}
    return TraitSeen(rollout=rollout, workloads=(LiveObject(DEPLOYMENTS, tree),))


def answered(given: TraitSeen, **answers: Answer) -> TraitSeen:
    asked: dict[str, Question] = {
        "kind": discovery("toys.example.com", "Robot"),
        "namespace": READ_NAMESPACE,
        "owner": READ_OWNER,
        "here": LISTS[0],
        "system": LISTS[1],
    }
    return replace(given, answers=Answers({asked[name]: answer for name, answer in answers.items()}))


@pytest.mark.parametrize("state", ["initializing", "rolloutFailing", "RolloutDeletingState"])
def test_the_namespace_is_read_where_something_may_be_claimed(state: str) -> None:
    given = seen(state)

    assert completed(given) == Need(((READ_NAMESPACE,),))
    found = completed(answered(given, namespace=an_object("uid-ns")))
    assert isinstance(found, TraitSeen)
    assert found.namespace_uid == "uid-ns"


@pytest.mark.parametrize("state", ["", "verifyingSpec", "rollingInBatches", "finalising", "rolloutSucceed"])
def test_and_nowhere_else(state: str) -> None:
    given = seen(state)

    assert completed(given) == given


def test_a_namespace_that_cannot_be_read_stops_the_claim() -> None:
    found = completed(answered(seen("initializing"), namespace=Bad("refused", "no right", 403)))

    assert isinstance(found, Decision)
    assert found.verdict == Hold(Reason.READ_FAILED, details=(("namespace/ns", "no right"),))
    assert [(each.reason, each.text, each.warning) for each in found.tell] == [
        ("Failed to get the Namespace", "no right", True)
    ]


def test_a_kind_that_cannot_be_discovered_is_told_by_its_name() -> None:
    given = seen(target={"apiVersion": "toys.example.com/v1", "kind": "Robot", "name": "x"})
    found = completed(answered(given, kind=Bad("refused", "no right", 403), here=Good(b"{}"), system=Good(b"{}")))

    assert isinstance(found, Decision)
    assert found.verdict == Hold(Reason.READ_FAILED, details=(("Robot", "no right"),))
    assert [each.reason for each in found.tell] == ["Failed to get the Robot"]


@pytest.mark.parametrize(
    ("owner", "gone"),
    [
        (Bad("absent", code=404), {"uid-x"}),
        (an_object("uid-of-another"), {"uid-x"}),
        (an_object("uid-x"), set()),
        (Bad("unreachable"), set()),
    ],
    ids=["absent", "made again", "there", "unknown"],
)
def test_an_owner_that_is_gone_controls_nothing(owner: Answer, gone: set[str]) -> None:
    given = seen(owners=(OTHER,))

    assert completed(given) == Need(((discovery("toys.example.com", "Robot"),),))
    assert completed(answered(given, kind=served(ROBOTS))) == Need(((READ_OWNER,),))
    found = completed(answered(given, kind=served(ROBOTS), owner=owner))
    assert isinstance(found, TraitSeen)
    assert found.gone == gone


def test_an_owner_of_a_kind_that_nobody_serves_counts_as_there() -> None:
    found = completed(answered(seen(owners=(OTHER,)), kind=served()))

    assert isinstance(found, TraitSeen)
    assert found.gone == frozenset()


@pytest.mark.parametrize("owner", [{**OTHER, "uid": "uid-r"}, {**OTHER, "controller": False}])
def test_the_rollout_itself_and_owners_that_do_not_control_are_not_asked_about(owner: Json) -> None:
    given = seen(owners=(owner,))

    assert completed(given) == given


ROBOT = {"apiVersion": "toys.example.com/v1", "kind": "Robot", "name": "d2"}
RULES = {"style": "pair", "replicasPath": "spec.count"}


def definitions(*rules: Json | None, name: str = "robots.toys.example.com") -> Good:
    items = [
        {"spec": {"definitionRef": {"name": name}, **({"extension": {"rollout": each}} if each else {})}}
        for each in rules
    ]
    return Good(msgspec.json.encode({"items": items}))


@pytest.mark.parametrize(
    ("here", "system", "found"),
    [
        (definitions(RULES), definitions({"style": "partition"}), RULES),
        (definitions(None), definitions(RULES), RULES),
        (Bad("absent"), definitions(RULES), RULES),
        (definitions(RULES, name="others.toys.example.com"), definitions(), None),
    ],
    ids=["of the namespace", "of the system", "of the system alone", "of another kind"],
)
def test_a_custom_kind_is_rolled_as_the_first_definition_says(here: Answer, system: Answer, found: Json | None) -> None:
    given = seen(target=ROBOT)

    assert completed(given) == Need(((discovery("toys.example.com", "Robot"), *LISTS),))
    whole = completed(answered(given, kind=served(ROBOTS), here=here, system=system))

    assert isinstance(whole, TraitSeen)
    assert [each.rollout for each in whole.extensions] == ([] if found is None else [found])


def test_a_custom_kind_that_is_not_served_is_named() -> None:
    whole = completed(answered(seen(target=ROBOT), kind=served(), here=definitions(RULES), system=definitions()))

    assert isinstance(whole, TraitSeen)
    assert whole.unserved == {"Robot.toys.example.com"}


def test_a_kind_that_is_not_listed_yet_is_looked_at_again_soon() -> None:
    decided = decide(replace(seen(), unlisted=frozenset({"Deployment"})), NOW)

    assert isinstance(decided, Decision)
    assert (decided.verdict.reason, decided.verdict.again) == (Reason.CACHE_BEHIND, NOW + SOON)


def test_the_version_that_is_named_is_used_where_it_is_served() -> None:
    answers = Answers({discovery("toys.example.com", "Robot"): served(ROBOTS, OLDER)})

    def used(api_version: str) -> tuple[Resource, ...]:
        return served_resource(answers, WorkloadReference(api_version, "Robot", "d2"))

    assert used("toys.example.com/v1beta1") == (OLDER,)
    assert used("toys.example.com/v9") == (ROBOTS,)
    assert served_resource(Answers(), WorkloadReference("toys.example.com/v1", "Robot", "d2")) == ()


def test_a_rollout_is_about_all_that_its_spec_and_its_status_name() -> None:
    """What the attempt works on comes first, and each workload once."""

    def reference(name: str) -> Json:
        return {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}

    status = {
        "lastTargetRef": reference("old"),
        "lastSourceRef": [reference("d1")],
        "sources": [{"ref": reference("d1"), "originalReplicas": 5}],
        "carried": {"refs": [reference("older")], "targetSize": 5},
    }
    spec = {"targetRef": reference("d2"), "sourceRef": [reference("d1")], "rolloutPlan": {}}
    rollout = of_trait(RolloutTrait(TraitMeta("r", "uid-r", "1"), spec, status))

    found = workloads_of(rollout)

    assert found.target.name == "old"
    assert [each.name for each in found.all] == ["old", "d2", "d1", "older"]


NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


@pytest.mark.parametrize("resource", [SECRETS, NODES, BINDINGS], ids=["Secret", "Node", "RoleBinding"])
def test_kinds_that_reach_further_than_whoever_writes_rollouts_are_no_workloads(resource: Resource) -> None:
    """So that they are not watched either: the operator may be allowed to list all of them."""
    reference = WorkloadReference(resource.api_version, resource.kind, "x")
    answers = Answers({discovery(resource.group, resource.kind): served(resource)})

    assert served_resource(answers, reference) == ()


def test_of_a_secret_that_controls_a_workload_nothing_is_read_but_its_metadata() -> None:
    """Anybody who may write a workload may write that into it; as a whole a Secret is read by nobody."""
    given = seen(owners=({"apiVersion": "v1", "kind": "Secret", "name": "x", "uid": "uid-x", "controller": True},))
    asked = Ask(Read(Ref(SECRETS, "ns", "x"), metadata_only=True))
    known = Answers({discovery("", "Secret"): served(SECRETS)})

    assert completed(replace(given, answers=known)) == Need(((asked,),))
    found = completed(replace(given, answers=Answers({**known.known, asked: Bad("absent", code=404)})))
    assert isinstance(found, TraitSeen)
    assert found.gone == {"uid-x"}


def test_a_rollout_that_names_very_many_workloads_is_indexed_in_time_by_their_number() -> None:
    """It is for every event of the rollout, in the loop that everything else waits for."""
    meta = TraitMeta("r", "uid-r", "1", namespace="ns")
    sources = [{**TARGET, "name": f"old-{number}"} for number in range(20_000)]
    rollout = of_trait(RolloutTrait(meta, {"targetRef": TARGET, "sourceRef": [*sources, sources[0]]}))
    begun = process_time()

    found = workloads_of(rollout)

    assert process_time() - begun < 5
    assert len(found.all) == 20_001
