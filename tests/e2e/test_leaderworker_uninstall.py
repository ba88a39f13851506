"""Removing an installation of LeaderWorkerSets (section 2.17): all of it, webhooks first, and nothing of others."""

from __future__ import annotations

import pytest

from fairlead.cli.removal import find, remove
from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import CHART, Values
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from tests.contracts.leaderworker.decide.sets import a_set
from tests.contracts.zones.install import helm
from tests.e2e.clusters import Site, everywhere, long
from tests.e2e.history import Tree
from tests.e2e.installing import define, present, put
from tests.e2e.test_uninstall import keys, names

KEPT = ("Namespace", "CustomResourceDefinition")


def made_by(case: str, namespace: str) -> list[Tree]:
    if case == "manifests":
        made = list(objects(Values(namespace=namespace)))
    else:
        made = list(helm.render({}, release="lws", namespace=namespace, chart=CHART).values())
    return [one for one in made if one["kind"] not in KEPT]


@pytest.mark.parametrize("case", ["chart", long("manifests")])
@everywhere(controllers=False)
async def test_all_of_an_installation_is_found_and_removed_webhooks_first(site: Site, case: str) -> None:
    await define(site, *definitions())
    made = made_by(case, site.namespace)
    for one in made:
        await put(site, one)

    items = await find(site.client, "leaderworker", site.namespace, kinds=False)
    removal = await remove(site.client, items)

    found = names(items)
    assert set(found) == keys(made)
    assert {name.split("/")[0] for name in found[:2]} == {
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
    assert (removal.left, removal.error) == ((), None)
    assert await present(site, made) == []
    assert len(await present(site, definitions())) == len(definitions())


@everywhere(controllers=False)
async def test_kinds_go_only_when_asked_for_and_say_what_goes_with_them(site: Site) -> None:
    await define(site, *definitions())
    before = await find(site.client, "leaderworker", site.namespace, kinds=True)
    await site.create(LEADER_WORKER_SETS, {**a_set(), "metadata": {"name": "a"}})

    items = await find(site.client, "leaderworker", site.namespace, kinds=True)

    kinds = [each for each in items if each.ref.resource.kind == "CustomResourceDefinition"]
    assert {each.ref.name for each in kinds} == {each["metadata"]["name"] for each in definitions()}
    assert sum(each.holds for each in kinds) == 1 + sum(each.holds for each in before), "those of other namespaces too"
