"""The optimistic write loop: what happens to a write when its object changes while webhooks are asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeloop import clock
from kubeloop.request import Response
from kubesim.api.writer import Writer
from kubesim.auth.rbac import user_of
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS, DISRUPTION_BUDGETS, LEASES
from kubesim.kinds.registry import PODS as POD_KIND
from kubesim.store.versions import Author, Tree
from kubesim.writes.storing import ROUNDS
from tests.kubesim.hooks import (
    HOST,
    MAPS,
    PODS,
    a_hook,
    a_map,
    a_pod,
    a_rule,
    answering,
    configure,
    decoded,
    message,
    on_a_cluster,
    send,
)

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
Meddle = Callable[[Cluster, int], Awaitable[None] | None]


class Reviews:
    """A webhook during whose reviews the test meddles with the cluster; `meddle` gets the number of the review."""

    def __init__(self, meddle: Meddle) -> None:
        self.seen: list[Tree] = []
        self._meddle = meddle

    async def install(self, cluster: Cluster, rule: Tree) -> None:
        async def review(request: Tree) -> Tree:
            self.seen.append(request)
            await asyncio.sleep(1)
            meddled = self._meddle(cluster, len(self.seen))
            if meddled is not None:
                await meddled
            return {}

        cluster.network.serve(HOST, answering(review))
        await configure(cluster, "validating", "v", a_hook("one", rule))


def annotate(cluster: Cluster, number: int, *, times: int = 1) -> None:
    """As a controller would, past all webhooks."""
    if number <= times:
        tree = cluster.verbs.read(CONFIG_MAPS, "default", "shared")
        tree["metadata"]["annotations"] = {"by": str(number)}
        cluster.verbs.update(CONFIG_MAPS, "default", "shared", tree, user="somebody")


def played(
    meddle: Meddle, method: str, path: str, body: object = None, rule: Tree | None = None
) -> tuple[Response, Reviews, Cluster]:
    """One request to a cluster with a map that is meddled with during its reviews."""
    reviews = Reviews(meddle)

    async def script(cluster: Cluster) -> tuple[Response, Reviews, Cluster]:
        await send(cluster, "POST", MAPS, a_map("shared"))
        await reviews.install(cluster, rule or a_rule())
        return await send(cluster, method, path, body), reviews, cluster

    answer: tuple[Response, Reviews, Cluster] = on_a_cluster(script)
    return answer


def test_a_patch_is_made_again_from_the_newest_object() -> None:
    answer, reviews, _ = played(annotate, "PATCH", f"{MAPS}/shared", {"data": {"key": "patched"}})

    assert answer.status == 200
    tree = decoded(answer)
    assert (tree["data"], tree["metadata"]["annotations"]) == ({"key": "patched"}, {"by": "1"})
    assert len(reviews.seen) == 2
    assert reviews.seen[0]["uid"] != reviews.seen[1]["uid"]
    assert reviews.seen[1]["oldObject"]["metadata"]["annotations"] == {"by": "1"}


def test_what_does_not_stop_changing_ends_in_a_conflict_or_a_time_out() -> None:
    """Both bounds: so many rounds, and the time of a request."""

    def always(cluster: Cluster, number: int) -> None:
        annotate(cluster, number, times=number)

    late, reviews, _ = played(always, "PATCH", f"{MAPS}/shared", {"data": {"key": "patched"}})

    assert (late.status, message(late)) == (
        504,
        "Timeout: request did not complete within requested timeout - context deadline exceeded",
    )
    assert len(reviews.seen) == 34, "one a second"

    async def script(cluster: Cluster) -> tuple[Response, int]:
        asked = 0

        def at_once(_request: Tree) -> Tree:
            nonlocal asked
            asked += 1
            annotate(cluster, asked, times=asked)
            return {}

        await send(cluster, "POST", MAPS, a_map("shared"))
        cluster.network.serve(HOST, answering(at_once))
        await configure(cluster, "validating", "v", a_hook())
        return await send(cluster, "PATCH", f"{MAPS}/shared", {"data": {"key": "patched"}}), asked

    conflict, asked = on_a_cluster(script)
    assert (conflict.status, asked) == (409, ROUNDS)


def test_a_replacement_without_a_version_wins_over_a_change_meanwhile() -> None:
    answer, reviews, _ = played(annotate, "PUT", f"{MAPS}/shared", a_map("shared") | {"data": {"key": "mine"}})

    assert answer.status == 200
    assert (decoded(answer)["data"], len(reviews.seen)) == ({"key": "mine"}, 2)


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_write_that_names_its_version_is_refused_after_a_change_meanwhile(method: str) -> None:
    reviews = Reviews(annotate)

    async def script(cluster: Cluster) -> tuple[Response, Tree]:
        made = decoded(await send(cluster, "POST", MAPS, a_map("shared")))
        await reviews.install(cluster, a_rule())
        answer = await send(cluster, method, f"{MAPS}/shared", made | {"data": {"key": "mine"}})
        return answer, decoded(await send(cluster, "GET", f"{MAPS}/shared"))

    answer, left = on_a_cluster(script)

    assert (answer.status, decoded(answer)["reason"]) == (409, "Conflict")
    assert left["data"] == {"key": "value"}
    assert len(reviews.seen) == 1


def test_a_patch_of_what_is_gone_meanwhile_is_not_found() -> None:
    def gone(cluster: Cluster, number: int) -> None:
        cluster.verbs.delete(CONFIG_MAPS, "default", "shared", user="somebody")

    answer, reviews, _ = played(gone, "PATCH", f"{MAPS}/shared", {"data": {"key": "patched"}})

    assert answer.status == 404
    assert len(reviews.seen) == 1


def test_a_change_that_changes_nothing_is_reviewed_and_not_stored() -> None:
    answer, reviews, cluster = played(
        lambda _cluster, _number: None, "PATCH", f"{MAPS}/shared", {"data": {"key": "value"}}
    )

    assert (answer.status, len(reviews.seen)) == (200, 1)
    assert (
        decoded(answer)["metadata"]["resourceVersion"]
        == cluster.get(CONFIG_MAPS, "default", "shared")["metadata"]["resourceVersion"]
    )


def test_of_two_creations_of_one_name_one_is_refused() -> None:
    reviews = Reviews(lambda _cluster, _number: None)

    async def script(cluster: Cluster) -> list[int]:
        await reviews.install(cluster, a_rule())
        answers = await asyncio.gather(*(send(cluster, "POST", MAPS, a_map("twice")) for _ in range(2)))
        return sorted(answer.status for answer in answers)

    assert on_a_cluster(script) == [201, 409]


def test_a_name_that_is_being_deleted_is_not_free_yet() -> None:
    async def script(cluster: Cluster) -> str:
        held = a_map("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        await send(cluster, "POST", MAPS, held)
        await send(cluster, "DELETE", f"{MAPS}/held")
        return message(await send(cluster, "POST", MAPS, a_map("held")))

    assert on_a_cluster(script) == 'object is being deleted: configmaps "held" already exists'


def test_a_replacement_that_creates_becomes_a_change_when_somebody_was_faster() -> None:
    def faster(cluster: Cluster, number: int) -> None:
        if number == 1:
            tree = {"metadata": {"name": "mine"}, "spec": {"holderIdentity": "somebody"}}
            cluster.verbs.create(LEASES, "default", tree, user="somebody")

    body = {"metadata": {"name": "mine"}, "spec": {"holderIdentity": "me"}}
    answer, reviews, _ = played(faster, "PUT", f"{LEASE}/mine", body, a_rule("*", "leases"))

    assert answer.status == 422, "a lease must not be overwritten blindly"
    assert [asked["operation"] for asked in reviews.seen] == ["CREATE"]


def test_a_deletion_is_reviewed_again_after_a_change() -> None:
    answer, reviews, cluster = played(annotate, "DELETE", f"{MAPS}/shared")

    assert answer.status == 200
    assert [asked["oldObject"]["metadata"].get("annotations") for asked in reviews.seen] == [None, {"by": "1"}]
    assert not cluster.store.table(CONFIG_MAPS).live


def test_a_deletion_that_means_one_version_is_refused_after_a_change() -> None:
    reviews = Reviews(annotate)

    async def script(cluster: Cluster) -> int:
        made = decoded(await send(cluster, "POST", MAPS, a_map("shared")))
        await reviews.install(cluster, a_rule())
        meant = {"preconditions": {"resourceVersion": made["metadata"]["resourceVersion"]}}
        return (await send(cluster, "DELETE", f"{MAPS}/shared", meant)).status

    assert on_a_cluster(script) == 409
    assert len(reviews.seen) == 1


def test_a_pod_that_is_gone_between_the_steps_of_its_deletion_is_deleted() -> None:
    def gone(cluster: Cluster, number: int) -> None:
        if number == 2:
            cluster.verbs.delete(POD_KIND, "default", "p", grace=0, user="somebody")

    reviews = Reviews(gone)

    async def script(cluster: Cluster) -> int:
        await send(cluster, "POST", PODS, a_pod("p"))
        await reviews.install(cluster, a_rule("DELETE", "pods"))
        return (await send(cluster, "DELETE", f"{PODS}/p")).status

    assert on_a_cluster(script) == 200
    assert len(reviews.seen) == 2


def test_a_deletion_that_is_under_way_already_is_not_reviewed() -> None:
    reviews = Reviews(lambda _cluster, _number: None)

    async def script(cluster: Cluster) -> int:
        pod = a_pod("p")
        pod["spec"]["nodeName"] = "node"
        await send(cluster, "POST", PODS, pod)
        await send(cluster, "DELETE", f"{PODS}/p")
        await reviews.install(cluster, a_rule("DELETE", "pods"))
        return (await send(cluster, "DELETE", f"{PODS}/p")).status

    assert on_a_cluster(script) == 200
    assert reviews.seen == []


def test_without_configurations_a_write_takes_no_turn_of_the_loop() -> None:
    """A request in process gives way on its way in and out, and nowhere else."""

    async def script(cluster: Cluster) -> list[str]:
        order: list[str] = []

        async def other() -> None:
            order.append("other")

        handler = cluster.handler
        write = handler.verbs.writes.create(CONFIG_MAPS, "default", a_map("a"), user="admin")
        task = asyncio.create_task(other())
        writer = _writer(cluster)
        await writer.carried_out(write)
        order.append("written")
        await task
        return order

    assert on_a_cluster(script) == ["written", "other"]


def _writer(cluster: Cluster) -> Writer:
    return Writer(cluster.handler.admission, user_of("admin"))


@pytest.mark.parametrize(("allowed", "status"), [(1, 201), (0, 429), (-1, 403)])
def test_an_eviction_needs_a_disruption_that_is_left(allowed: int, status: int) -> None:
    async def script(cluster: Cluster) -> tuple[int, Tree]:
        pod = a_pod("p")
        pod["metadata"]["labels"] = {"app": "cart"}
        await send(cluster, "POST", PODS, pod)
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await send(cluster, "PATCH", f"{PODS}/p/status", {"status": ready})
        budget = {"metadata": {"name": "cart"}, "spec": {"selector": {"matchLabels": {"app": "cart"}}}}
        await send(cluster, "POST", BUDGETS, budget)
        counts = {"disruptionsAllowed": allowed, "observedGeneration": 1, "currentHealthy": 3, "desiredHealthy": 2}
        tree = cluster.store.table(DISRUPTION_BUDGETS).live["default", "cart"].tree() | {"status": counts}
        old = cluster.store.table(DISRUPTION_BUDGETS).live["default", "cart"]
        cluster.store.table(DISRUPTION_BUDGETS).write(tree, old, Author("test", "update"))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        answer = await send(cluster, "POST", f"{PODS}/p/eviction", eviction)
        return answer.status, cluster.get(DISRUPTION_BUDGETS, "default", "cart")["status"]

    found, left = on_a_cluster(script)

    assert found == status
    assert left["disruptionsAllowed"] == (0 if allowed == 1 else allowed)
    assert (left.get("disruptedPods") is not None) is (allowed == 1)


def test_two_budgets_for_one_pod_are_one_too_many() -> None:
    async def script(cluster: Cluster) -> str:
        pod = a_pod("p")
        pod["metadata"]["labels"] = {"app": "cart"}
        await send(cluster, "POST", PODS, pod)
        await send(cluster, "PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}})
        for name in ("a", "b"):
            body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": "cart"}}}}
            await send(cluster, "POST", BUDGETS, body)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        return message(await send(cluster, "POST", f"{PODS}/p/eviction", eviction))

    assert on_a_cluster(script).startswith("This pod has more than one PodDisruptionBudget")


def test_a_write_waits_for_its_webhooks_as_long_as_they_take() -> None:
    reviews = Reviews(lambda _cluster, _number: None)

    async def script(cluster: Cluster) -> float:
        await reviews.install(cluster, a_rule())
        start = clock.monotonic()
        await send(cluster, "POST", MAPS, a_map("a"))
        return clock.monotonic() - start

    assert on_a_cluster(script) == 1.0
