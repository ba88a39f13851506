"""Webhooks of several contracts in one process: each keeps the time that its contract gives a request."""

from __future__ import annotations

import asyncio

import pytest

from fairlead.engine.driver.questions import AskContext
from fairlead.engine.webhooks.admission import AdmissionContext, WebhookEndpoint
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop import clock
from kubesim.time import run
from tests.engine.webhooks.benches import Seen, body, call, response_of
from tests.engine.webhooks.test_admission import Pods, preparing
from tests.engine.world import Log
from tests.kubeloop.scripted import Scripted


def webhooks(**timeouts: float) -> Webhooks:
    """One for each name, whose pods never answer."""
    log, client = Log().logger(), Scripted().client()
    endpoints = tuple(
        WebhookEndpoint(name, (f"/{name}",), preparing, Seen, lambda _: {}, timeout)
        for name, timeout in timeouts.items()
    )
    context = AdmissionContext(Afterwards(log), log, lambda *_: None)
    return Webhooks(endpoints, AskContext(client, caller=Pods(POST=60)), lambda: client, context)


def test_each_webhook_answers_within_its_own_time() -> None:
    async def took(hooks: Webhooks, path: str) -> float:
        begun = clock.monotonic()
        assert not response_of(await hooks.handler(call(body(), path=path)))["allowed"]
        return clock.monotonic() - begun

    async def scenario() -> tuple[float, float]:
        hooks = webhooks(hasty=1.0, patient=5.0)
        return await asyncio.gather(took(hooks, "/hasty"), took(hooks, "/patient"))

    assert run(scenario()) == pytest.approx((0.9, 4.5))


def test_the_server_gives_a_request_the_longest_of_them() -> None:
    async def scenario() -> tuple[float, float]:
        return webhooks(hasty=1.0, patient=5.0).timeout, webhooks().timeout

    assert run(scenario()) == (5.0, 10.0)
