"""Services of roles (section 6.7): each finds the pods of one child, and all of a revision are made together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.contracts.leaderworker.decide.disaggregated.children import (
    Child,
    Generation,
    owner_of,
    service_name,
)
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.disaggregated.steps import Steps
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.kinds import NAME, REVISION, ROLE, SLICE, DisaggregatedSet
from fairlead.contracts.leaderworker.kinds import Json
from fairlead.core.act import AnyWrite, Create, Delete, Does
from fairlead.core.ask import Ask, Bad, Read
from fairlead.core.integers import parse_integer
from fairlead.core.reason import Reason
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Ref


def owned_services(seen: DisaggregatedSeen) -> tuple[Service, ...]:
    uid = seen.set.metadata.uid
    found = [each for each in seen.services if each.metadata.controller_uid == uid]
    return tuple(each for each in found if each.metadata.deletion_timestamp is None)


def slice_of(service: Service) -> int:
    """Of releases that knew no slices: the first."""
    try:
        return parse_integer(service.metadata.labels.get(SLICE, "0"))
    except ValueError:
        return 0


def removed(given: DisaggregatedSet, service: Service) -> Delete:
    metadata = service.metadata
    return Delete(
        ref=Ref(SERVICES, metadata.namespace, metadata.name, metadata.uid),
        does=Does.REMOVE_SERVICE,
        scope=given.metadata.uid,
        refusable=True,
    )


def questions(seen: DisaggregatedSeen, lacking: Iterable[Child]) -> tuple[Ask, ...]:
    """Asked before they are made: the cache has no Service without our label, and one may have the name."""
    return tuple(_live(seen.set, each) for each in lacking)


def _live(given: DisaggregatedSet, child: Child) -> Ask:
    ref = Ref(SERVICES, given.metadata.namespace, service_name(child.name))
    return Ask(Read(ref), is_expected_to_fail=True)


def lacking_services(seen: DisaggregatedSeen, target: Generation | None) -> tuple[Child, ...]:
    """Children of the target without a Service, once every role of it has something that is ready."""
    if target is None or not target.is_serving(seen.set.spec.roles):
        return ()
    there = {each.metadata.name for each in seen.services}
    children = (target.roles[each.name] for each in seen.set.spec.roles)
    return tuple(each for each in children if service_name(each.name) not in there)


def service_steps(seen: DisaggregatedSeen, index: int, target: Generation | None, olds: Iterable[Generation]) -> Steps:
    """Those of the target, and then none of a revision that no longer serves in every role.

    A Service that is there under the name, whoever made it, is left alone.
    """
    given = seen.set
    if target is None or not target.is_serving(given.spec.roles):
        return Steps()
    answers = [(each, seen.answers[_live(given, each)]) for each in lacking_services(seen, target)]
    made = tuple(_created(given, each) for each, answer in answers if isinstance(answer, Bad) and _is_absent(answer))
    unknown = tuple(
        (f"service/{service_name(each.name)}", answer.text)
        for each, answer in answers
        if isinstance(answer, Bad) and not _is_absent(answer)
    )
    serving = {each.revision for each in olds if each.is_serving(given.spec.roles)} | {target.revision}
    gone = tuple(
        removed(given, each)
        for each in owned_services(seen)
        if slice_of(each) == index and each.metadata.labels.get(REVISION) not in serving
    )
    writes: tuple[AnyWrite, ...] = (*made, *gone)
    if unknown:
        return Steps(Reason.READ_FAILED, writes, details=unknown)
    return Steps(Reason.APPLYING if writes else Reason.COMPLETE, writes)


def _is_absent(answer: Bad) -> bool:
    """Only what is known not to be there is made."""
    return answer.kind == "absent"


def service_body(given: DisaggregatedSet, child: Child) -> Json:
    labels = {NAME: given.metadata.name, ROLE: child.role, REVISION: child.revision}
    if not child.is_legacy:
        labels[SLICE] = str(child.slice)
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": service_name(child.name),
            "namespace": given.metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner_of(given)],
        },
        "spec": {"clusterIP": "None", "selector": labels},
    }


def _created(given: DisaggregatedSet, child: Child) -> Create:
    return Create(
        resource=SERVICES,
        namespace=given.metadata.namespace,
        name=service_name(child.name),
        body=msgspec.json.encode(service_body(given, child), order="sorted"),
        does=Does.CREATE_SERVICE,
        scope=given.metadata.uid,
        refusable=True,
        contested=True,
    )
