"""Acceptance scenario of notices: chats and webhooks hear what happens, and no rollout waits for them."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import ALERT_PROVIDERS, FAILED, ROLLOUT_TRAITS, SUCCEEDED
from kubeloop.calls import Call, Reply
from kubeloop.objects.core import SECRETS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.listeners import listening
from tests.e2e.plan_play import a_pair, batches, begin
from tests.e2e.plans import SETTINGS, with_traits

AVAILABLE = ("good", "the pods of batch {} are ready")


class Chat:
    """Hears messages of Slack's kind."""

    def __init__(self, status: int | None = 200) -> None:
        self.status = status
        self.heard: list[Call] = []

    def __call__(self, call: Call) -> Reply | None:
        self.heard.append(call)
        return None if self.status is None else Reply(self.status, b"ok")

    def messages(self) -> list[tuple[str, str]]:
        """Colour and text."""
        found = [msgspec.json.decode(each.body)["attachments"][0] for each in self.heard]
        return [(each["color"], each["text"]) for each in found]


@with_traits()
async def test_scenario_25_notification(site: Site) -> None:
    """One message for each event, in its colour; when all is told nothing is told again."""
    chat = Chat()
    async with listening(site, chat) as listener:
        play = await begin(site, replace(SETTINGS, slack_url=f"{listener.address}/hook"), listener.caller)
        target, source = await a_pair(site, 3)
        await play.roll(batches(1, 2), target, source)
        await play.ends(SUCCEEDED)
        await play.roll(batches(9, 9), source, target, name="bad")
        await play.ends(FAILED, "bad")
        await play.until(lambda: len(chat.heard) == 4, every=0.05)
        await play.kill()
        play.start()
        await play.at_rest()
        await play.kill()

    good, text = AVAILABLE
    told = [(good, text.format(0)), (good, text.format(1))]
    *batches_, succeeded, failed = chat.messages()
    assert batches_ == told
    assert succeeded == ("good", "the rollout succeeded, and the workloads are released")
    assert failed[0] == "danger"
    assert "batch size mismatch" in failed[1]
    assert chat.heard[0].url == "/hook"
    assert msgspec.json.decode(chat.heard[0].body)["attachments"][0]["author_name"] == f"d2.{site.namespace}"


@pytest.mark.parametrize("status", [500, None], ids=["it fails", "it is down"])
@with_traits(long=True)
async def test_scenario_25_receiver_down(site: Site, status: int | None) -> None:
    """The rollout comes to its end; each message is tried three times, and no more."""
    chat = Chat(status)
    async with listening(site, chat) as listener:
        play = await begin(site, replace(SETTINGS, slack_url=f"{listener.address}/s3cret"), listener.caller)
        target, source = await a_pair(site, 3)
        await play.roll(batches(1, 2), target, source)
        await play.ends(SUCCEEDED)
        await play.until(lambda: len(chat.heard) == 9, every=0.05)
        await play.at_rest()
        await play.kill()

    assert len(chat.heard) == 9
    (lost,) = play.operator.log.of("a notice was lost")
    assert "status 500" in lost["error"] if status else "cut off" in lost["error"]
    assert "s3cret" not in repr(play.operator.log.records)
    counted = play.operator.metrics.registry.get_sample_value(
        "fairlead_plan_notifications_total", {"provider": "slack", "outcome": "failed"}
    )
    assert counted == 3


def _providers() -> tuple[Tree, ...]:
    """The definitions of rollouts, and of AlertProviders besides."""
    found = {each["metadata"]["name"]: each for each in all_definitions()}
    return tuple(found[f"{each.plural}.{each.group}"] for each in (ROLLOUT_TRAITS, ALERT_PROVIDERS))


@partial(everywhere, definitions=_providers)(long=True)
async def test_alerts_of_a_plan_go_to_their_provider_by_its_secret(site: Site) -> None:
    """They stand in the place of the operator's own, and the address of the Secret is stored nowhere else."""
    chat = Chat()
    await define(site, *_providers()[1:])
    async with listening(site, chat) as listener:
        play = await begin(site, replace(SETTINGS, slack_url=f"{listener.address}/own"), listener.caller)
        secret = {"address": f"{listener.address}/s3cret", "token": "t0ken"}
        await site.create(SECRETS, {"metadata": {"name": "login"}, "stringData": secret})
        spec = {"type": "rocket", "channel": "ops", "secretRef": {"name": "login"}}
        await site.create(ALERT_PROVIDERS, {"metadata": {"name": "chat"}, "spec": spec})
        target, source = await a_pair(site, 3)
        alerts = [{"name": "a", "severity": "error", "providerRef": {"name": "chat"}}]

        await play.roll(batches(9, 9, alerts=alerts), target, source)
        await play.ends(FAILED)
        await play.until(lambda: chat.heard, every=0.05)
        await play.kill()

    assert [each.url for each in chat.heard] == ["/s3cret"]
    assert chat.heard[0].header("Authorization") == ["Bearer t0ken"]
    assert chat.messages()[0][0] == "#FF0000"
    assert "s3cret" not in repr(play.operator.log.records)
