"""Evictions are answered as kube-apiserver 1.36.4 answered them: codes, sentences, and what is left of budgets."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubeloop.request import MERGE_PATCH, Request, Response
from kubesim.cluster import Cluster
from kubesim.kinds.registry import DISRUPTION_BUDGETS, PODS
from kubesim.store.versions import Author, Tree
from kubesim.time import run

PLACE = "/api/v1/namespaces/default/pods"
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


class Desk:
    """A cluster without controllers: the status of a budget is what a test says."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self._transport = self.cluster.transport()

    def pod(self, *, ready: bool = True, phase: str = "Running") -> Tree:
        tree = {"metadata": {"name": "p", "labels": {"app": "x"}}}
        spec = {"containers": [{"name": "c", "image": "i:1"}], "terminationGracePeriodSeconds": 0}
        self.cluster.verbs.create(PODS, "default", tree | {"spec": spec}, user="tester")
        condition = {"type": "Ready", "status": "True" if ready else "False"}
        body = msgspec.json.encode({"status": {"phase": phase, "conditions": [condition]}})
        place = PODS, "default", "p", MERGE_PATCH, body
        return self.cluster.verbs.patch(*place, subresource="status", user="tester")

    def budget(self, name: str = "b", policy: str = "", **status: Any) -> None:
        spec: Tree = {"selector": {"matchLabels": {"app": "x"}}, "minAvailable": 1}
        if policy:
            spec["unhealthyPodEvictionPolicy"] = policy
        self.cluster.verbs.create(
            DISRUPTION_BUDGETS, "default", {"metadata": {"name": name}, "spec": spec}, user="tester"
        )
        table = self.cluster.store.table(DISRUPTION_BUDGETS)
        old = table.live["default", name]
        counted = {"observedGeneration": 1, "currentHealthy": 1, "desiredHealthy": 1} | status
        table.write(old.tree() | {"status": counted}, old, Author("tester", "update"))

    def left(self) -> Tree:
        status: Tree = self.cluster.get(DISRUPTION_BUDGETS, "default", "b")["status"]
        return status

    def is_there(self) -> bool:
        return ("default", "p") in self.cluster.store.table(PODS).live

    async def evict(self, options: Tree | None = None, **query: str) -> tuple[int, Tree, Response]:
        eviction: Tree = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        if options is not None:
            eviction["deleteOptions"] = options
        body = msgspec.json.encode(eviction)
        answer = await self._transport.send(Request("POST", f"{PLACE}/p/eviction", tuple(query.items()), body))
        return answer.status, msgspec.json.decode(answer.body), answer


def causes(answer: Tree) -> list[Tree]:
    found: list[Tree] = answer["details"]["causes"]
    return found


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"desiredHealthy": 2}, "The disruption budget b needs 2 healthy pods and has 1 currently"),
        ({"currentHealthy": 3}, "The disruption budget b does not allow evicting pods currently"),
        (
            {"currentHealthy": 3, "conditions": [{"reason": "Other", "message": "held"}]},
            "The disruption budget b does not allow evicting pods currently (Other): held",
        ),
        (
            {"desiredHealthy": 2, "conditions": [{"reason": "SyncFailed", "message": "no scale"}]},
            "The disruption budget b does not allow evicting pods currently because it failed sync: no scale",
        ),
    ],
)
def test_an_exhausted_budget_refuses_and_says_why(status: Tree, why: str) -> None:
    said = [{"type": "DisruptionAllowed", "status": "False"} | each for each in status.get("conditions", [])]

    async def script() -> None:
        desk = Desk()
        desk.pod()
        desk.budget(**(status | {"disruptionsAllowed": 0, "conditions": said}))

        code, answer, response = await desk.evict()

        assert (code, answer["reason"], answer["message"]) == (429, "TooManyRequests", REFUSED)
        assert causes(answer) == [{"reason": "DisruptionBudget", "message": why}]
        assert "retryAfterSeconds" not in answer["details"]
        assert "retry-after" not in {key.lower() for key in response.headers}
        assert desk.is_there()

    run(script())


def test_a_budget_that_is_not_processed_yet_asks_to_come_again() -> None:
    async def script() -> None:
        desk = Desk()
        desk.pod()
        desk.budget(disruptionsAllowed=1, observedGeneration=0)

        code, answer, _ = await desk.evict()

        assert (code, answer["details"]["retryAfterSeconds"]) == (429, 10)
        assert causes(answer)[0]["message"] == "The disruption budget b is still being processed by the server."

    run(script())


@pytest.mark.parametrize(("allowed", "reason"), [(2, "SufficientPods"), (1, "InsufficientPods")])
def test_an_eviction_takes_one_disruption(allowed: int, reason: str) -> None:
    """The condition is written only when it was the last."""
    condition = {"type": "DisruptionAllowed", "status": "True", "reason": "SufficientPods", "message": ""}

    async def script() -> None:
        desk = Desk()
        desk.pod()
        desk.budget(disruptionsAllowed=allowed, conditions=[condition])

        code, answer, _ = await desk.evict()

        assert code == 201
        assert answer == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        assert desk.left()["disruptionsAllowed"] == allowed - 1
        assert list(desk.left()["disruptedPods"]) == ["p"]
        assert [each["reason"] for each in desk.left()["conditions"]] == [reason]
        assert not desk.is_there()

    run(script())


@pytest.mark.parametrize(
    ("options", "query"),
    [(None, {"dryRun": "All"}), ({"dryRun": ["All"]}, {}), ({"dryRun": ["All"]}, {"dryRun": "All"})],
)
def test_a_dry_run_leaves_everything_as_it_is(options: Tree | None, query: dict[str, str]) -> None:
    async def script() -> None:
        desk = Desk()
        desk.pod()
        desk.budget(disruptionsAllowed=1)
        revision = desk.cluster.store.revision

        code, _, _ = await desk.evict(options, **query)

        assert code == 201
        assert desk.cluster.store.revision == revision

    run(script())


@pytest.mark.parametrize(
    ("options", "query", "code", "message"),
    [
        (
            {"dryRun": ["x"]},
            {"dryRun": "All"},
            500,
            "Non-matching dry-run options in request and content: [All] and [x]",
        ),
        (
            {"dryRun": ["x"]},
            {},
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"',
        ),
        (
            {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
            {},
            422,
            (
                'Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: '
                "Invalid value: true: can not be set for pod eviction, try after removing the option"
            ),
        ),
        (
            {"preconditions": {"resourceVersion": "1"}},
            {},
            409,
            (
                'Operation cannot be fulfilled on Pod "p": the ResourceVersion in the precondition (1) does not match '
                "the ResourceVersion in record ({version}). The object might have been modified"
            ),
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(options: Tree, query: dict[str, str], code: int, message: str) -> None:
    async def script() -> None:
        desk = Desk()
        version = desk.pod()["metadata"]["resourceVersion"]
        desk.budget(disruptionsAllowed=1)

        found, answer, _ = await desk.evict(options, **query)

        assert (found, answer["message"]) == (code, message.replace("{version}", version))
        assert desk.is_there()

    run(script())


def test_what_a_failed_eviction_has_taken_stays_taken() -> None:
    """The controller gives it back when the pod is not seen to go."""

    async def script() -> None:
        desk = Desk()
        desk.pod()
        desk.budget(disruptionsAllowed=1)

        await desk.evict({"preconditions": {"uid": "another"}})

        assert (desk.left()["disruptionsAllowed"], list(desk.left()["disruptedPods"])) == (0, ["p"])

    run(script())


@pytest.mark.parametrize(
    ("policy", "healthy", "code"),
    [("", 1, 201), ("", 0, 429), ("IfHealthyBudget", 0, 429), ("AlwaysAllow", 0, 201)],
)
def test_a_pod_that_is_not_ready_goes_if_nobody_is_hurt(policy: str, healthy: int, code: int) -> None:
    """Without taking a disruption, and whatever version the caller meant: the pod is the one that was looked at."""

    async def script() -> None:
        desk = Desk()
        desk.pod(ready=False)
        desk.budget(policy=policy, disruptionsAllowed=0, currentHealthy=healthy)

        found, _, _ = await desk.evict({"preconditions": {"resourceVersion": "1"}})

        assert found == code
        assert "disruptedPods" not in desk.left()

    run(script())


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
def test_a_pod_that_serves_nobody_needs_no_budget(phase: str) -> None:
    async def script() -> None:
        desk = Desk()
        desk.pod(phase=phase)
        desk.budget(disruptionsAllowed=0)

        code, _, _ = await desk.evict()

        assert code == 201
        assert not desk.is_there()

    run(script())


def test_two_budgets_are_one_too_many() -> None:
    async def script() -> None:
        desk = Desk()
        desk.pod()
        desk.budget()
        desk.budget("second")

        code, answer, _ = await desk.evict()

        assert (code, "reason" in answer, "details" in answer) == (500, False, False)
        assert answer["message"] == (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )

    run(script())
