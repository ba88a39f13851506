"""What users get wrong, through the real programs: one clear sentence, the right exit code, nothing deleted or lost."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest
import yaml

from fairlead.plane.launch import free_port
from kubeloop.objects.core import LEASES, PODS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.operators import Operator
from tests.e2e.programs import Finished, ended, finished, line_with, running
from tests.e2e.roles import SEED_ROLE, grant
from tests.e2e.zones import a_zone, begin, deeds_on

GET = ("fairlead", "get", "-n", "test")
OPERATE = ("fairlead", "operator", "-n", "test", "--port", "0")


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        pytest.param(["oprator"], "oprator", id="a command there is not"),
        pytest.param(["operator", "--nope"], "--nope", id="an option there is not"),
        pytest.param(["operator", "--interval", "5"], '"5"', id="a duration without a unit"),
        pytest.param(["operator", "--interval=-5s"], "-5s", id="a duration below zero"),
        pytest.param(["operator", "--parts", "moons"], "moons", id="a part there is not"),
        pytest.param(["operator", "--port", "99999"], "99999", id="a port there is not"),
        pytest.param(["operator", "-A", "-n", "test"], "-n", id="all namespaces and one"),
        pytest.param(["watch", "--timeout", "soon"], "soon", id="no duration"),
        pytest.param(["explain"], "NAME", id="a name left out"),
    ],
)
def test_command_line_that_cannot_be_meant_ends_with_code_2(arguments: list[str], culprit: str) -> None:
    answer = asyncio.run(finished("fairlead", *arguments))

    assert answer.code == 2
    assert only_line(answer).startswith("fairlead: ")
    assert culprit in only_line(answer)


@pytest.mark.parametrize("command", [GET, OPERATE], ids=["get", "operator"])
def test_server_that_does_not_answer_is_named(command: Sequence[str], tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path, server := f"https://127.0.0.1:{free_port()}")

    answer = asyncio.run(finished(*command, kubeconfig=config))

    assert answer.code == 1
    assert server in last_line(answer)
    assert "cannot be reached" in last_line(answer)


def test_server_that_does_not_answer_ends_the_contracts_process(tmp_path: Path) -> None:
    config = a_kubeconfig(tmp_path, server := f"https://127.0.0.1:{free_port()}")

    answer = asyncio.run(finished(*as_contract(server, config, "test")))

    assert answer.code == 1
    assert last_line(answer).startswith("rollout-operator: ")
    assert server in last_line(answer)


@pytest.mark.parametrize("command", [GET, OPERATE], ids=["get", "operator"])
def test_context_that_the_kubeconfig_does_not_have_is_named_with_those_it_has(
    command: Sequence[str], tmp_path: Path
) -> None:
    config = a_kubeconfig(tmp_path, "https://127.0.0.1:1")

    answer = asyncio.run(finished(*command, "--context", "staging", kubeconfig=config))

    assert answer.code == 1
    assert "staging" in last_line(answer)
    assert "plane" in last_line(answer)


@pytest.mark.parametrize("command", [GET, OPERATE], ids=["get", "operator"])
def test_kubeconfig_that_is_not_there_is_named(command: Sequence[str], tmp_path: Path) -> None:
    answer = asyncio.run(finished(*command, "--kubeconfig", str(tmp_path / "absent")))

    assert answer.code == 1
    assert str(tmp_path / "absent") in last_line(answer)


@everywhere(controllers=False, on=("served", "real"))
async def test_token_that_the_cluster_does_not_know_is_blamed(site: Site, tmp_path: Path) -> None:
    server = site.server
    config = a_kubeconfig(tmp_path, server.url, like=server.kubeconfig_for("bearer"))

    for command in (GET, OPERATE, as_contract(server.url, config, site.namespace)):
        answer = await finished(*command, kubeconfig=config)

        assert answer.code == 1
        assert "does not accept the credentials" in last_line(answer)


@everywhere(controllers=False, on=("served", "real"))
async def test_right_to_list_that_is_missing_is_named(site: Site) -> None:
    user = await grant(site, {**SEED_ROLE, ("", "pods"): ("get", "watch", "delete")})
    config = site.server.kubeconfig_for(user.name)
    await a_zone(site, "a")
    deeds = await deeds_on(site)

    for command in (
        ("fairlead", "get", "-n", site.namespace),
        ("fairlead", "operator", "-n", site.namespace, "--port", "0"),
        as_contract(site.server.url, config, site.namespace),
    ):
        answer = await finished(*command, kubeconfig=config)

        assert answer.code == 1
        assert f'user "{user.name}" may not list pods in namespace "{site.namespace}"' in last_line(answer)
    await site.history.caught_up()
    assert deeds.deletions == []


@everywhere(controllers=False)
async def test_right_to_delete_that_is_missing_stops_neither_the_process_nor_other_groups(site: Site) -> None:
    await a_zone(site, "a")
    await a_zone(site, "b", revision="new", group="store")
    user = await grant(site, {**SEED_ROLE, ("", "pods"): ("list", "get", "watch")})

    play = await begin(site, Operator(site, through=user.limits), user=user.name)
    await play.operator.keeps_failing()

    assert (play.completions, play.deletions) == (["b"], [])
    assert play.operator.ready
    assert play.operator.failures("store") == 0
    assert "delete pods/ingester-zone-a-0" in play.operator.records("warn", "reconcile failed")[0].keys["error"]


@everywhere(controllers=False, on=("served", "real"))
async def test_right_to_the_lease_that_is_missing_is_said(site: Site) -> None:
    """The operator cannot know whether another one leads, so it waits and says why; told to end, it does so at once."""
    user = await grant(site, SEED_ROLE)
    await a_zone(site, "a")
    deeds = await deeds_on(site)

    async with running(*operate(site), kubeconfig=site.server.kubeconfig_for(user.name)) as process:
        said = await line_with(process.stderr, "cannot acquire the Lease")
        code = await ended(process, within=30)

    assert "leases" in said
    assert user.name in said
    assert code == 0
    await site.history.caught_up()
    assert deeds.deletions == []


@everywhere(controllers=False, on=("served", "real"))
async def test_namespace_that_does_not_exist_is_warned_of(site: Site) -> None:
    command = ("fairlead", "operator", "-n", f"{site.namespace}-misspelt", "--port", "0", "--no-lease")

    async with running(*command, kubeconfig=site.server.kubeconfig) as process:
        said = await line_with(process.stderr, "namespace does not exist")
        code = await ended(process)

    assert f"{site.namespace}-misspelt" in said
    assert code == 0


@everywhere(controllers=False, on=("served", "real"))
async def test_zones_with_mistakes_are_rolled_by_the_contracts_process(site: Site) -> None:
    """No `name` label, and a budget that is no number: one pod at a time, and the log says what was ignored."""
    await a_zone(site, "a", labels={"app": "ingester"}, max_unavailable="abc")
    await a_zone(site, "b")
    deeds = await deeds_on(site)
    server = site.server

    port = free_port()

    async with running(*as_contract(server.url, server.kubeconfig, site.namespace, port)) as process:
        said = await line_with(process.stderr, "invalid max-unavailable")
        await line_with(process.stderr, "pod terminated")
        await line_with(process.stderr, "budget reached")
        ready, _ = await asked(port, "/ready")
        _, metrics = await asked(port, "/metrics")
        code = await ended(process)

    assert ready == 200
    assert 'rollout_operator_group_reconciles_failed_total{rollout_group="ingester"} 0.0' in metrics
    assert "level=warn" in said
    assert "abc" in said
    assert code == 0
    await site.history.caught_up()
    assert deeds.deletions == ["a-0"]


@everywhere(controllers=False, on=("served", "real"))
async def test_second_operator_waits_for_the_first_says_so_and_takes_over(site: Site) -> None:
    zone = await a_zone(site, "a")
    deeds = await deeds_on(site)
    config = site.server.kubeconfig

    async with running(*operate(site), kubeconfig=config) as first:
        await line_with(first.stderr, "budget reached")
        async with running(*operate(site), kubeconfig=config) as second:
            said = await line_with(second.stderr, "waiting for the lease")
            lease = await site.get(LEASES, "fairlead-operator")
            first_code = await ended(first)
            await line_with(second.stderr, "budget reached")
            await zone.make_pod(0)
            await line_with(second.stderr, "pod terminated")
            second_code = await ended(second)

    assert lease is not None
    assert lease["spec"]["holderIdentity"] in said
    assert (first_code, second_code) == (0, 0)
    await site.history.caught_up()
    assert deeds.deletions == ["a-0", "a-1"]
    assert f"{zone.name}-0" in site.history.objects(PODS)


async def asked(port: int, path: str) -> tuple[int, str]:
    """Status and body."""
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text()


def operate(site: Site) -> tuple[str, ...]:
    return ("fairlead", "operator", "-n", site.namespace, "--port", "0")


def as_contract(server: str, config: Path, namespace: str, port: int = 0) -> tuple[str, ...]:
    """The zone contract's process, whose flags are its own."""
    return (
        "rollout-operator",
        f"-kubernetes.api-url={server}",
        f"-kubernetes.config-file={config}",
        f"-kubernetes.namespace={namespace}",
        f"-server.port={port}",
    )


def a_kubeconfig(folder: Path, server: str, *, like: Path | None = None) -> Path:
    """One context, `plane`, with a token that nobody knows; the cluster is that of `like`, where one is given."""
    cluster = {"server": server}
    if like is not None:
        cluster = yaml.safe_load(like.read_text())["clusters"][0]["cluster"]
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "plane", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": "unknown"}}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user"}}],
        "current-context": "plane",
    }
    path.write_text(yaml.safe_dump(document))
    return path


def only_line(answer: Finished) -> str:
    assert answer.out == ""
    assert answer.err.count("\n") == 1, answer.err
    return answer.err


def last_line(answer: Finished) -> str:
    """The sentence a program ends with; before it there are records of the log at most."""
    *records, sentence = answer.err.splitlines()
    assert all(re.match(r"level=(debug|info|warn) ts=", record) for record in records), answer.err
    return sentence
