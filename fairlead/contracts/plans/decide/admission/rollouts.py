"""Whether a Rollout may be as it is (A-2, A-3 and A-5 to A-9); its passes find out whether its revisions are there."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.applications.kinds import RolloutSpec
from fairlead.contracts.plans.decide.admission import updates
from fairlead.contracts.plans.decide.admission.validation import PLAN, plan_refusals
from fairlead.contracts.plans.decide.applications.revision_rollouts import asked_for, last_of
from fairlead.contracts.plans.decide.field_rules import named
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import Json
from fairlead.core.field_errors import invalid, required

TARGET, SOURCE, COMPONENT = "spec.targetRevisionName", "spec.sourceRevisionName", "spec.componentName"


def refusals(new: Json, old: Json | None) -> Iterator[str]:
    given = new.get("spec")
    spec, wrong = read(RolloutSpec, given, "spec")
    if not isinstance(given, dict):
        yield from wrong or (required("spec"),)
        return
    yield from wrong
    yield from _names(spec)
    if given.get("rolloutPlan") is None:
        yield required(PLAN)
    yield from plan_refusals(spec.rollout_plan)
    if old is not None:
        before = read(RolloutSpec, old.get("spec"), "spec")[0]
        others = frozenset({COMPONENT}) if spec.component_name != before.component_name else frozenset[str]()
        is_renamed = asked_for(spec).are_others_than(asked_for(before), last_of(old.get("status")))
        yield from updates.refusals(new, old, is_renamed=is_renamed, others=others)


def _names(spec: RolloutSpec) -> Iterator[str]:
    target, source = spec.target_revision_name, spec.source_revision_name
    if not target:
        yield required(TARGET)
    elif target == source:
        yield invalid(SOURCE, source, "must not be the target")
    for path, name in ((TARGET, target), (SOURCE, source), (COMPONENT, spec.component_name)):
        yield from named(path, name)
