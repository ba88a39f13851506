"""The webhooks of an assembled operator, in virtual time: who answers, through which client, with which limit."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, ReadRecord, SwapRecord
from fairlead.engine.controller import RolloutKey, Telling
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.manager import Manager
from fairlead.engine.measured_calls import measured
from fairlead.engine.metrics import Metrics
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref, Resource
from kubesim.faults import Fault
from kubesim.time import run
from tests.engine.world import World, a_statefulset, play

VALIDATING = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False
)
HOST = "rollout-operator.test.svc"


def scale(old: int, new: int, name: str = "a") -> Call:
    """A review of a Scale, for which the parent has to be read."""

    def tree(replicas: int) -> dict[str, Any]:
        return {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": replicas}}

    request = {
        "uid": "u",
        "name": name,
        "namespace": "test",
        "operation": "UPDATE",
        "subResource": "scale",
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "object": tree(new),
        "oldObject": tree(old),
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return Call(
        method="POST",
        url="/admission/no-downscale",
        headers=(("Content-Type", "application/json"),),
        body=msgspec.json.encode(review),
    )


def at(path: str, call: Call) -> Call:
    return msgspec.structs.replace(call, url=path)


async def judged(handler: Handler, call: Call) -> dict[str, Any]:
    reply = await handler(call)
    assert reply.status == 200, reply
    response: dict[str, Any] = msgspec.json.decode(reply.body)["response"]
    return response


def test_every_webhook_of_the_contract_has_its_path() -> None:
    async def scenario(world: World) -> None:
        manager = await world.operator()

        assert sorted(manager.webhooks.routes) == [
            "/admission/no-downscale",
            "/admission/pod-eviction",
            "/admission/prepare-downscale",
            "/admission/zpdb-validation",
            "/pods/eviction",
        ]
        assert (await manager.webhooks.handler(Call(method="POST", url="/elsewhere"))).status == 404

    play(scenario)


def test_webhooks_answer_before_the_operator_runs_and_without_its_lease() -> None:
    async def scenario(world: World) -> None:
        await world.zone("a", "group")
        manager = await world.operator(lease="fairlead")

        answer = await judged(manager.webhooks.handler, scale(3, 2))

        assert answer["allowed"] is True
        assert "warnings" not in answer

    play(scenario)


def test_every_call_says_where_it_belongs() -> None:
    """The smallest of the namespaces served: one operator, one label."""

    async def scenario(world: World) -> None:
        async with world.operating(namespaces=("test", "other"), lease="fairlead") as manager:
            await judged(manager.webhooks.handler, scale(3, 2))

        labels = [dict(sent.headers).get("X-Cluster") for sent in world.requests]
        assert len(labels) > 5
        assert set(labels) == {"other"}

    play(scenario)


def reads(world: World) -> int:
    return sum(sent.method == "GET" and sent.path.endswith("/statefulsets/a") for sent in world.requests)


def test_live_reads_do_not_count_against_the_limit() -> None:
    async def scenario(world: World) -> None:
        await world.zone("a", "group")
        manager = await world.operator(qps=0.001, burst=1)

        answers = [await judged(manager.webhooks.handler, scale(3, 2)) for _ in range(5)]

        assert not any("warnings" in answer for answer in answers)
        assert reads(world) == 5

    play(scenario)


def test_a_component_that_has_used_up_its_share_leaves_the_others_theirs() -> None:
    async def scenario(world: World) -> None:
        await world.zone("a", "group")
        manager = await world.operator(qps=0.001, burst=3)
        write = Patch(does=Does.STAMP_DOWNSCALE, ref=Ref(STATEFULSETS, "test", "a"), kind=PatchKind.MERGE, body=b"{}")

        async def written(path: str) -> str:
            answer = await asker(manager.webhooks.routes[path]._outside)(write)  # type: ignore[attr-defined]
            return "" if isinstance(answer, Good) else answer.kind

        assert [await written("/admission/no-downscale") for _ in range(5)] == ["", "", "", "limited", "limited"]
        assert await written("/admission/prepare-downscale") == ""
        sample = "rollout_operator_kubernetes_api_client_rate_limited_requests_total"
        assert world.metrics.registry.get_sample_value(sample, {"api_group": "apps"}) == 2

    play(scenario)


def test_events_do_not_count_against_the_limit() -> None:
    async def scenario(world: World) -> None:
        manager = await world.operator(qps=1 / 3600, burst=1)
        recording = asyncio.create_task(manager._notes.run())
        for number in range(5):
            about = Ref(STATEFULSETS, "test", f"zone-{number}")
            manager._notes.tell(Telling(), EventNote(about, False, "PodTerminated", "deleted one"))
        await asyncio.sleep(1)
        recording.cancel()

        told = [sent for sent in world.requests if sent.method == "POST" and sent.path.endswith("/events")]
        assert len(told) == 5
        assert world.metrics.registry.get_sample_value("fairlead_events_dropped_total") == 0

    play(scenario)


async def marked(outside: AskContext) -> Answer:
    """What comes of a mark where there was none."""
    ask = asker(outside)
    seen = await ask(Ask(ReadRecord("mark")))
    assert isinstance(seen, Good)
    return await ask(Ask(SwapRecord("mark", seen.version, b"taken")))


def test_marks_are_shared_between_replicas_only_where_there_can_be_several() -> None:
    async def remembered(manager: Manager, other: Manager) -> bytes:
        """What another replica sees of a mark."""
        mine, theirs = (each.webhooks.routes["/admission/no-downscale"] for each in (manager, other))
        assert isinstance(await marked(mine._outside), Good)  # type: ignore[attr-defined]
        seen = await asker(theirs._outside)(Ask(ReadRecord("mark")))  # type: ignore[attr-defined]
        assert isinstance(seen, Good)
        return seen.value

    async def scenario(world: World) -> None:
        alone = [await world.operator() for _ in range(2)]
        several = [await world.operator(lease="fairlead") for _ in range(2)]

        assert await remembered(*alone) == b""
        assert await remembered(*several) == b"taken"
        leases = (await world.client.list(LEASES, msgspec.Raw, namespace="test")).items
        assert len(leases) == 1

    play(scenario)


def test_effects_of_rounds_pass_the_gate_of_the_lease_and_those_of_reviews_do_not() -> None:
    async def scenario(world: World) -> None:
        manager = await world.operator(lease="fairlead")
        (lane, *_) = manager._lanes
        of_reviews = manager.webhooks.routes["/admission/no-downscale"]._outside  # type: ignore[attr-defined]

        refused = await marked(lane.rounds._outside)
        assert isinstance(refused, Bad)
        assert refused.kind == "not-sent"
        assert isinstance(await marked(of_reviews), Good)

    play(scenario)


def configuration() -> dict[str, Any]:
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["statefulsets", "statefulsets/scale"],
    }
    webhook = {
        "name": "no-downscale.grafana.com",
        "clientConfig": {"url": f"https://{HOST}/admission/no-downscale"},
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
    }
    return {
        "apiVersion": VALIDATING.api_version,
        "kind": VALIDATING.kind,
        "metadata": {"name": "no-downscale"},
        "webhooks": [webhook],
    }


def test_a_cluster_calls_the_handler_and_tells_its_user_what_it_said() -> None:
    async def scenario(world: World) -> None:
        tree = a_statefulset("a", "group")
        tree["metadata"]["labels"]["grafana.com/no-downscale"] = "true"
        await world.create(STATEFULSETS, "test", tree)
        manager = await world.operator()
        world.cluster.network.serve(HOST, manager.webhooks.handler)
        await world.create(VALIDATING, "", configuration())

        await world.change(STATEFULSETS, "test", "a", {"spec": {"replicas": 4}})
        try:
            await world.change(STATEFULSETS, "test", "a", {"spec": {"replicas": 2}})
            denial = ""
        except ApiError as error:
            denial = str(error)

        assert "grafana.com/no-downscale=true" in denial
        assert "from 4 to 2 replicas" in denial
        assert world.cluster.get(STATEFULSETS, "test", "a")["spec"]["replicas"] == 4

    play(scenario)


def test_a_request_that_another_cluster_refuses_is_an_error_and_counted() -> None:
    async def scenario(world: World) -> None:
        await world.zone("a", "group")
        manager = await world.operator()
        world.fault = lambda sent: Fault("status", status=511) if "/statefulsets/a" in sent.path else None

        answer = await judged(manager.webhooks.handler, scale(3, 2))

        assert len(answer["warnings"]) == 1
        sample = "rollout_operator_client_invalid_cluster_validation_label_requests_total"
        labels = {"method": "apps/v1/statefulsets object", "protocol": "http", "request_cluster": "test"}
        assert world.metrics.registry.get_sample_value(sample, labels) == 1

    play(scenario)


def test_calls_to_pods_are_measured_by_path_method_and_status() -> None:
    metrics = Metrics()
    replies: list[Reply | NoReply] = [
        Reply(204),
        NoReply("gone"),
        Reply(511, b'{"cluster_validation_error_message": "m", "route": "prepare"}'),
    ]

    async def pods(_: Call) -> Reply:
        await asyncio.sleep(2)
        reply = replies.pop(0)
        if isinstance(reply, NoReply):
            raise reply
        return reply

    async def scenario() -> None:
        caller = measured(pods, metrics)
        sent = Call(method="POST", url="http://a-0.svc:80/prepare/now?x=y", headers=(("X-Cluster", "ns"),))
        for _ in range(len(replies)):
            try:
                await caller(sent)
            except NoReply:
                continue

    run(scenario())

    name = "rollout_operator_pod_http_client_request_duration_seconds_sum"
    for status in ("204", "error", "511"):
        labels = {"path": "/prepare/now", "method": "POST", "status_code": status}
        assert metrics.registry.get_sample_value(name, labels) == 2
    refused = {"method": "prepare", "protocol": "http", "request_cluster": "ns"}
    counted = "rollout_operator_client_invalid_cluster_validation_label_requests_total"
    assert metrics.registry.get_sample_value(counted, refused) == 1


def test_made_up_cluster_labels_do_not_fill_the_registry() -> None:
    metrics = Metrics()

    for number in range(1000):
        metrics.wrong_cluster("r", "ns", f"label-{number}")

    name = "rollout_operator_server_invalid_cluster_validation_label_requests_total"
    other = {"protocol": "http", "method": "r", "cluster_validation_label": "ns"}
    assert metrics.registry.get_sample_value(name, {**other, "request_cluster_validation_label": "label-99"}) == 1
    assert metrics.registry.get_sample_value(name, {**other, "request_cluster_validation_label": "label-100"}) is None
    assert metrics.registry.get_sample_value(name, {**other, "request_cluster_validation_label": "other"}) == 900


def test_routes_that_a_pod_makes_up_do_not_fill_the_registry() -> None:
    metrics = Metrics()
    names = [f"route-{number}" for number in range(1000)] + ["x" * 1000]

    async def pod(_: Call) -> Reply:
        return Reply(511, msgspec.json.encode({"cluster_validation_error_message": "m", "route": names.pop(0)}))

    async def scenario() -> None:
        caller = measured(pod, metrics)
        for _ in range(len(names)):
            await caller(Call(method="POST", url="http://a-0.svc/prepare", headers=(("X-Cluster", "ns"),)))

    run(scenario())

    name = "rollout_operator_client_invalid_cluster_validation_label_requests_total"
    other = {"protocol": "http", "request_cluster": "ns"}
    assert metrics.registry.get_sample_value(name, {**other, "method": "route-99"}) == 1
    assert metrics.registry.get_sample_value(name, {**other, "method": "route-100"}) is None
    assert metrics.registry.get_sample_value(name, {**other, "method": "other"}) == 901


def test_a_call_to_what_is_no_address_is_measured_like_any_that_failed() -> None:
    metrics = Metrics()

    async def nobody(_: Call) -> Reply:
        raise NoReply("no address")

    async def scenario() -> None:
        await measured(nobody, metrics)(Call(method="POST", url="http://[::1"))

    with pytest.raises(NoReply):
        run(scenario())

    name = "rollout_operator_pod_http_client_request_duration_seconds_count"
    labels = {"path": "other", "method": "POST", "status_code": "error"}
    assert metrics.registry.get_sample_value(name, labels) == 1


def test_a_mistake_in_one_call_is_an_error_in_the_log_and_the_pods_are_undone() -> None:
    """zones S11."""
    undone: list[str] = []

    async def pods(call: Call) -> Reply:
        if call.method == "DELETE":
            undone.append(call.header("Host")[0])
        elif call.header("Host")[0].startswith("a-2."):
            raise ZeroDivisionError
        return Reply(200)

    async def scenario(world: World) -> None:
        tree = a_statefulset("a", "group")
        tree["metadata"]["labels"]["grafana.com/prepare-downscale"] = "true"
        tree["metadata"]["annotations"] = {
            "grafana.com/prepare-downscale-http-path": "prepare",
            "grafana.com/prepare-downscale-http-port": "80",
        }
        tree["spec"] |= {"replicas": 3, "serviceName": "a"}
        await world.create(STATEFULSETS, "test", tree)
        manager = await world.operator()
        for ordinal in range(3):
            world.cluster.network.serve(f"a-{ordinal}.a.test.svc.cluster.local.", pods)

        answer = await judged(manager.webhooks.handler, at("/admission/prepare-downscale", scale(3, 0)))
        await manager.webhooks.afterwards.finished(60)

        assert not answer["allowed"]
        assert "a mistake of the operator (ZeroDivisionError)" in answer["status"]["message"]
        assert [host.partition(".")[0] for host in sorted(undone)] == ["a-0", "a-1", "a-2"]
        (said,) = world.log.of("asking failed by a mistake of the operator")
        assert isinstance(said["exc_info"], ZeroDivisionError)

    play(scenario)


def test_failed_calls_of_rounds_are_errors_in_the_log_with_the_rollout() -> None:
    async def scenario(world: World) -> None:
        manager = await world.operator()
        (lane, *_) = manager._lanes
        question = Ask(Http("POST", "http://nowhere.svc/prepare"), effect=True)
        lane.rounds._said.heard(RolloutKey(("test", "group")), "7", question, Bad("unreachable", "no such host"))

        (record,) = world.log.of("pod call failed")
        assert record["url"] == "http://nowhere.svc/prepare"
        assert (record["error"], record["rollout"], record["round"]) == ("no such host", "test/group", "7")

    play(scenario)


def test_pod_evictions_are_counted_by_the_row_that_answered() -> None:
    async def scenario(world: World) -> None:
        manager = await world.operator()
        await judged(manager.webhooks.handler, at("/admission/pod-eviction", scale(3, 2)))

        labels = {"reason": "invalid-request", "status": "400"}
        name = "rollout_operator_zpdb_eviction_requests_total"
        assert world.metrics.registry.get_sample_value(name, labels) == 1
        assert world.metrics.registry.get_sample_value("rollout_operator_zpdb_inflight_eviction_requests") == 0

    play(scenario)


def test_failure_policies_are_shown_as_they_are_when_somebody_looks() -> None:
    metrics = Metrics()
    policies = [("ValidatingWebhook", "a.example.org", "Fail", 1), ("ValidatingWebhook", "a.example.org", "Ignore", 0)]
    metrics.show_policies(lambda: policies)

    def sample(policy: str) -> float | None:
        labels = {"type": "ValidatingWebhook", "webhook": "a.example.org", "policy": policy}
        return metrics.registry.get_sample_value("kube_validating_webhook_failure_policy", labels)

    assert (sample("Fail"), sample("Ignore")) == (1, 0)
    policies.clear()
    assert sample("Fail") is None
