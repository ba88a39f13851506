"""A Balancer or Console that is given another resource id than it has."""

from __future__ import annotations

import msgspec
from msgspec import structs

from fairlead.contracts.environments.decide import decide_console
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.kinds import (
    Balancer,
    BalancerdAddress,
    Child,
    CompanionStatus,
    Condition,
    Console,
    ConsoleSpec,
    EnvironmentMeta,
)
from fairlead.core.act import Delete
from fairlead.core.decision import Decision, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from kubeloop.objects.meta import OwnerReference, Ref, Resource
from tests.builders import EARLIER, NOW
from tests.contracts.environments.decide.balancing import META, SPEC, a_deployment, answered, of, status_in

READY = Condition(type="Ready", status="True", reason="x", message="x", last_transition_time=EARLIER)
HAS_OLD = CompanionStatus(resource_id="abc", conditions=(READY,))
GIVEN = Balancer(META, structs.replace(SPEC, resource_id="other"), HAS_OLD)
OWN, ITS_OWN = OwnerReference("Balancer", "b", "uid-b"), OwnerReference("Materialize", "b", "uid-m")


def a_child(resource: Resource, name: str, owner: OwnerReference) -> tuple[tuple[Resource, str], Child]:
    meta = EnvironmentMeta(
        name=name, namespace="e", uid=f"uid of {name}", resource_version="3", owner_references=(owner,)
    )
    return (resource, name), Child(meta)


def deletions(decision: Decision) -> list[Ref]:
    assert isinstance(decision.verdict, Move)
    assert all(isinstance(write, Delete) and write.propagation == "Background" for write in decision.verdict.writes)
    return [write.ref for write in decision.verdict.writes if isinstance(write, Delete)]


def test_what_it_had_under_the_one_before_goes_first_and_nothing_of_others() -> None:
    found = a_deployment()
    owned = structs.replace(found, metadata=structs.replace(found.metadata, owner_references=(OWN,)))
    children = dict((a_child(SERVICES, "mzabc-balancerd", OWN), a_child(SERVICES, "mzabc-environmentd", ITS_OWN)))

    decision = of(GIVEN, deployment=owned, children=children)

    assert deletions(decision) == [
        Ref(SERVICES, "e", "mzabc-balancerd", "uid of mzabc-balancerd"),
        Ref(DEPLOYMENTS, "e", "mzabc-balancerd", "uid-d"),
    ]


def test_what_is_going_is_awaited() -> None:
    (key, child) = a_child(SERVICES, "mzabc-balancerd", OWN)
    going = structs.replace(child, metadata=structs.replace(child.metadata, deletion_timestamp=NOW))

    decision = of(GIVEN, children={key: going})

    assert decision.verdict.reason is Reason.OBJECTS_GOING
    assert decision.verdict.again is not None


def test_then_the_status_takes_the_new_one_and_is_not_ready_any_more() -> None:
    children = dict((a_child(SERVICES, "mzabc-environmentd", ITS_OWN),))

    decision = of(GIVEN, children=children)

    assert status_in(decision) == CompanionStatus(resource_id="other")


def test_one_that_is_given_none_or_the_same_keeps_what_it_has() -> None:
    same = structs.replace(GIVEN, spec=structs.replace(SPEC, resource_id="abc"))

    for balancer in (same, structs.replace(GIVEN, spec=SPEC)):
        assert of(balancer, deployment=a_deployment()).rule == "report_status"


def test_a_console_does_the_same() -> None:
    spec = ConsoleSpec(
        console_image_ref="materialize/console:1",
        balancerd=BalancerdAddress("mzabc-balancerd", "e", "http"),
        resource_id="other",
    )
    children = dict((a_child(CONFIGMAPS, "mzabc-console", OWN),))

    first = answered(decide_console, CompanionSnapshot(own=Console(META, spec, HAS_OLD), children=children))
    then = answered(decide_console, CompanionSnapshot(own=Console(META, spec, HAS_OLD)))

    assert [ref.name for ref in deletions(first)] == ["mzabc-console"]
    assert isinstance(then.verdict, Move)
    assert msgspec.json.decode(then.verdict.writes[0].body)["status"]["resourceId"] == "other"  # type: ignore[union-attr]
