"""Acceptance scenarios 36 to 39 of the zone contract: disruption budgets, on both clusters, by their numbers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.kinds import READY_TIME
from kubeloop.calls import Call
from kubeloop.errors import ApiError
from kubeloop.objects.core import PODS
from kubeloop.request import MERGE_PATCH, Request, path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.downscaling import Answered, ask, prepared
from tests.e2e.evicting import a_guarded_zone, budget, define_budgets, evict, going
from tests.e2e.history import Tree
from tests.e2e.operators import LOOK_EVERY, Operator
from tests.e2e.zones import PREFIX, Play, begin, change

REGEX = ".*-zone-[a-z]-([0-9]+)"
SEEDS = tuple(range(5))
INVALID: dict[str, Tree] = {
    "maxUnavailable": {"maxUnavailable": -1},
    "maxUnavailablePercentage": {"maxUnavailablePercentage": 10, "podNamePartitionRegex": REGEX},
    "podNamePartitionRegex": {"podNamePartitionRegex": "zone-[a-z]"},
    "crossZoneEvictionDelay": {"crossZoneEvictionDelay": "5m"},
    "maxUnavailable, of both numbers,": {"maxUnavailable": 1, "maxUnavailablePercentage": 10},
}
"""By the field that is to be named."""
UNKNOWN_TO_RE2 = {"podNamePartitionRegex": "(zone)(?=a)"}


async def guarded(site: Site, letters: str = "ab", **spec: Any) -> Play:
    """Zones under a budget, and the operator at work, its webhooks asked about evictions and budgets."""
    await define_budgets(site)
    for letter in letters:
        await a_guarded_zone(site, letter)
    await site.create(ZPDBS, budget(**spec))
    return await prepared(site, "pod-eviction", "zpdb-validation")


@everywhere(controllers=False)
async def test_36_zpdb_zone_mode(site: Site) -> None:
    play = await guarded(site, "abc", maxUnavailable=1)

    first, sibling, elsewhere = [await evict(site, pod) for pod in ("a-0", "a-1", "b-0")]

    assert first.status == 201
    assert (sibling.status, elsewhere.status) == (429, 429)
    assert sibling.text.endswith(f"denied the request: 1 pod not ready in {PREFIX}a")
    assert elsewhere.text.endswith(f"denied the request: 1 pod not ready in {PREFIX}a")
    await site.history.caught_up()
    assert going(site) == ["a-0"]
    counts = [("allowed", "200", 1.0), ("denied", "429", 2.0)]
    for reason, status, count in counts:
        assert play.operator.sample("zpdb_eviction_requests_total", reason=reason, status=status) == count


@everywhere(controllers=False)
async def test_36_zpdb_zone_mode_with_two(site: Site) -> None:
    """A larger budget is for one zone as well."""
    await guarded(site, maxUnavailable=2)

    first, sibling, elsewhere, third = [await evict(site, pod) for pod in ("a-0", "a-1", "b-0", "a-2")]

    assert (first.status, sibling.status, elsewhere.status, third.status) == (201, 201, 429, 429)
    assert elsewhere.text.endswith(f"denied the request: 2 pods not ready in {PREFIX}a")
    assert third.text.endswith(f"denied the request: 2 pods not ready in {PREFIX}a")


@everywhere(controllers=False)
async def test_36_budget_that_is_raised_holds_at_once(site: Site) -> None:
    await guarded(site, maxUnavailable=1)
    assert [(await evict(site, pod)).status for pod in ("a-0", "a-1")] == [201, 429]

    await change(site, ZPDBS, "budget", {"spec": {"maxUnavailable": 2}})

    async def allowed() -> bool:
        return (await evict(site, "a-1")).status == 201

    await site.until(allowed, every=LOOK_EVERY)
    assert (await evict(site, "b-0")).status == 429


@everywhere(controllers=False, long=True)
async def test_36_pods_that_do_not_exist_count_as_unknown(site: Site) -> None:
    await guarded(site, maxUnavailable=1)
    await site.client.call(
        Request("DELETE", path_of(PODS, site.namespace, f"{PREFIX}b-1"), query=(("gracePeriodSeconds", "0"),))
    )

    denied = await evict(site, "a-0")

    assert denied.status == 429
    assert denied.text.endswith(f"denied the request: 1 pod unknown in {PREFIX}b")


@everywhere(controllers=False)
async def test_37_zpdb_partition_mode(site: Site) -> None:
    await guarded(site, maxUnavailable=1, podNamePartitionRegex=REGEX)

    first, other, same = [await evict(site, pod) for pod in ("a-0", "b-1", "b-0")]

    assert (first.status, other.status, same.status) == (201, 201, 429)
    assert same.text.endswith("denied the request: 1 pod not ready in partition 0")


@everywhere(controllers=False)
@pytest.mark.parametrize("options", [None, {"dryRun": ["All"]}], ids=["of the request", "of the eviction itself"])
async def test_evictions_on_trial_leave_no_trace(site: Site, options: Tree | None) -> None:
    """Nothing goes, and nobody is held back by what did not go."""
    await guarded(site, maxUnavailable=1)

    tried = await evict(site, "a-0", dry_run=options is None, options=options)
    allowed = await evict(site, "b-0")

    assert (tried.status, allowed.status) == (201, 201)
    await site.history.caught_up()
    assert going(site) == ["b-0"]
    denied = await evict(site, "a-0", dry_run=options is None, options=options)
    assert denied.status == 429
    assert denied.text.endswith(f"1 pod not ready in {PREFIX}b")


@everywhere(controllers=False, seeds=SEEDS)
@pytest.mark.parametrize("most", [1, 2])
async def test_evictions_by_many_at_once_stay_within_one_zone(site: Site, most: int) -> None:
    await guarded(site, "abc", maxUnavailable=most)
    pods = [f"{letter}-{ordinal}" for ordinal in range(3) for letter in "abc"]

    answers = await asyncio.gather(*(evict(site, pod, client=site.client_as("admin")) for pod in pods))

    statuses = [answer.status for answer in answers]
    assert set(statuses) == {201, 429}
    assert statuses.count(201) <= most
    await site.history.caught_up()
    gone = going(site)
    assert gone == sorted(pod for pod, status in zip(pods, statuses, strict=True) if status == 201)
    assert len({pod[0] for pod in gone}) == 1


@everywhere(controllers=False, seeds=SEEDS)
async def test_evictions_by_two_clients_at_once_take_one_peer_of_a_partition(site: Site) -> None:
    await guarded(site, maxUnavailable=1, podNamePartitionRegex=REGEX)
    pods = ("a-0", "b-0", "a-1", "b-1")

    answers = await asyncio.gather(*(evict(site, pod, client=site.client_as("admin")) for pod in pods))

    assert {answer.status for answer in answers} == {201, 429}
    await site.history.caught_up()
    gone = going(site)
    assert len({pod[-1] for pod in gone}) == len(gone)


@everywhere(controllers=False)
async def test_38_zpdb_validation(site: Site) -> None:
    """Refused with 400 in words that name the field; what the definition refuses already gets 422."""
    await define_budgets(site)
    await a_guarded_zone(site, "a")
    await prepared(site, "zpdb-validation")

    for field, spec in (*INVALID.items(), ("podNamePartitionRegex", UNKNOWN_TO_RE2)):
        refused = await create_budget(site, budget(**spec))

        assert refused.status == (422 if -1 in spec.values() else 400), spec
        assert f"spec.{field.partition(',')[0]}" in refused.text

    good = budget(podNamePartitionRegex=REGEX, crossZoneEvictionDelay="5m")
    assert (await create_budget(site, good)).status == 201
    body = msgspec.json.encode({"spec": {"podNamePartitionRegex": None}})
    path = path_of(ZPDBS, site.namespace, "budget")
    changed = await ask(site.client, Request("PATCH", path, body=body, content_type=MERGE_PATCH))
    assert changed.status == 400
    assert "spec.crossZoneEvictionDelay" in changed.text


@everywhere(controllers=False)
async def test_38_zpdb_validation_called_directly(site: Site) -> None:
    await define_budgets(site)
    operator = Operator(site)
    await begin(site, operator)
    await site.until(lambda: operator.ready, every=LOOK_EVERY)

    for field, spec in INVALID.items():
        response = await reviewed(operator, budget(**spec))

        assert response["allowed"] is False, spec
        assert response["status"]["code"] == 400
        assert f"spec.{field.partition(',')[0]}" in response["status"]["message"]
    assert (await reviewed(operator, budget()))["allowed"] is True


async def create_budget(site: Site, tree: Tree) -> Answered:
    try:
        await site.create(ZPDBS, tree)
    except ApiError as error:
        return Answered(error.status, str(error))
    return Answered(201)


async def reviewed(operator: Operator, tree: Tree) -> Tree:
    """The webhook's own answer."""
    named = {"apiVersion": ZPDBS.api_version, "kind": ZPDBS.kind, **tree}
    resource = {"group": ZPDBS.group, "version": ZPDBS.version, "resource": ZPDBS.plural}
    request = {"uid": "u", "operation": "CREATE", "resource": resource, "object": named}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    headers = (("Content-Type", "application/json"),)
    call = Call(method="POST", url="/admission/zpdb-validation", headers=headers, body=msgspec.json.encode(review))
    reply = await operator.webhooks(call)
    assert reply.status == 200
    response: Tree = msgspec.json.decode(reply.body)["response"]
    return response


@everywhere(controllers=False)
async def test_39_zpdb_and_rollout(site: Site) -> None:
    """A budget of zero stops evictions; an outdated zone still rolls by its own budget."""
    await define_budgets(site)
    await a_guarded_zone(site, "a", revision="old", max_unavailable="2")
    await a_guarded_zone(site, "b")
    await site.create(ZPDBS, budget(maxUnavailable=0))
    play = await prepared(site, "pod-eviction", "zpdb-validation")

    await site.until(lambda: len(play.deletions) >= 2, following=[PODS])
    denied = [await evict(site, pod) for pod in ("a-2", "b-0")]
    await play.rest()

    assert play.deletions == ["a-0", "a-1"]
    assert play.operator.sample("zpdb_eviction_requests_total", reason="allowed", status="200") == 2
    assert [answer.status for answer in denied] == [403, 403]
    assert all(answer.text.endswith("denied the request: max unavailable = 0") for answer in denied)
    assert play.operator.failures() == 0


@everywhere(controllers=False, long=True)
async def test_39_budget_above_zero_holds_for_the_rollout_as_well(site: Site) -> None:
    """The zone may lose two pods by its own budget, and one by the other."""
    await define_budgets(site)
    await a_guarded_zone(site, "a", revision="old", max_unavailable="2")
    await a_guarded_zone(site, "b")
    await site.create(ZPDBS, budget(maxUnavailable=1))
    play = await begin(site)

    await play.rest()

    assert play.deletions == ["a-0"]
    assert play.operator.failures() == 0
    counted = {
        reason: play.operator.sample("zpdb_eviction_requests_total", reason=reason, status=status) or 0
        for reason, status in (("allowed", "200"), ("denied", "429"))
    }
    assert counted["allowed"] == 1, "the pods that the rollout asks for are counted like those of others"
    assert counted["denied"] >= 1


@everywhere(controllers=False)
async def test_pods_in_scope_are_stamped_with_the_time_since_when_they_are_ready(site: Site) -> None:
    await define_budgets(site)
    for letter in "ab":
        await a_guarded_zone(site, letter)
    await site.create(ZPDBS, budget())
    await begin(site)

    def stamps() -> list[str | None]:
        pods = site.history.objects(PODS).values()
        return [(pod["metadata"].get("annotations") or {}).get(READY_TIME) for pod in pods]

    await site.until(lambda: len(stamps()) == 6 and all(stamps()), following=[PODS])
