"""A Balancer and its Deployment, for tests of what is done for it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import structs

from fairlead.contracts.environments.decide import decide_balancer
from fairlead.contracts.environments.decide.objects.balancer import balancer_objects
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.kinds import (
    Balancer,
    BalancerSpec,
    CertificateSpec,
    CompanionStatus,
    Console,
    EnvironmentMeta,
    IssuerRef,
    StaticRouting,
)
from fairlead.contracts.environments.settings import Settings
from fairlead.core.act import Replace
from fairlead.core.ask import Answer, Answers, Ask, Good, Listing, Need
from fairlead.core.decision import Decision, Move
from kubeloop.objects.apps import (
    Deployment,
    DeploymentCondition,
    DeploymentMeta,
    DeploymentSpec,
    DeploymentStatus,
    Template,
    TemplateMeta,
)
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import LabelSelector
from tests.builders import NOW

C = TypeVar("C", Balancer, Console)

NO_PODS = Good(b'{"items": []}')
SPEC = BalancerSpec(
    balancerd_image_ref="materialize/balancerd:v26.0.0", static_routing=StaticRouting("e", "mzid-environmentd")
)
META = EnvironmentMeta(name="b", namespace="e", uid="uid-b", resource_version="5", generation=1)
IDENTIFIED = Balancer(META, SPEC, CompanionStatus(resource_id="abc"))
CERTIFIED = structs.replace(SPEC, external_certificate_spec=CertificateSpec(issuer_ref=IssuerRef("ca")))


def a_deployment(**fields: object) -> Deployment:
    selector = msgspec.json.decode(balancer_objects(IDENTIFIED, Settings())[-1].body)["spec"]["selector"]["matchLabels"]
    wish = DeploymentSpec(
        replicas=2,
        selector=LabelSelector(fields.pop("selector", selector)),  # type: ignore[arg-type]
        template=Template(TemplateMeta(fields.pop("labels", selector))),  # type: ignore[arg-type]
    )
    available = str(fields.pop("available", True))
    status = DeploymentStatus(
        observed_generation=1,
        replicas=2,
        updated_replicas=2,
        available_replicas=2,
        conditions=(DeploymentCondition("Available", available),),
    )
    meta = DeploymentMeta(name="mzabc-balancerd", namespace="e", uid="uid-d", resource_version="9", generation=1)
    return Deployment(meta, wish, structs.replace(status, **fields))


def of(balancer: Balancer, pods: Answer = NO_PODS, **fields: object) -> Decision:
    """All objects are as they are wanted, unless said otherwise."""
    objects = balancer_objects(balancer, Settings()) if balancer.status and balancer.spec.static_routing else ()
    applied = {each.ref: each.digest for each in objects}
    seen = CompanionSnapshot(own=balancer, **({"applied": applied} | fields))  # type: ignore[arg-type]
    return answered(decide_balancer, seen, pods)


def answered(
    decide: Callable[[CompanionSnapshot[C], datetime], Decision | Need],
    seen: CompanionSnapshot[C],
    pods: Answer = NO_PODS,
) -> Decision:
    """What is decided when whoever lists pods gets these."""
    outcome = decide(seen, NOW)
    if isinstance(outcome, Need):
        ((question,),) = outcome.stages
        assert isinstance(question, Ask)
        assert isinstance(question.to, Listing)
        assert question.to.resource == PODS
        outcome = decide(structs.replace(seen, answers=Answers({question: pods})), NOW)
    assert isinstance(outcome, Decision)
    return outcome


def status_in(decision: Decision) -> CompanionStatus:
    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Replace)
    assert write.subresource == "status"
    body = msgspec.json.decode(write.body)
    assert body["metadata"]["resourceVersion"] == "5"
    return msgspec.convert(body["status"], CompanionStatus)
