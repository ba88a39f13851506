"""When a definition of others is attached, corrected and detached, decided without a cluster (section 3.13)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.apiversions.decide.attachment import AttachSet, AttachSnapshot, attach
from fairlead.contracts.apiversions.decide.detaching import blockers
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.core.act import Apply, Create, Does, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Question, Read, ReadRecord, SwapRecord
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.definition_rounds import Repairs
from fairlead.engine.decide.owned_definitions import DefinitionOwner
from fairlead.engine.decide.registration import ConversionWebhook
from fairlead.engine.decide.replicas import ENDPOINT_SLICES, ReplicaQuestion
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Ref
from tests.contracts.apiversions.decide.definitions import NAME, V1, Tree, a_definition, a_version

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOOK = ConversionWebhook(name="fairlead", namespace="operator")
OWNER = DefinitionOwner(
    manager="we", ca_manager="we-ca", namespace="operator", owner_key="we/owner", revision_key="we/revision"
)
MAP = Ref(CONFIGMAPS, "operator", "rules")
RULES = read_rules(
    {
        "kind": "ConversionRules",
        "crd": NAME,
        "hub": "v2",
        "spokes": [
            {"version": "v1", "toHub": [{"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"}]},
        ],
    }
)
ADDRESS: Tree = {"f:service": {"f:name": {}, "f:namespace": {}}}
FIELDS: Tree = {"f:spec": {"f:conversion": {"f:strategy": {}, "f:webhook": {"f:clientConfig": ADDRESS}}}}
BUNDLED: Tree = {"f:spec": {"f:conversion": {"f:webhook": {"f:clientConfig": {"f:caBundle": {}}}}}}


def live(*versions: Tree, ours: bool = False, conversion: Tree | None = None, **meta: Any) -> Tree:
    tree = a_definition(*versions)
    tree["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 3} | meta
    if ours:
        tree["spec"]["conversion"] = HOOK.conversion(b"authority")
        tree["metadata"]["managedFields"] = [
            {"manager": "we", "operation": "Apply", "fieldsV1": FIELDS},
            {"manager": "we-ca", "operation": "Apply", "fieldsV1": BUNDLED},
        ]
    if conversion is not None:
        tree["spec"]["conversion"] = conversion
    return tree


def seen(tree: Tree | None, **fields: Any) -> AttachSnapshot:
    kind = kind_of(RULES, a_definition())
    rules = AttachSet(wants=True, versions=("v2", "v1"), kind=kind, about=MAP)
    return AttachSnapshot(
        **{
            "name": NAME,
            "rules": rules,
            "webhook": HOOK,
            "bundle": b"authority",
            "enough": frozenset({b"authority"}),
            "owner": OWNER,
            "replicas": ReplicaQuestion("operator", "fairlead", "we/convertible"),
            "samples": {"v1": {"spec": {}}, "v2": {"spec": {}}},
            "home": "operator",
            "cached": tree,
            "live": tree,
            **fields,
        }
    )


class World:
    """Answers the questions of a decision."""

    def __init__(self, *objects: Tree, able: bool = True) -> None:
        self.objects = objects
        self.able = able
        self.records: dict[str, bytes] = {}
        self.refusals: dict[type, Bad] = {}
        self.asked: list[Question] = []

    def decided(self, snapshot: AttachSnapshot, now: datetime = NOW) -> Decision:
        known: dict[Question, Answer] = {}
        for _ in range(20):
            outcome = attach(structs.replace(snapshot, answers=Answers(known)), now)
            if isinstance(outcome, Decision):
                return outcome
            for stage in outcome.stages:
                for question in stage:
                    self.asked.append(question)
                    known[question] = self._answer(question, snapshot)
        raise AssertionError("it never ends")

    def _answer(self, question: Question, snapshot: AttachSnapshot) -> Answer:
        if isinstance(question, Create):
            return self.refusals.get(Create, Good(b"{}"))
        assert isinstance(question, Ask)
        match question.to:
            case Read():
                return Good(msgspec.json.encode(snapshot.live))
            case ReadRecord(record):
                return Good(self.records.get(record, b""), "1")
            case SwapRecord(record, _, value):
                self.records[record] = value
                return Good(version="2")
            case Listing(resource) if resource == ENDPOINT_SLICES:
                target = {"kind": "Pod", "name": "other"}
                return _items({"endpoints": [{"addresses": ["10.0.0.1"], "targetRef": target}]})
            case Listing(resource) if resource == PODS:
                text = msgspec.json.encode({NAME: ["v1", "v2"] if self.able else ["v1"]}).decode()
                return _items({"metadata": {"name": "other", "annotations": {"we/convertible": text}}})
            case Listing():
                return self.refusals.get(Listing, _items(*self.objects))
        raise AssertionError(question)


def _items(*items: Tree) -> Good:
    return Good(msgspec.json.encode({"metadata": {"resourceVersion": "1"}, "items": list(items)}))


def a_widget(name: str, **spec: Any) -> Tree:
    return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec}


GOOD = a_widget("good", size=1, paint={"colour": "red"})
OLD = a_widget("old", size=1, colour="red")


def holds(decision: Decision) -> Hold:
    assert isinstance(decision.verdict, Hold), decision
    return decision.verdict


def test_it_is_attached_when_rules_replicas_and_objects_allow_it() -> None:
    decision = World(GOOD).decided(seen(live()))

    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Apply)
    assert (write.manager, write.force, write.resource_version) == ("we", False, "7")
    assert set(msgspec.json.decode(write.body)["spec"]) == {"conversion"}


def test_it_waits_for_a_replica_that_cannot_convert_all_versions() -> None:
    decision = World(GOOD, able=False).decided(seen(live()))

    assert holds(decision).reason is Reason.REPLICAS_BEHIND
    assert holds(decision).again == NOW + timedelta(seconds=5)


def test_objects_with_fields_of_another_version_are_named_and_waited_for() -> None:
    decision = World(GOOD, OLD).decided(seen(live()))

    assert holds(decision).reason is Reason.PAYLOADS_FOREIGN
    (note,) = decision.tell
    assert (note.about, note.reason) == (MAP, "AttachBlocked")
    assert "1 of 2 objects" in note.text
    assert "shop/old" in note.text


def test_a_person_may_have_them_converted_as_they_are() -> None:
    snapshot = seen(live())
    anyway = structs.replace(snapshot, rules=structs.replace(snapshot.rules, anyway=True))

    assert isinstance(World(OLD).decided(anyway).verdict, Move)


def united() -> AttachSnapshot:
    """A definition with union schemas, converted by nobody."""
    tree = live(*with_unions(a_definition()).definition["spec"]["versions"])
    snapshot = seen(tree)
    return structs.replace(snapshot, rules=structs.replace(snapshot.rules, kind=kind_of(RULES, tree)))


def last_written_in(version: str, tree: Tree) -> Tree:
    entry = {
        "manager": "kubectl",
        "operation": "Update",
        "apiVersion": f"example.test/{version}",
        "time": "2029-12-31T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}, "f:paint": {"f:colour": {}}, "f:colour": {}}},
    }
    return {**tree, "metadata": {**tree["metadata"], "managedFields": [entry]}}


@pytest.mark.parametrize("odd", [OLD, last_written_in("v1", OLD)], ids=["by nobody", "by a manager"])
def test_union_schemas_do_not_hide_what_was_written_in_the_old_version(odd: Tree) -> None:
    decision = World(GOOD, odd).decided(united())

    assert holds(decision).reason is Reason.PAYLOADS_FOREIGN
    assert "1 of 2 objects" in decision.tell[0].text
    assert "shop/old" in decision.tell[0].text


def test_under_union_schemas_an_object_that_was_converted_when_it_was_written_is_no_obstacle() -> None:
    decision = World(last_written_in("v1", GOOD), last_written_in("v2", GOOD)).decided(united())

    assert isinstance(decision.verdict, Move)


def test_objects_that_may_not_be_listed_are_no_reason_to_go_on() -> None:
    world = World()
    world.refusals[Listing] = Bad("refused", "widgets is forbidden", 403)

    assert holds(world.decided(seen(live()))).reason is Reason.OBJECTS_UNSEEN


@pytest.mark.parametrize(
    ("tree", "reason"),
    [
        (live(conversion=ConversionWebhook(name="x", namespace="y").conversion(b"")), "ConversionForeign"),
        (live(labels={"olm.managed": "true"}), "CRDOwnedElsewhere"),
        (live(a_version("v1", V1), a_version("v2", V1, storage=True), a_version("v3", V1)), "RulesRejected"),
    ],
    ids=["another converts it", "OLM owns it", "the set lacks a version"],
)
def test_it_is_left_alone_and_people_are_told(tree: Tree, reason: str) -> None:
    decision = World().decided(seen(tree))

    assert isinstance(decision.verdict, Hold)
    assert [each.reason for each in decision.tell] == [reason]


def test_what_is_attached_is_probed_once_and_a_webhook_that_fails_is_told() -> None:
    world = World(GOOD)
    world.refusals[Listing] = Bad("failed", "conversion webhook for example.test/v2, Kind=Widget failed: no route", 500)

    failing = world.decided(seen(live(ours=True)))
    again = World(GOOD).decided(seen(live(ours=True)))

    assert [each.reason for each in failing.tell] == ["WebhookUnreachable"]
    assert (again.rule, again.tell) == ("in_order", ())


def test_without_objects_the_probe_tries_to_make_one_and_a_refusal_says_nothing() -> None:
    world = World()
    world.refusals[Create] = Bad("invalid", "spec is invalid", 422)

    decision = world.decided(seen(live(ours=True)))

    tried = [each for each in world.asked if isinstance(each, Create)]
    assert [each.resource.version for each in tried] == ["v1"]
    assert all(each.dry_run for each in tried)
    assert decision.tell == ()


def test_whoever_overwrites_it_is_corrected_at_growing_distances() -> None:
    lost = seen(live(), was_ours=True)
    corrected = World(OLD).decided(lost)
    spaced = World(OLD).decided(structs.replace(lost, repairs=Repairs(2, NOW - timedelta(seconds=1))))

    assert isinstance(corrected.verdict, Move)
    (write,) = corrected.verdict.writes
    assert write.does is Does.REPAIR_DEFINITION
    assert write.tell is not None
    assert write.tell.reason == "ConversionLost"
    assert (holds(spaced).reason, holds(spaced).again) == (Reason.REPAIR_SPACING, NOW + timedelta(seconds=3))
    (note,) = spaced.tell
    assert note.reason == "ConversionLost"
    assert "nobody converts its objects now" in note.text


GONE = AttachSet(is_gone=True, versions=("v1", "v2"))
ONE_SERVED = (a_version("v1", V1, served=False), a_version("v2", V1, storage=True))


def test_with_its_rules_gone_it_is_detached_where_it_can_do_without() -> None:
    decision = World().decided(seen(live(*ONE_SERVED, ours=True), rules=GONE))

    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Patch)
    assert msgspec.json.decode(write.body)[-1]["value"] == {"strategy": "None"}


def test_with_its_rules_gone_it_stays_where_it_cannot_do_without_and_people_are_told() -> None:
    decision = World().decided(seen(live(ours=True), rules=GONE))

    assert holds(decision).reason is Reason.DETACH_BLOCKED
    assert [each.reason for each in decision.tell] == ["DetachBlocked"]


def test_a_conversion_that_a_person_wrote_is_not_taken_away() -> None:
    tree = live(*ONE_SERVED, ours=True)
    del tree["metadata"]["managedFields"]

    assert World().decided(seen(tree, rules=GONE)).rule == "leave_alone"


def test_rules_that_are_only_wrong_detach_nothing() -> None:
    wrong = AttachSet(wants=False, is_gone=False)

    assert World().decided(seen(live(*ONE_SERVED, ours=True), rules=wrong)).rule == "leave_alone"


def test_what_keeps_a_definition_attached_names_the_commands_that_clear_it() -> None:
    tree = a_definition(stored=("v1", "v2"))

    first, second = blockers(tree)

    assert first.commands == (f"fairlead api migrate {NAME}",)
    assert "v1" in first.text
    assert second.commands == (f"fairlead api unserve {NAME} v1", f"fairlead api detach {NAME} --union")
    assert "/spec/colour" in second.text
    assert blockers(a_definition(*ONE_SERVED)) == ()
    assert blockers(with_unions(a_definition()).definition) == ()


def test_a_look_goes_through_pages_and_begins_anew_when_it_is_old() -> None:
    snapshot = seen(live())
    pages = {
        "": {"metadata": {"resourceVersion": "1", "continue": "next"}, "items": [GOOD]},
        "next": {"metadata": {"resourceVersion": "1"}, "items": [GOOD]},
    }

    class Paged(World):
        def _answer(self, question: Question, snapshot: AttachSnapshot) -> Answer:
            if (
                isinstance(question, Ask)
                and isinstance(question.to, Listing)
                and question.to.resource.plural == "widgets"
            ):
                return Good(msgspec.json.encode(pages[question.to.cursor]))
            return super()._answer(question, snapshot)

    world = Paged()
    first, second = world.decided(snapshot), world.decided(snapshot, NOW + timedelta(seconds=1))
    lists = [each for each in world.asked if isinstance(each, Ask) and isinstance(each.to, Listing)]
    third = world.decided(snapshot, NOW + timedelta(minutes=5))

    assert (first.rule, holds(first).again) == ("look", NOW)
    assert isinstance(second.verdict, Move)
    assert [each.to.cursor for each in lists if each.to.resource.plural == "widgets"] == ["", "next"]  # type: ignore[union-attr]
    assert third.rule == "look"


def test_a_definition_that_is_not_there_is_nobodys_business() -> None:
    outcome = attach(seen(None), NOW)

    assert isinstance(outcome, Decision)
    assert not isinstance(outcome, Need)
    assert outcome.rule == "leave_deleted"
