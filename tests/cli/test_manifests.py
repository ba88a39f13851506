"""`fairlead manifests` and `fairlead crds`: what they print, and how little they need for it."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.commands.operator import add_arguments, options_of
from fairlead.cli.main import Parser, main
from fairlead.contracts.environments.install import values as environments
from fairlead.contracts.environments.install.definitions import definitions
from fairlead.contracts.environments.install.objects import objects as environment_objects
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values
from fairlead.contracts.zones.install.workload import program
from tests.operator_parts import names, zone_settings


def test_manifests_are_the_objects_of_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--ha",
        "--webhooks",
        "--phased-deployments",
        "--monitoring",
        "--network-policy",
        "--network-policy-egress",
        "10.0.0.0/8:9090",
        "--network-policy-egress",
        "fd00::1:8443",
        "--zone-tracker",
        "times",
        "--image",
        "own:1",
    ]

    code = main(["manifests", "--part", "zones", "-n", "mimir", *words])

    values = Values(
        namespace="mimir",
        image="own:1",
        high_availability=True,
        webhooks=True,
        monitoring=True,
        network_policy=True,
        egress=(("10.0.0.0/8", 9090), ("fd00::1/128", 8443)),
        phased_deployments=True,
        zone_tracker="times",
    )
    printed = capsys.readouterr().out
    assert code == exits.OK
    assert tuple(yaml.safe_load_all(printed)) == objects(values)
    assert not any(mark in printed for mark in ("&id", "*id")), "no anchors"


@pytest.mark.parametrize("text", ["", "9090", "10.0.0.0/8", "10.0.0.0/8:0", "10.0.0.0/8:65536", "10.0.0.1/8:1", "a:1"])
def test_egress_that_cannot_be_meant_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["manifests", "--network-policy", "--network-policy-egress", text])

    assert code == exits.USAGE
    assert f'--network-policy-egress is "{text}": give an address range' in capsys.readouterr().err


def test_egress_without_a_network_policy_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["manifests", "--network-policy-egress", "10.0.0.0/8:9090"])

    assert code == exits.USAGE
    assert "--network-policy-egress needs --network-policy" in capsys.readouterr().err


def test_manifests_without_options_only_roll(capsys: pytest.CaptureFixture[str]) -> None:
    main(["manifests"])

    made = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [one["kind"] for one in made] == ["ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"]
    assert {one["metadata"]["namespace"] for one in made} == {"default"}


def test_environments_are_installed_with_flags_that_the_program_takes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--image", "own:1", "--certificate-secret", "mine", "--arg=--region=eu", "--arg=--tls-ca=/a"]

    code = main(["manifests", "--part", "environments", "-n", "mz", *words])

    values = environments.Values(namespace="mz", image="own:1", secret="mine", arguments=("--region=eu", "--tls-ca=/a"))
    assert code == exits.OK
    assert tuple(yaml.safe_load_all(capsys.readouterr().out)) == environment_objects(values)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--arg=--regoin=x"], "--arg: unknown flag --regoin (did you mean region?)"),
        (["--arg=--cloud-provider=aws"], "--arg: --aws-account-id is missing: --cloud-provider is aws"),
        (["--arg=--startup-log-filter=loud"], '--arg: --startup-log-filter holds "loud"'),
        (["--certificate-secret", "A b"], '--certificate-secret is "A b": a name has'),
        (["--ha"], "--ha is an option of zones: leave it out, or use --part zones"),
        (["--network-policy-egress", "x"], "--network-policy-egress is an option of zones"),
    ],
)
def test_environments_that_could_not_start_are_not_printed(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["manifests", "--part", "environments", *words])

    said = capsys.readouterr()
    assert code == exits.USAGE
    assert said.err.startswith(f"fairlead: {told}")
    assert said.out == ""


def test_files_that_are_in_the_pod_need_not_be_here() -> None:
    assert main(["manifests", "--part", "environments", "--arg=--license-key-public-key=/keys/a.pem"]) == exits.OK


def test_an_option_of_others_that_is_empty_says_nothing() -> None:
    assert main(["manifests", "--part", "environments", "--zone-tracker", ""]) == exits.OK


def test_options_of_environments_are_none_of_zones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--arg=--region=x"]) == exits.USAGE
    assert "--arg is an option of environments" in capsys.readouterr().err


def test_crds_are_the_kinds_of_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds"]) == exits.OK

    made = tuple(yaml.safe_load_all(capsys.readouterr().out))
    assert made == zone_kinds()
    assert [one["spec"]["names"]["kind"] for one in made] == [
        "ReplicaTemplate",
        "RolloutHealthCheck",
        "ZoneAwarePodDisruptionBudget",
    ]


def test_crds_of_environments_leave_conversion_to_the_operator(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crds", "--part", "environments"]) == exits.OK

    made = tuple(yaml.safe_load_all(capsys.readouterr().out))
    assert made == definitions()
    assert [one["spec"]["names"]["kind"] for one in made] == ["Materialize", "Balancer", "Console"]
    assert main(["help", "crds"]) == exits.OK
    assert "without `conversion`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["manifests", "-n", "Not A Name"], '-n is "Not A Name": a namespace has'),
        (["manifests", "-n", ""], '-n is "": a namespace has'),
        (["manifests", "--part", "flows"], "--part"),
        (["manifests", "--phased-deployments"], "--phased-deployments needs --webhooks"),
        (["crds", "--part", "flows"], "--part"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == exits.USAGE

    printed = capsys.readouterr()
    assert said in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)


@pytest.mark.parametrize("command", ["manifests", "crds"])
def test_printing_imports_nothing_that_talks(command: str) -> None:
    """No cluster is asked, so none of what asks one is loaded."""
    heavy = ("aiohttp", "asyncio", "rich", "structlog", "prometheus_client", "cryptography")
    told = "print(sorted(sys.modules), file=sys.stderr)"
    code = f"import sys; from fairlead.cli.main import main; main(['{command}']); {told}"

    done = subprocess.run([sys.executable, "-c", code], check=True, text=True, capture_output=True)

    assert not [name for name in heavy if f"'{name}'" in done.stderr]


@pytest.mark.parametrize("webhooks", [False, True])
def test_operator_takes_the_arguments_of_several_replicas(webhooks: bool) -> None:
    command, arguments = program(Values(namespace="mimir", high_availability=True, webhooks=webhooks))
    parser = Parser(prog=" ".join(command), allow_abbrev=False)
    add_arguments(parser)

    options = options_of(parser.parse_args(arguments))

    assert command == ["fairlead", "operator"]
    assert (options.namespaces, names(options), options.server_port) == (("mimir",), ("zones",), 8001)
    assert options.lease, "two replicas without a Lease would both act"


def test_operator_takes_the_arguments_of_phased_deployments() -> None:
    command, arguments = program(Values(namespace="mimir", webhooks=True, phased_deployments=True))
    parser = Parser(prog=" ".join(command), allow_abbrev=False)
    add_arguments(parser)

    options = options_of(parser.parse_args(arguments))

    assert zone_settings(options).phased_deployments
    assert options.lease is None, "one replica without the right to Leases"
