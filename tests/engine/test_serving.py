"""`/ready` and `/metrics` over real HTTP (zones section 2.4)."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.probes import PortBusy, probes, readiness
from kubeloop.calls import Call, Reply
from tests.engine.world import Log

LOG = Log().logger()


def test_ready_answers_500_until_it_is_ready_whatever_the_method() -> None:
    async def scenario() -> list[tuple[int, bytes]]:
        ready = asyncio.Event()
        answers: list[tuple[int, bytes]] = []
        async with (
            probes(0, Metrics(), lambda: None if ready.is_set() else "", LOG) as port,
            aiohttp.ClientSession() as session,
        ):
            for method in ("GET", "POST", "GET", "POST"):
                if len(answers) == 2:
                    ready.set()
                async with session.request(method, f"http://127.0.0.1:{port}/ready") as answer:
                    answers.append((answer.status, await answer.read()))
        return answers

    assert asyncio.run(scenario()) == [(500, b""), (500, b""), (200, b""), (200, b"")]


def test_a_replica_that_is_ready_tells_more_to_whoever_asks_for_all_words() -> None:
    ready = readiness(lambda: None, lambda: ("the kind a is left alone",))

    async def scenario(url: str) -> Reply:
        return await ready(Call(method="GET", url=url))

    assert asyncio.run(scenario("/readyz")) == Reply(200)
    assert asyncio.run(scenario("/readyz?verbose")).body == b"ready\nthe kind a is left alone\n"
    assert asyncio.run(scenario("/readyz?verbose=true")).status == 200


def test_it_lives_also_while_it_is_not_ready() -> None:
    """What it waits for does not come sooner by a restart."""

    async def scenario() -> tuple[int, int]:
        async with probes(0, Metrics(), lambda: "", LOG) as port, aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/ready") as ready:
                pass
            async with session.get(f"http://127.0.0.1:{port}/livez") as lives:
                return ready.status, lives.status

    assert asyncio.run(scenario()) == (500, 200)


def test_what_keeps_a_process_from_being_ready_is_told() -> None:
    async def scenario() -> tuple[int, str]:
        async with (
            probes(0, Metrics(), lambda: "cannot acquire the Lease", LOG) as port,
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/ready") as answer,
        ):
            return answer.status, await answer.text()

    assert asyncio.run(scenario()) == (500, "cannot acquire the Lease\n")


def test_requests_are_measured_by_route() -> None:
    metrics = Metrics()

    async def scenario() -> str:
        async with probes(0, metrics, lambda: None, LOG) as port, aiohttp.ClientSession() as session:
            for path in ("/ready", "/metrics", "/nowhere"):
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    text = await answer.text()
            async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
                text = await answer.text()
        return text

    text = asyncio.run(scenario())

    assert (
        'rollout_operator_request_duration_seconds_count{method="GET",route="ready",status_code="200",ws="false"} 1'
        in text
    )
    assert 'route="other",status_code="404"' in text
    assert 'rollout_operator_inflight_requests{method="GET",route="metrics"} 1.0' in text
    assert 'rollout_operator_response_message_bytes_count{method="GET",route="metrics"} 1.0' in text
    assert "python_info" not in text


def test_events_that_were_dropped_are_served() -> None:
    metrics = Metrics()
    metrics.show_dropped_events(lambda: 3)

    async def scenario() -> str:
        async with (
            probes(0, metrics, lambda: None, LOG) as port,
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{port}/metrics") as answer,
        ):
            return await answer.text()

    assert "fairlead_events_dropped_total 3.0" in asyncio.run(scenario()).splitlines()


def test_a_busy_port_is_said_in_one_sentence() -> None:
    async def scenario() -> None:
        async with probes(0, Metrics(), lambda: None, LOG) as port, probes(port, Metrics(), lambda: None, LOG):
            pass

    with pytest.raises(PortBusy, match=r"port \d+ cannot be listened on .*; choose another one"):
        asyncio.run(scenario())


def test_requests_for_another_cluster_are_refused_but_for_probes_and_scrapes() -> None:
    metrics = Metrics()

    async def scenario() -> dict[str, int]:
        cluster = ClusterLabel("ns")
        answers: dict[str, int] = {}
        async with (
            probes(0, metrics, lambda: None, LOG, cluster) as port,
            aiohttp.ClientSession(headers={"X-Cluster": "else"}) as session,
        ):
            for path in ("/ready", "/livez", "/metrics", "/debug/pprof/", "/else"):
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    answers[path] = answer.status
        return answers

    answers = {"/ready": 200, "/livez": 200, "/metrics": 200, "/debug/pprof/": 404, "/else": 511}
    assert asyncio.run(scenario()) == answers
    labels = {
        "protocol": "http",
        "method": "other",
        "cluster_validation_label": "ns",
        "request_cluster_validation_label": "else",
    }
    name = "rollout_operator_server_invalid_cluster_validation_label_requests_total"
    assert metrics.registry.get_sample_value(name, labels) == 1


def test_unusual_methods_are_measured_together() -> None:
    metrics = Metrics()

    async def scenario() -> None:
        async with probes(0, metrics, lambda: None, LOG) as port, aiohttp.ClientSession() as session:
            for method in ("PROPFIND", "MKCOL", "REPORT"):
                async with session.request(method, f"http://127.0.0.1:{port}/ready") as answer:
                    assert answer.status == 200

    asyncio.run(scenario())

    name = "rollout_operator_request_duration_seconds_count"
    labels = {"method": "other", "route": "ready", "status_code": "200", "ws": "false"}
    assert metrics.registry.get_sample_value(name, labels) == 3
