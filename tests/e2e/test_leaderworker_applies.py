"""What would be applied and is there already is told from what the API server keeps (leaderworker S9)."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.leader_set import leader_set
from fairlead.contracts.leaderworker.decide.planner import Plan, Row, Stage
from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.decide.set_view import of_revision
from fairlead.contracts.leaderworker.decide.unchanged import is_unchanged
from fairlead.contracts.leaderworker.kinds import MANAGER, StatefulSet
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref
from kubeloop.request import apply
from tests.contracts.leaderworker.decide.some import a_set
from tests.contracts.leaderworker.decide.templates import everything
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree


def the_body(site: Site, template: Tree, replicas: int = 2) -> Tree:
    seen = a_set(template=template, labels={"team": "b"})
    seen = replace(seen, metadata=replace(seen.metadata, namespace=site.namespace))
    numbers = Plan(0, replicas, Row.REST, Stage.STEADY)
    return leader_set(seen, of_revision(data_of(seen)), "k", numbers, Budget(1, 0), None)


async def applied(site: Site, body: Tree) -> StatefulSet:
    ref = Ref(STATEFULSETS, site.namespace, "a")
    answer = await site.client.call(apply(ref, msgspec.json.encode(body), MANAGER, force=True))
    return msgspec.json.decode(answer.body, type=StatefulSet)


@everywhere(controllers=False)
async def test_what_was_applied_is_not_sent_again(site: Site) -> None:
    body = the_body(site, everything())

    live = await applied(site, body)
    again = await applied(site, body)

    assert is_unchanged(body, live)
    assert again.metadata.resource_version == live.metadata.resource_version


@everywhere(controllers=False)
async def test_a_change_is_sent(site: Site) -> None:
    template = everything()
    live = await applied(site, the_body(site, template))
    other, fewer = everything(), everything()
    other["workerTemplate"]["spec"]["containers"][0]["image"] = "nginx:2"
    del fewer["workerTemplate"]["spec"]["containers"][0]["envFrom"]

    for body in (the_body(site, template, 3), the_body(site, other), the_body(site, fewer)):
        assert not is_unchanged(body, live)
        after = await applied(site, body)
        assert after.metadata.resource_version != live.metadata.resource_version
        live = after
