"""Section 3.13 point 5: a Deployment with another selector becomes one with the right one, whatever state it is in."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.environments.kinds import CompanionStatus, Condition
from fairlead.core.act import Apply, Delete, Does, Replace
from fairlead.core.ask import Answers, Bad, Good
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS, Deployment, DeploymentCondition
from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement, Ref
from tests.builders import EARLIER, NOW
from tests.contracts.environments.decide.balancing import IDENTIFIED, a_deployment, of

OTHER = {"old": "yes"}
RIGHT = a_deployment().spec.selector.match_labels
DEPLOYMENT = Ref(DEPLOYMENTS, "e", "mzabc-balancerd")


def outdated(**fields: object) -> Deployment:
    """One that selects its pods by a label of its own."""
    return a_deployment(**({"selector": OTHER, "labels": OTHER} | fields))


def bridged(found: Deployment) -> Apply:
    decision = of(IDENTIFIED, applied={}, deployment=found)
    assert decision.rule == "change_selector"
    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Apply)
    return write


def after(found: Deployment, write: Apply) -> Decision:
    """What comes once the Deployment is as it was applied."""
    labels = msgspec.json.decode(write.body)["spec"]["template"]["metadata"]["labels"]
    template = structs.replace(
        found.spec.template, metadata=structs.replace(found.spec.template.metadata, labels=labels)
    )
    there = structs.replace(found, spec=structs.replace(found.spec, template=template))
    return of(IDENTIFIED, applied={write.ref: write.change_to}, deployment=there)


def removal(decision: Decision) -> Delete:
    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Delete)
    assert write.ref == structs.replace(DEPLOYMENT, uid="uid-d")
    assert write.does is Does.MIGRATE_SELECTOR
    return write


def test_it_is_first_made_as_it_is_wanted_in_all_but_its_selector() -> None:
    write = bridged(outdated())

    spec = msgspec.json.decode(write.body)["spec"]
    assert write.does is Does.MIGRATE_SELECTOR
    assert write.refusable
    assert write.ref == DEPLOYMENT
    assert spec["selector"] == {"matchLabels": OTHER}
    assert (RIGHT | OTHER).items() <= spec["template"]["metadata"]["labels"].items()
    assert spec["template"]["spec"]["containers"][0]["image"] == "materialize/balancerd:v26.0.0"


def test_a_paused_one_is_set_going_and_gets_the_replicas_of_the_spec() -> None:
    paused = outdated()
    paused = structs.replace(paused, spec=structs.replace(paused.spec, paused=True, replicas=7))

    spec = msgspec.json.decode(bridged(paused).body)["spec"]

    assert spec["paused"] is False
    assert spec["replicas"] == 2


def test_a_selector_with_expressions_is_sent_back_as_it_is() -> None:
    found = outdated()
    selector = LabelSelector(OTHER, (LabelSelectorRequirement("old", "Exists"),))
    found = structs.replace(found, spec=structs.replace(found.spec, selector=selector))

    sent = msgspec.json.decode(bridged(found).body)["spec"]["selector"]

    assert msgspec.convert(sent, LabelSelector) == selector


def test_a_spec_that_changes_on_the_way_is_followed() -> None:
    found = outdated()
    first = bridged(found)
    other = structs.replace(IDENTIFIED, spec=structs.replace(IDENTIFIED.spec, balancerd_image_ref="x/balancerd:v2"))

    decision = of(other, applied={first.ref: first.change_to}, deployment=found)

    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Apply)
    assert b"x/balancerd:v2" in write.body


ROLLING = {
    "is not observed": {"observed_generation": 0, "available_replicas": 0},
    "has few new pods": {"updated_replicas": 1},
    "has old pods": {"replicas": 3},
    "has pods that are not available": {"available_replicas": 1},
}


def known(found: Deployment) -> Deployment:
    """Its pods are to get the labels of both selectors."""
    labels = msgspec.json.decode(bridged(outdated()).body)["spec"]["template"]["metadata"]["labels"]
    return structs.replace(found, spec=a_deployment(selector=OTHER, labels=labels).spec)


READY = Condition(
    type="Ready",
    status="True",
    reason="DeploymentStatus",
    message="balancerd deployment is ready",
    last_transition_time=EARLIER,
)
SAID = structs.replace(IDENTIFIED, status=CompanionStatus(resource_id="abc", conditions=(READY,)))


@pytest.mark.parametrize("fields", ROLLING.values(), ids=ROLLING)
def test_the_labels_are_awaited_while_the_deployment(fields: dict[str, object]) -> None:
    write = bridged(outdated())

    decision = of(SAID, applied={write.ref: write.change_to}, deployment=known(outdated(**fields)))

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.SELECTOR_CHANGING
    assert decision.verdict.again is not None


def test_meanwhile_it_is_told_whether_the_deployment_is_available() -> None:
    write = bridged(outdated())
    failing = known(outdated(available_replicas=1, conditions=(DeploymentCondition("Available", "False"),)))

    decision = of(SAID, applied={write.ref: write.change_to}, deployment=failing)

    assert isinstance(decision.verdict, Move)
    (said,) = decision.verdict.writes
    assert isinstance(said, Replace)
    assert said.change_to == "Ready=False"


def test_then_it_is_deleted_without_its_pods_and_made_anew() -> None:
    found = outdated()

    decision = after(found, bridged(found))

    assert removal(decision).propagation == "Orphan"
    going = structs.replace(found, metadata=structs.replace(found.metadata, deletion_timestamp=NOW))
    assert of(IDENTIFIED, applied={}, deployment=going).verdict.reason is Reason.OBJECTS_GOING
    assert of(IDENTIFIED, applied={}).verdict.reason is Reason.APPLYING


def test_one_whose_labels_clash_with_the_right_ones_goes_with_its_pods() -> None:
    clashing = {"app": "something-else"}

    decision = of(IDENTIFIED, applied={}, deployment=a_deployment(selector=clashing, labels=clashing))

    assert removal(decision).propagation == "Background"


def test_one_that_has_no_pod_to_lose_goes_with_its_pods() -> None:
    decision = of(IDENTIFIED, applied={}, deployment=outdated(available_replicas=0))

    assert removal(decision).propagation == "Background"


def test_one_that_cannot_be_made_so_goes_with_its_pods() -> None:
    found = outdated()
    refusal = Answers({bridged(found): Bad("failed", "field is immutable", 422)})

    decision = of(IDENTIFIED, applied={}, deployment=found, answers=refusal)

    assert removal(decision).propagation == "Background"


def test_another_refusal_is_an_error_and_nothing_goes() -> None:
    found = outdated()
    refusal = Answers({bridged(found): Bad("refused", "may not", 403)})

    decision = of(IDENTIFIED, applied={}, deployment=found, answers=refusal)

    assert decision.verdict.reason is Reason.OBJECT_REFUSED


def test_somebody_who_undoes_it_is_left_alone_for_a_while() -> None:
    found = outdated()

    decision = of(IDENTIFIED, applied={}, deployment=found, answers=Answers({bridged(found): Good()}))

    assert decision.verdict.reason is Reason.OBJECT_UNDONE
    assert decision.verdict.again is not None


def test_whoever_only_looks_sees_that_the_labels_come_first() -> None:
    decision = of(IDENTIFIED, applied=None, deployment=outdated())

    assert isinstance(decision.verdict, Move)
    assert isinstance(decision.verdict.writes[0], Apply)
