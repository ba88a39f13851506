"""What the operator of environments warns of: keys that it believes unread, and passes that go on failing."""

from __future__ import annotations

import asyncio

import msgspec

from fairlead.contracts.environments.kinds import MATERIALIZES
from kubeloop import request
from kubeloop.objects.core import EVENTS
from kubesim.faults import Fault
from kubesim.store.versions import Tree
from tests.engine.estate import SPACE, Estate, play

UNCHECKED = "signatures of license keys are not checked"


async def warnings_of(estate: Estate) -> list[Tree]:
    """Events about the environment, each as one says how often it was told."""
    answer = await estate.client.call(request.list_page(EVENTS, SPACE))
    told: list[Tree] = msgspec.json.decode(answer.body)["items"]
    return [each for each in told if each["type"] == "Warning" and each["regarding"]["kind"] == MATERIALIZES.kind]


def test_whoever_names_no_signers_is_warned_that_license_keys_are_believed() -> None:
    async def scenario(estate: Estate) -> None:
        await estate.operator()
        assert len(estate.log.of(UNCHECKED)) == 1

        await estate.operator(license_keys=(b"pem",))
        await estate.operator(disable_license_key_checks=True)
        assert len(estate.log.of(UNCHECKED)) == 1

    play(scenario)


def test_a_failure_that_lasts_is_one_event_that_counts_every_failed_pass() -> None:
    """Thirty minutes of it, with a look every five to nine seconds; the count is written ever more rarely."""

    async def scenario(estate: Estate) -> None:
        async with estate.operating() as manager:
            await manager.leading.wait()
            await estate.environment(backendSecretName="nowhere")

            await asyncio.sleep(1800)
            counted = [sent for _, sent in estate.requests if sent.method == "PATCH" and "/events/" in sent.path]
            assert len(counted) <= 11, "five in the first five minutes, then one every five minutes"
            await estate.change(backendSecretName="m-backend")
            await estate.until(lambda: estate.serves(1), within=300)

            (event,) = await warnings_of(estate)
            failed = len(estate.log.of("reconcile failed"))
            assert 1800 / 9 <= failed <= 1800 / 5
            assert failed - 2 <= event["series"]["count"] <= failed
            posted = [sent for _, sent in estate.requests if sent.method == "POST" and sent.path.endswith("/events")]
            assert len([sent for sent in posted if b"Warning" in sent.body]) == 1

    play(scenario)


def test_a_failure_that_comes_again_after_a_good_pass_is_told_again() -> None:
    async def scenario(estate: Estate) -> None:
        async with estate.operating() as manager:
            await manager.leading.wait()
            await estate.environment(backendSecretName="nowhere")
            await asyncio.sleep(60)
            failed = len(estate.log.of("reconcile failed"))

            await estate.change(backendSecretName="m-backend")
            await estate.until(lambda: estate.serves(1), within=300)
            (before,) = await warnings_of(estate)
            await asyncio.sleep(700)
            (still,) = await warnings_of(estate)
            assert still["series"]["count"] == before["series"]["count"] == failed

            await estate.change(backendSecretName="nowhere")
            await asyncio.sleep(60)
            assert len(await warnings_of(estate)) == 2

    play(scenario)


def test_certificates_that_may_not_be_listed_are_told_by_the_right_that_lacks() -> None:
    async def scenario(estate: Estate) -> None:
        estate.fault = lambda sent: Fault("status", status=403) if "/certificates" in sent.path else None
        async with estate.operating() as manager:
            await manager.leading.wait()
            await estate.environment(internalCertificateSpec={"issuerRef": {"name": "ca"}})
            await asyncio.sleep(20)

        (event,) = await warnings_of(estate)
        assert event["reason"] == "ReadFailed"
        assert "the operator lacks the right" in event["note"]

    play(scenario)
