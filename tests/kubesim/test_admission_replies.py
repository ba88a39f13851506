"""What webhooks answer, and what becomes of answers that are none."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubesim.cluster import Cluster
from kubesim.store.versions import Tree
from tests.kubesim.hooks import (
    CONFIGURATIONS,
    HOST,
    MAPS,
    Recorder,
    a_hook,
    a_map,
    answering,
    configure,
    message,
    on_a_cluster,
    patching,
    send,
)
from tests.kubesim.test_admission import LABEL


@pytest.mark.parametrize(
    ("patch", "says"),
    [
        (
            [{"op": "remove", "path": "/nowhere"}],
            "error in remove for path: '/nowhere': Unable to remove nonexistent key: nowhere: missing value",
        ),
        (
            [{"op": "add", "path": "/data/c", "value": "1"}, {"op": "add", "path": "/a/b", "value": "1"}],
            'add operation does not apply: doc is missing path: "/a/b": missing value',
        ),
        (
            [{"op": "replace", "path": "/none/a", "value": "1"}],
            "replace operation does not apply: doc is missing path: /none/a: missing value",
        ),
        ({"op": "add"}, "received undecodable patch in webhook response"),
    ],
)
def test_a_patch_that_is_none_is_an_internal_error(patch: Any, says: str) -> None:
    body = base64.b64encode(json.dumps(patch).encode()).decode()
    hook = Recorder(one={"patchType": "JSONPatch", "patch": body})

    async def script(cluster: Cluster) -> tuple[int, str]:
        cluster.network.serve(HOST, hook)
        await configure(cluster, "mutating", "m", a_hook())
        answer = await send(cluster, "POST", MAPS, a_map("a"))
        return answer.status, message(answer)

    status, text = on_a_cluster(script)

    assert status == 500
    assert says in text


def test_there_is_nothing_to_patch_in_a_deletion() -> None:
    hook = Recorder(one=patching(LABEL))

    async def script(cluster: Cluster) -> str:
        cluster.network.serve(HOST, hook)
        await send(cluster, "POST", MAPS, a_map("a"))
        await configure(cluster, "mutating", "m", a_hook())
        return message(await send(cluster, "DELETE", f"{MAPS}/a"))

    assert on_a_cluster(script) == (
        'Internal error occurred: admission webhook "one.example.com" attempted to modify the object, '
        "which is not supported for this operation"
    )


@pytest.mark.parametrize(
    ("version", "response", "status", "says"),
    [
        ("v1", {"allowed": True, "patch": "W10="}, 500, "validating webhook may not return response.patch"),
        ("v1beta1", {"allowed": True, "patch": "W10="}, 201, ""),
        ("v1", {"uid": "other"}, 500, "expected response.uid="),
        ("v1beta1", {"uid": "other"}, 201, ""),
    ],
)
def test_both_versions_of_reviews_are_spoken(version: str, response: Tree, status: int, says: str) -> None:
    async def script(cluster: Cluster) -> tuple[int, str]:
        cluster.network.serve(HOST, answering(lambda _: response))
        await configure(cluster, "validating", "v", a_hook(admissionReviewVersions=["v9", version]))
        answer = await send(cluster, "POST", MAPS, a_map("a"))
        return answer.status, message(answer)

    found, text = on_a_cluster(script)

    assert found == status
    assert says in text


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(200, b"{}"), "webhook response was absent"),
        (Reply(200, b""), "0-length response with status code: 200 and content type: "),
        (Reply(200, b"no JSON"), "json: cannot unmarshal string into Go value"),
        (Reply(200, b'{"kind":"Pod","apiVersion":"v1"}'), 'no kind "Pod" is registered for version "v1" in scheme'),
        (Reply(200, b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}'), "webhook response was absent"),
        (Reply(404), "the server could not find the requested resource"),
        (Reply(302), "the server responded with the status code 302"),
        (Reply(403, b'{"kind":"Status","message":"who are you"}'), "who are you"),
    ],
)
def test_an_answer_that_is_none_counts_as_failure(reply: Reply, says: str) -> None:
    async def handler(_call: Call) -> Reply:
        return reply

    async def script(cluster: Cluster) -> list[tuple[int, str]]:
        cluster.network.serve(HOST, handler)
        answers = []
        for policy in ("Fail", "Ignore"):
            await configure(cluster, "validating", policy.lower(), a_hook(failurePolicy=policy))
            answers.append(await send(cluster, "POST", MAPS, a_map("a")))
            await send(cluster, "DELETE", f"{CONFIGURATIONS}/validatingwebhookconfigurations/{policy.lower()}")
        return [(answer.status, message(answer)) for answer in answers]

    (failed, text), (ignored, _) = on_a_cluster(script)

    assert (failed, ignored) == (500, 201)
    assert text.startswith('Internal error occurred: failed calling webhook "one.example.com": ')
    assert says in text


def test_a_webhook_that_cannot_be_reached_in_time_has_failed() -> None:
    async def hanging(_call: Call) -> Reply:
        await asyncio.Event().wait()
        return Reply(200)

    async def script(cluster: Cluster) -> tuple[str, float, str]:
        await configure(cluster, "validating", "v", a_hook(timeoutSeconds=3))
        unknown = message(await send(cluster, "POST", MAPS, a_map("a")))
        cluster.network.serve(HOST, hanging)
        start = clock.monotonic()
        late = message(await send(cluster, "POST", MAPS, a_map("a")))
        return unknown, clock.monotonic() - start, late

    unknown, seconds, late = on_a_cluster(script)

    assert 'Post "https://hook.default.svc/one?timeout=3s": no such host' in unknown
    assert (seconds, 'svc/one?timeout=3s": context deadline exceeded' in late) == (3.0, True)


def test_a_service_is_called_at_its_name_in_the_cluster() -> None:
    seen: list[tuple[str, list[str]]] = []

    async def handler(call: Call) -> Reply:
        seen.append((call.url, call.header("host")))
        return await answering(lambda _: {})(call)

    async def script(cluster: Cluster) -> int:
        cluster.network.serve("hook.prod.svc:8443", handler)
        service = {"name": "hook", "namespace": "prod", "path": "/review", "port": 8443}
        await configure(cluster, "validating", "v", a_hook(clientConfig={"service": service}))
        return (await send(cluster, "POST", MAPS, a_map("a"))).status

    assert on_a_cluster(script) == 201
    assert seen == [("/review?timeout=10s", ["hook.prod.svc:8443"])]


def test_the_callers_authority_is_that_of_the_configuration() -> None:
    calls: list[Call] = []

    async def caller(call: Call) -> Reply:
        calls.append(call)
        return await answering(lambda _: {})(call)

    async def script(cluster: Cluster) -> int:
        config = {"url": "https://hook/", "caBundle": base64.b64encode(b"PEM").decode()}
        await configure(cluster, "validating", "v", a_hook(clientConfig=config))
        return (await send(cluster, "POST", MAPS, a_map("a"))).status

    assert on_a_cluster(script, caller=caller) == 201
    assert (calls[0].authority, calls[0].timeout, calls[0].header("content-type")) == (
        b"PEM",
        10.0,
        ["application/json"],
    )
