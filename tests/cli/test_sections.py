"""`fairlead operator --config`: a section per part, checked like the flags it stands for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.cli.commands.operator import add_arguments, options_of
from fairlead.contracts.environments.flags import CONTRACT as FLAGS
from fairlead.contracts.environments.kinds import CertificateSpec, IssuerRef
from fairlead.contracts.environments.settings import ConversionOptions, DefaultCertificates, Settings
from fairlead.engine.options import OperatorOptions
from tests.cli.environments import CONTRACT, OWN
from tests.operator_parts import environments_options, names, zone_settings

NEEDED = {
    "cloud-provider": "local",
    "region": "kind",
    "console-image-tag-default": "v26.0.0",
    "webhook-service-namespace": "fairlead-system",
}
OF_THE_PROCESS = {"metrics-listen-address", *OWN} - {
    "webhook-url",
    "license-key-public-key",
    "environmentd-url-template",
}


class Configured:
    """`fairlead operator` with a file of these sections."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "config.yaml"

    def options(self, sections: object, *words: str) -> OperatorOptions:
        return self.written(yaml.safe_dump(sections), *words)

    def written(self, text: str, *words: str) -> OperatorOptions:
        self.path.write_text(text)
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        return options_of(parser.parse_args([f"--config={self.path}", *words]))

    def environments(self, *words: str, **section: Any) -> OperatorOptions:
        keys = {key.replace("_", "-"): value for key, value in section.items()}
        return self.options({"environments": NEEDED | keys}, "--parts=environments", *words)

    def settings(self, **section: Any) -> Settings:
        return environments_options(self.environments(**section)).settings

    def conversion(self, *words: str, **section: Any) -> ConversionOptions:
        made = environments_options(self.environments(*words, **section)).conversion
        assert made is not None
        return made

    def sentence(self, sections: object, *words: str) -> str:
        with pytest.raises(ValueError, match=r"\w") as told:
            self.options(sections, *words)
        return str(told.value)


@pytest.fixture
def configured(tmp_path: Path) -> Configured:
    return Configured(tmp_path)


def test_a_section_has_the_flags_of_the_contract_but_those_of_the_process() -> None:
    assert {flag.name for flag in FLAGS} == (CONTRACT | OWN) - OF_THE_PROCESS


def test_environments_are_one_part_with_a_lease_of_the_operator(configured: Configured) -> None:
    made = configured.environments()

    assert names(made) == ("environments",)
    assert (made.process, made.lease) == ("fairlead", "fairlead-operator")
    assert (made.home, made.rejoins) == ("fairlead-system", True)
    assert configured.settings() == Settings(
        cloud_provider="local",
        region="kind",
        console_image_tag_default="v26.0.0",
        operator_namespace="fairlead-system",
    )


def test_values_are_yaml_of_their_kind(configured: Configured) -> None:
    made = configured.settings(
        create_console=True,
        environmentd_sql_port=1,
        environmentd_availability_zones=["a", "b"],
        environmentd_node_selector={"disk": "ssd"},
        environmentd_toleration=[{"key": "a"}, {"key": "b"}],
        environmentd_default_resources={"limits": {"memory": "1Gi"}},
        environmentd_cluster_replica_sizes={"25cc": {"workers": 1}},
        default_certificate_specs={"internal": {"issuerRef": {"name": "ca"}}},
        bootstrap_builtin_system_cluster_replication_factor=0,
        segment_api_key=None,
    )

    assert made.create_console is True
    assert made.ports.sql == 1
    assert made.availability_zones == ("a", "b")
    assert made.environmentd.node_selector == {"disk": "ssd"}
    assert made.environmentd.tolerations == ({"key": "a"}, {"key": "b"})
    assert made.environmentd.default_resources == {"limits": {"memory": "1Gi"}}
    assert made.cluster_replica_sizes == '{"25cc":{"workers":1}}'
    assert made.default_certificates == DefaultCertificates(internal=CertificateSpec(issuer_ref=IssuerRef("ca")))
    assert made.replication_factors == (("bootstrap-builtin-system-cluster-replication-factor", 0),)
    assert made.segment_api_key is None


def test_json_may_be_text(configured: Configured) -> None:
    made = configured.settings(environmentd_cluster_replica_sizes='{"a": {}}', console_affinity='{"nodeAffinity": {}}')

    assert made.cluster_replica_sizes == '{"a": {}}'
    assert made.console.affinity == {"nodeAffinity": {}}


def test_the_webhook_is_that_of_the_operator_unless_the_section_says_otherwise(configured: Configured) -> None:
    files = ("--certificate-file=c", "--certificate-key-file=k", "--certificate-authority-file=a")

    usual = configured.conversion(*files)
    own = configured.conversion(*files, webhook_service_name="other", tls_cert="own", webhook_listen_address=":1")

    assert (usual.service_name, usual.service_namespace) == ("fairlead", "fairlead-system")
    assert (usual.authority_file, usual.certificate_file, usual.key_file) == ("a", "c", "k")
    assert (own.service_name, own.port) == ("other", 1)
    assert (own.authority_file, own.certificate_file, own.key_file) == ("a", "own", "k")
    assert configured.conversion().certificate_file == "/etc/tls/tls.crt"


def test_both_parts_have_their_section(configured: Configured) -> None:
    sections = {
        "environments": NEEDED,
        "zones": {"interval": "7s", "zone-tracker": "times", "phased-deployments": True, "pods-timeout": "2s"},
    }

    made = configured.options(sections, "--parts=zones,environments", "--webhooks", "--pods-timeout=3s")

    assert names(made) == ("zones", "environments")
    assert made.interval == 7.0
    assert zone_settings(made).tracker_name == "times"
    assert zone_settings(made).phased_deployments is True
    assert zone_settings(made).pods_timeout == 3.0, "the command line wins"
    assert environments_options(made).conversion is not None


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("regoin", "x", "environments.regoin is unknown (did you mean region?): remove it or correct its name"),
        ("kubeconfig", "x", "environments.kubeconfig is unknown: remove it or correct its name"),
        ("region", 1.10, "environments.region is no text: put it in quotes"),
        ("region", "", "environments.region is empty: give a value, or leave it out"),
        ("region", None, "environments.region is missing: set it to the region of the cluster, such as us-east-1"),
        ("aws-account-id", 12, "environments.aws-account-id is no text: put it in quotes"),
        ("create-console", "yes", "environments.create-console is neither true nor false: set it to one of them"),
        ("console-http-port", 1.5, "environments.console-http-port is no number: set it to a whole number"),
        ("console-http-port", True, "environments.console-http-port is no number: set it to a whole number"),
        ("console-http-port", 0, 'environments.console-http-port is "0": set it to a port from 1 to 65535'),
        ("console-image-tag-map", ["a"], "environments.console-image-tag-map is no mapping of texts: write it as key:"),
        ("console-node-selector", {"a": True}, "environments.console-node-selector is no mapping of texts: write it"),
        ("environmentd-availability-zones", [1], "environments.environmentd-availability-zones is no list of texts:"),
        ("console-affinity", {"x": 1}, 'environments.console-affinity has the unknown key "x"'),
        ("cloud-provider", "aws", "environments.aws-account-id is missing: environments.cloud-provider is aws, which"),
        (
            "environmentd-affinity",
            {"nodeAffinity": yaml.safe_load("2020-01-01")},
            "environments.environmentd-affinity holds what JSON has no word for (Object of type date",
        ),
    ],
)
def test_a_mistake_names_its_key(configured: Configured, key: str, value: object, told: str) -> None:
    said = configured.sentence({"environments": {**NEEDED, key: value}}, "--parts=environments")

    assert said.startswith(told)


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"zones": {"intervall": "1s"}}, "zones.intervall of {} is unknown (did you mean interval?): remove it"),
        ({"zones": {"interval": 5}}, "zones.interval of {} is 5: write a duration such as 5s"),
        ({"zones": {"zone-tracker": 5}}, "zones.zone-tracker of {} is of the wrong kind: write a text, in quotes"),
        ({"zones": {"phased-deployments": "x"}}, "zones.phased-deployments of {} is of the wrong kind: write true or"),
        ({"zones": ["x"]}, "the section zones of {} is no mapping: write its settings as key: value"),
        ({"zone": {}}, "{} has a section zone (did you mean zones?), but --parts has zones: name it there, or"),
        ({"environments": {}}, "{} has a section environments, but --parts has zones: name it there, or remove it"),
        (["x"], "{} is no mapping: write a section per part, such as environments:"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(configured: Configured, sections: object, told: str) -> None:
    assert configured.sentence(sections).startswith(told.format(configured.path))


def test_an_empty_file_says_nothing(configured: Configured) -> None:
    assert zone_settings(configured.written("")).pods_timeout == 5.0


def test_what_is_no_yaml_or_no_file_is_refused(configured: Configured) -> None:
    with pytest.raises(ValueError, match=r"config\.yaml is not YAML: "):
        configured.written("{")
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(ValueError, match="which cannot be read"):
        options_of(parser.parse_args([f"--config={configured.path.parent}"]))


def test_environments_need_their_section(configured: Configured) -> None:
    assert configured.sentence({}, "--parts=environments") == (
        "--parts names environments: give their settings in a section environments: of --config FILE"
    )
