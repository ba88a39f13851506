"""A contract that is one folder appears in the commands: get, explain, watch, crds, manifests, operator, help."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.commands.get import rows
from fairlead.cli.commands.operator import add_arguments, options_of
from fairlead.cli.commands.status import LaneLines, _followed
from fairlead.cli.commands.watch import WatchEnd, WatchScope, within
from fairlead.cli.connect import Cluster
from fairlead.cli.documents_of import explain_all
from fairlead.cli.elsewhere import why_not_found
from fairlead.cli.main import Parser, main, parser_of
from fairlead.cli.removal import NAME_LABEL, find
from fairlead.cli.selection import named, none_at_all
from fairlead.cli.views.explanation import explanation
from fairlead.cli.views.render import plain
from fairlead.contracts import CONTRACTS
from kubeloop import clock
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Resource
from tests.cli.notes import Notes
from tests.cli.test_reports import ROLES, pod, telling
from tests.engine.test_toy_contract import both, box, define
from tests.engine.world import World, play
from tests.toy.kinds import BOXES, definitions

LINES = 200
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CONTRACTS, "toy", "tests.toy.contract")


def test_the_whole_contract_is_small() -> None:
    files = Path("tests/toy").glob("*.py")

    assert sum(len(each.read_text().splitlines()) for each in files) < LINES


def test_its_rollouts_are_listed_and_explained_beside_others() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await world.zone("zone-a", "group")
        await box(world, "one", colour="red", paused=True)

        seen = await explain_all(world.client, ["test"])

        assert [(row["PART"], row["ROLLOUT"], row["PHASE"]) for row in rows(seen, clock.now())] == [
            ("toy", "one", "Paused"),
            ("zones", "group", "Current"),
        ]
        (one,) = named(seen, "toy/one")
        assert "box one waits" in plain(explanation(one, clock.now()))
        assert one.source
        assert one.source.why == "no operator was found in the cluster"

    play(scenario)


def test_a_watch_sees_it_change_and_ends_when_it_is_done() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        notes = Notes()
        await box(world, "one", colour="red", paused=True)
        watching = asyncio.create_task(
            within(60, Cluster(world.client, ("test",)), WatchScope("one"), notes), name="watch"
        )
        await asyncio.sleep(5)
        async with world.operating(parts=both()):
            await world.change(BOXES, "test", "one", {"spec": {"paused": False}})
            end = await watching

        assert end == WatchEnd(exits.OK)
        assert (notes.phases[0], notes.phases[-1]) == ("Paused", "Complete")

    play(scenario)


def test_the_status_of_a_name_that_two_contracts_have_is_a_choice() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await world.zone("zone-a", "one")
        await box(world, "one", colour="red", paused=True)
        cluster = Cluster(world.client, ("test",))

        end = await followed(cluster, parser_of("status").parse_args(["one", "--no-wait"]))
        chosen = await followed(cluster, parser_of("status").parse_args(["zones/one", "--no-wait"]))

        assert end == WatchEnd(exits.USAGE, "one names several rollouts: choose toy/one or zones/one")
        assert chosen == WatchEnd(exits.OK)

    play(scenario)


async def followed(cluster: Cluster, arguments: argparse.Namespace) -> WatchEnd:
    return await _followed(cluster, arguments, None, LaneLines(quiet=True))


def test_it_is_found_in_another_namespace_and_named_where_nothing_is() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await box(world, "one", colour="red")

        assert "but in namespace test" in await why_not_found(world.client, "one", ["default"])
        assert none_at_all(["test"]) == (
            "no StatefulSet with the label rollout-group, no Materialize, no LeaderWorkerSet, no RolloutTrait"
            ", no migration of a CRD and no Box in namespace test"
        )

    play(scenario)


def test_a_cluster_without_its_kind_is_looked_at_without_it() -> None:
    async def scenario(world: World) -> None:
        await world.zone("zone-a", "group")

        assert [one.part for one in await explain_all(world.client, ["test"])] == ["zones"]

    play(scenario)


def test_its_operator_is_found_by_the_name_of_its_chart_and_asked() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await box(world, "one", colour="red", paused=True)
        async with world.operating(parts=both()) as manager:
            await pod(world, telling(manager), "painter", chart="toy-operator")

            (shown,) = await explain_all(world.client, ["test"])

        assert shown.source
        assert (shown.source.by, shown.source.name) == ("operator", "pod painter")

    play(scenario)


def test_what_is_installed_of_it_is_removed_and_nothing_of_it_with_others() -> None:
    """The Lease of its operator has the labels of another chart, as that of an earlier release has."""

    async def scenario(world: World) -> None:
        await define(world)
        await box(world, "one", colour="red", paused=True)
        await labelled(world, ACCOUNTS, "painter", "toy-operator")
        whose = {"toy.example/namespace": "test", NAME_LABEL: "toy-operator"}
        await world.create(ROLES, "", {"metadata": {"name": "paints", "labels": whose}})
        for lease in ("toy-leader", "somebody-else"):
            await labelled(world, LEASES, lease, "rollout-operator")

        own = await find(world.client, "toy", "test", kinds=True)
        of_zones = await find(world.client, "zones", "test", kinds=False)

        definition = f"CustomResourceDefinition/{BOXES.plural}.{BOXES.group} with 1 object of all namespaces"
        assert [str(each) for each in own] == ["ServiceAccount/painter", "ClusterRole/paints", definition]
        assert [str(each) for each in of_zones] == ["Lease/somebody-else"]

    play(scenario)


async def labelled(world: World, resource: Resource, name: str, chart: str) -> None:
    await world.create(resource, "test", {"metadata": {"name": name, "labels": {NAME_LABEL: chart}}})


def test_its_kinds_and_what_installs_it_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "--part", "toy"]) == exits.OK
    assert tuple(yaml.safe_load_all(capsys.readouterr().out)) == definitions()

    assert main(["manifests", "--part", "toy", "-n", "mimir"]) == exits.OK
    (account,) = yaml.safe_load_all(capsys.readouterr().out)
    assert account == {"kind": "ServiceAccount", "metadata": {"name": "toy", "namespace": "mimir"}}


def test_options_of_others_are_none_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--part", "toy", "--ha"]) == exits.USAGE
    assert capsys.readouterr().err == "fairlead: --ha is an option of zones: leave it out, or use --part zones\n"


def test_the_operator_serves_it_by_name() -> None:
    parser = Parser()
    add_arguments(parser)

    options = options_of(parser.parse_args(["--parts=zones,toy"]))

    assert [part.contract.name for part in options.parts] == ["zones", "toy"]


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("crds", "zones,environments,leaderworker,plans,toy"),
        ("manifests", "zones,environments,leaderworker,plans,apiversions,toy"),
        ("uninstall", "zones,environments,leaderworker,plans,apiversions,toy"),
    ],
)
def test_help_names_it(command: str, parts: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == exits.OK
    assert f"{{{parts}}}" in capsys.readouterr().out
