"""The flags of `orchestratord`: those of the contract, what they come down to, and what is refused."""

from __future__ import annotations

import json

import pytest

from fairlead.cli.flags.clap import parse
from fairlead.contracts.environments.kinds import CertificateSpec, IssuerRef, Json
from fairlead.contracts.environments.options import PROGRAM
from fairlead.contracts.environments.settings import (
    ORIGINS,
    ConversionOptions,
    DefaultCertificates,
    NetworkPolicies,
    Placement,
    Ports,
    Settings,
)
from fairlead.core.flags import FlagError
from tests.cli.environments import CONTRACT, OWN, PROGRAMS, REQUIRED, conversion, options, sentence, settings
from tests.operator_parts import names


def test_the_flags_are_exactly_those_of_the_contract_and_our_own() -> None:
    assert {flag.name for flag in PROGRAM.flags} == CONTRACT | OWN
    assert len(PROGRAM.flags) == len(CONTRACT) + len(OWN)


def test_required_flags_alone_mean_the_defaults_of_the_contract() -> None:
    made = options()

    assert made.process == "orchestratord"
    assert names(made) == ("environments",)
    assert made.namespaces == ()
    assert (made.server_host, made.server_port) == ("::", 3100)
    assert (made.lease, made.home, made.rejoins) == ("orchestratord", "materialize", True)
    assert (made.log_level, made.log_format) == ("info", "logfmt")
    assert settings() == Settings(
        cloud_provider="local", region="kind", operator_namespace="materialize", console_image_tag_default="v26.0.0"
    )
    assert settings().allowed_origins == ORIGINS
    assert conversion() == ConversionOptions(
        service_name="mz-operator",
        service_namespace="materialize",
        service_port=8001,
        host="::",
        port=8001,
        authority_file="/etc/tls/ca.crt",
        certificate_file="/etc/tls/tls.crt",
        key_file="/etc/tls/tls.key",
        reload_interval=3600.0,
    )


@pytest.mark.parametrize("name", REQUIRED)
def test_a_required_flag_that_is_missing_is_named(name: str) -> None:
    rest = [f"--{other}={value}" for other, value in REQUIRED.items() if other != name]

    with pytest.raises(FlagError, match=f"^--{name} is missing: set it to "):
        parse(PROGRAM.name, PROGRAM.flags, rest, {}, PROGRAM.variables)


TEXTS = {
    "environmentd-iam-role-arn": "environmentd_iam_role_arn",
    "environmentd-connection-role-arn": "environmentd_connection_role_arn",
    "aws-account-id": "aws_account_id",
    "helm-chart-version": "helm_chart_version",
    "secrets-controller": "secrets_controller",
    "segment-api-key": "segment_api_key",
    "internal-console-proxy-url": "internal_console_proxy_url",
    "ephemeral-volume-class": "ephemeral_volume_class",
    "scheduler-name": "scheduler_name",
    "opentelemetry-endpoint": "opentelemetry_endpoint",
    "sentry-dsn": "sentry_dsn",
    "sentry-environment": "sentry_environment",
}


@pytest.mark.parametrize(("flag", "field"), TEXTS.items())
def test_texts_reach_their_setting(flag: str, field: str) -> None:
    assert getattr(settings(f"--{flag}=abc"), field) == "abc"
    assert getattr(settings(f"--{flag}", "abc"), field) == "abc"
    assert sentence(f"--{flag}=") == f"--{flag} is empty: give a value, or leave it out"


SWITCHES = {
    "collect-pod-metrics": "collect_pod_metrics",
    "enable-prometheus-scrape-annotations": "prometheus_scrape_annotations",
    "enable-security-context": "security_context",
    "enable-internal-statement-logging": "internal_statement_logging",
    "disable-statement-logging": "disable_statement_logging",
    "segment-client-side": "segment_client_side",
    "create-balancers": "create_balancers",
    "create-console": "create_console",
    "disable-license-key-checks": "disable_license_key_checks",
}


@pytest.mark.parametrize(("flag", "field"), SWITCHES.items())
def test_switches_are_on_by_name_and_say_so_with_a_value(flag: str, field: str) -> None:
    assert getattr(settings(), field) is False
    assert getattr(settings(f"--{flag}"), field) is True
    assert getattr(settings(f"--{flag}=true"), field) is True
    assert getattr(settings(f"--{flag}=false"), field) is False
    assert sentence(f"--{flag}=maybe") == f'--{flag} is "maybe": set it to true or false'


PORTS = {
    "environmentd-sql-port": "sql",
    "environmentd-http-port": "http",
    "environmentd-internal-sql-port": "internal_sql",
    "environmentd-internal-http-port": "internal_http",
    "environmentd-internal-persist-pubsub-port": "internal_persist_pubsub",
    "balancerd-sql-port": "balancerd_sql",
    "balancerd-http-port": "balancerd_http",
    "balancerd-internal-http-port": "balancerd_internal_http",
    "console-http-port": "console_http",
}


@pytest.mark.parametrize(("flag", "field"), PORTS.items())
def test_ports_reach_their_setting(flag: str, field: str) -> None:
    assert settings(f"--{flag}=1234").ports == Ports(**{field: 1234})
    for wrong in ("0", "65536", "x", "-1", "1.5", "٣", "9" * 5000):
        assert sentence(f"--{flag}={wrong}") == f'--{flag} is "{wrong}": set it to a port from 1 to 65535'


def test_a_pod_cannot_listen_twice_at_a_port() -> None:
    assert sentence("--environmentd-http-port=6878") == (
        "--environmentd-internal-http-port is 6878, as --environmentd-http-port is: give each port of a pod once"
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_has_its_place(program: str) -> None:
    affinity: Json = {"nodeAffinity": {"x": 1}}
    one: Json = {"key": "a", "operator": "Exists"}
    two: Json = {"key": "b"}

    made = settings(
        f"--{program}-node-selector=disk=ssd",
        f"--{program}-node-selector=zone=a=b",
        f"--{program}-affinity={json.dumps(affinity)}",
        f"--{program}-toleration={json.dumps(one)}",
        f"--{program}-toleration={json.dumps([two])}",
    )

    expected = Placement(node_selector={"disk": "ssd", "zone": "a=b"}, affinity=affinity, tolerations=(one, two))
    assert {name: getattr(made, name) for name in PROGRAMS} == dict.fromkeys(PROGRAMS, Placement()) | {
        program: expected
    }


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program != "clusterd"])
def test_programs_have_default_resources(program: str) -> None:
    resources: Json = {"limits": {"memory": "4Gi"}}

    made = settings(f"--{program}-default-resources={json.dumps(resources)}")

    assert getattr(made, program) == Placement(default_resources=resources)


def test_lists_maps_sizes_and_factors_reach_their_settings() -> None:
    sizes = '{ "25cc": {"workers": 1} }'

    made = settings(
        "--aws-secrets-controller-tags=Team=a",
        "--aws-secrets-controller-tags=Stage=b",
        "--environmentd-availability-zones=z1",
        "--environmentd-availability-zones=z2",
        "--environmentd-allowed-origins=https://one",
        "--console-image-tag-map=v1=v2",
        "--orchestratord-pod-selector-labels=app=mz",
        f"--environmentd-cluster-replica-sizes={sizes}",
        "--bootstrap-builtin-catalog-server-cluster-replica-size=50cc",
        "--bootstrap-default-cluster-replica-size=25cc",
        "--bootstrap-builtin-probe-cluster-replication-factor=0",
        "--image-pull-policy=if-not-present",
    )

    assert made.aws_secrets_controller_tags == ("Team=a", "Stage=b")
    assert made.availability_zones == ("z1", "z2")
    assert made.allowed_origins == ("https://one",), "given ones replace the defaults"
    assert made.console_image_tags == {"v1": "v2"}
    assert made.operator_labels == {"app": "mz"}
    assert made.cluster_replica_sizes == sizes, "handed on as it was written"
    assert made.bootstrap_sizes == (
        ("bootstrap-default-cluster-replica-size", "25cc"),
        ("bootstrap-builtin-catalog-server-cluster-replica-size", "50cc"),
    )
    assert made.replication_factors == (("bootstrap-builtin-probe-cluster-replication-factor", 0),)
    assert made.image_pull_policy == "if-not-present"


def test_network_policies_are_switched_one_by_one() -> None:
    made = settings(
        "--network-policies-internal-enabled",
        "--network-policies-egress-enabled",
        "--network-policies-egress-cidrs=10.0.0.0/8",
        "--network-policies-egress-cidrs=fd00::/8",
        "--network-policies-ingress-cidrs=0.0.0.0/0",
    )

    assert made.network_policies == NetworkPolicies(
        internal=True, egress=True, egress_cidrs=("10.0.0.0/8", "fd00::/8"), ingress_cidrs=("0.0.0.0/0",)
    )
    assert sentence("--network-policies-ingress-enabled").startswith(
        "--network-policies-ingress-enabled without --network-policies-ingress-cidrs would let nothing through"
    )


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[::]:8001", ("::", 8001)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        (":8001", ("::", 8001)),
        ("[::1]:0", ("::1", 0)),
        ("127.0.0.1:65535", ("127.0.0.1", 65535)),
    ],
)
def test_addresses_are_read(text: str, address: tuple[str, int]) -> None:
    made = conversion(f"--webhook-listen-address={text}")
    process = options(f"--metrics-listen-address={text}")

    assert (made.host, made.port) == address
    assert (process.server_host, process.server_port) == address


@pytest.mark.parametrize("text", ["", "8001", "localhost:1", "::1:80", "[::]", "[::]:", "1.2.3.4:65536", "[1.2.3:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    assert sentence(f"--webhook-listen-address={text}") == (
        f'--webhook-listen-address is "{text}": set it to an address and a port,'
        " such as [::]:8001, 127.0.0.1:8001 or :8001"
    )


def test_the_webhook_is_where_its_flags_say() -> None:
    column: Json = {"name": "Org", "type": "string", "jsonPath": ".x"}

    made = conversion(
        "--webhook-service-port=443",
        "--tls-ca=a",
        "--tls-cert=b",
        "--tls-key=c",
        "--webhook-cert-reload-interval=1h 30m",
        f"--additional-crd-columns={json.dumps([column])}",
    )

    assert made == ConversionOptions(
        service_name="mz-operator",
        service_namespace="materialize",
        service_port=443,
        authority_file="a",
        certificate_file="b",
        key_file="c",
        reload_interval=5400.0,
        columns=(column,),
    )


def test_the_webhook_may_be_elsewhere() -> None:
    assert conversion("--webhook-url=https://127.0.0.1:8001/convert").url == "https://127.0.0.1:8001/convert"
    for wrong in ("http://a/convert", "https:///convert", "https://u@a/", "https://a/?x", "https://a:b/", "https://["):
        assert sentence(f"--webhook-url={wrong}") == (
            "--webhook-url is no URL that an API server calls: write it as https://host:port/convert"
        )


def test_default_certificates_are_read_by_their_type() -> None:
    specs = {"internal": {"issuerRef": {"name": "ca"}, "dnsNames": ["a"], "privateKeyAlgorithm": "RSA"}}

    made = settings(f"--default-certificate-specs={json.dumps(specs)}")

    assert made.default_certificates == DefaultCertificates(
        internal=CertificateSpec(issuer_ref=IssuerRef("ca"), dns_names=("a",), private_key_algorithm="RSA")
    )
    assert settings("--default-certificate-specs={}").default_certificates == DefaultCertificates()


@pytest.mark.parametrize(
    ("specs", "end"),
    [
        ("{", "is not JSON (Expecting property name enclosed in double quotes at character 2): correct it"),
        ("[]", "is no JSON object: set it to the default certificates"),
        ('{"internl": {}}', 'has the unknown key "internl" (did you mean internal?): the default certificates has'),
        ('{"internal": {"dnsName": []}}', 'has the unknown key "dnsName" (did you mean dnsNames?): a certificate'),
        ('{"internal": {"issuerRef": {"nam": "x"}}}', 'has the unknown key "nam" (did you mean name?): issuerRef has'),
        ('{"internal": {"issuerRef": {}}}', "is not a certificate spec (Object missing required field"),
        ('{"internal": {"dnsNames": "a"}}', "is not a certificate spec (Expected `array | null`"),
        ('{"internal": {"duration": "1 day"}}', "has a duration of internal that is no time"),
        ('{"internal": {"renewBefore": "0s"}}', 'has the renewBefore "0s" of internal: set it to a time longer'),
        ('{"internal": {"privateKeySize": 256}}', "has a privateKeySize of internal without a privateKeyAlgorithm"),
        (
            '{"internal": {"privateKeyAlgorithm": "RSA", "privateKeySize": 1024}}',
            "has the privateKeySize 1024 of internal: RSA needs 2048 or more",
        ),
        (
            '{"internal": {"privateKeyAlgorithm": "ECDSA", "privateKeySize": 255}}',
            "has the privateKeySize 255 of internal: ECDSA has 256, 384 and 521",
        ),
        (
            '{"internal": {"privateKeyAlgorithm": "Ed25519", "privateKeySize": 256}}',
            "has a privateKeySize of internal: Ed25519 has one size, leave it out",
        ),
    ],
)
def test_certificates_that_could_never_be_issued_are_refused(specs: str, end: str) -> None:
    assert sentence(f"--default-certificate-specs={specs}").startswith(f"--default-certificate-specs {end}")


NO_AMOUNTS = "set it to an object of quantities, such as"


@pytest.mark.parametrize(
    ("flag", "value", "end"),
    [
        ("environmentd-default-resources", '{"limits":"4Gi"}', f'"limits" that does not fit: {NO_AMOUNTS}'),
        ("balancerd-default-resources", '{"requests":{"cpu":true}}', f'"requests" that does not fit: {NO_AMOUNTS}'),
        ("console-default-resources", '{"limits":{"memory":"4 Gi"}}', f'"limits" that does not fit: {NO_AMOUNTS}'),
        ("console-default-resources", '{"limits":{"memory":[]}}', f'"limits" that does not fit: {NO_AMOUNTS}'),
        ("console-default-resources", '{"claims":[{}]}', '"claims" that does not fit: set it to a list of objects'),
        ("clusterd-toleration", '{"key":1}', '"key" that does not fit: set it to a text in quotes'),
        (
            "clusterd-toleration",
            '[{"key":"a"},{"effect":{}}]',
            '"effect" that does not fit: set it to a text in quotes',
        ),
        ("environmentd-toleration", '{"tolerationSeconds":"30"}', '"tolerationSeconds" that does not fit: set it to a'),
        ("environmentd-toleration", '{"tolerationSeconds":true}', '"tolerationSeconds" that does not fit: set it to a'),
        ("console-affinity", '{"nodeAffinity":[]}', '"nodeAffinity" that does not fit: set it to a JSON object'),
    ],
)
def test_what_no_pod_could_be_given_is_refused(flag: str, value: str, end: str) -> None:
    assert sentence(f"--{flag}={value}").startswith(f"--{flag} has a value of {end}")


def test_quantities_are_texts_or_numbers_and_a_null_is_nothing() -> None:
    resources: Json = {
        "limits": {"cpu": 1, "memory": "4Gi", "ephemeral-storage": "1e9", "x/y": ".5", "z": 0.5},
        "requests": None,
        "claims": [{"name": "gpu"}],
    }

    made = settings(
        f"--environmentd-default-resources={json.dumps(resources)}",
        '--environmentd-toleration={"key":null,"operator":"Exists","tolerationSeconds":30}',
    )

    assert made.environmentd.default_resources == resources
    assert made.environmentd.tolerations == ({"key": None, "operator": "Exists", "tolerationSeconds": 30},)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("environmentd-cluster-replica-sizes", '{"a":{"scale":%s}}'),
        ("environmentd-default-resources", '{"limits":{"cpu":%s}}'),
        ("default-certificate-specs", '{"internal":{"privateKeySize":%s}}'),
        ("additional-crd-columns", '[{"priority":%s}]'),
        ("console-affinity", '{"nodeAffinity":{"weight":%s}}'),
    ],
)
def test_numbers_that_json_does_not_have_are_refused(flag: str, value: str) -> None:
    for word in ("NaN", "Infinity", "-Infinity"):
        said = sentence(f"--{flag}={value % word}")
        assert said == f"--{flag} holds {word}, which is no number of JSON: correct it"
    assert sentence(f"--{flag}={value % '1e999'}") == f"--{flag} holds a number out of range: correct it"


@pytest.mark.parametrize(
    ("word", "told"),
    [
        (
            "--balancerd-http-port=6875",
            "--balancerd-http-port is 6875, as --balancerd-sql-port is: give each port of a pod once",
        ),
        (
            "--balancerd-internal-http-port=6876",
            "--balancerd-internal-http-port is 6876, as --balancerd-http-port is: give each port of a pod once",
        ),
        ("--cloud-provider=ibm", '--cloud-provider is "ibm": set it to local, docker, mzcompose, cloudtest, aws, gcp,'),
        ("--cloud-provider=aws", "--aws-account-id is missing: --cloud-provider is aws, which needs it"),
        ("--image-pull-policy=Sometimes", '--image-pull-policy is "Sometimes": set it to always, if-not-present or'),
        ("--webhook-service-name=A_b", '--webhook-service-name is "A_b": a name has up to 63'),
        ("--webhook-service-namespace=a.b", '--webhook-service-namespace is "a.b": a name has up to 63'),
        ("--scheduler-name=A b", '--scheduler-name is "A b": a name has up to 253'),
        ("--webhook-cert-reload-interval=soon", "--webhook-cert-reload-interval is no time: "),
        ("--webhook-cert-reload-interval=0s", '--webhook-cert-reload-interval is "0s": set it to 1s or more'),
        ("--webhook-cert-reload-interval=999ms", '--webhook-cert-reload-interval is "999ms": set it to 1s or more'),
        ("--environmentd-node-selector=disk", '--environmentd-node-selector holds "disk": write each entry as key=val'),
        ("--environmentd-affinity={", "--environmentd-affinity is not JSON (Expecting property name"),
        ("--environmentd-affinity=[]", "--environmentd-affinity is no JSON object: set it to an affinity of pods"),
        ('--console-affinity={"nodeAfinity":{}}', '--console-affinity has the unknown key "nodeAfinity" (did you mean'),
        ("--clusterd-toleration=[1]", "--clusterd-toleration is no JSON object: set it to a toleration"),
        ('--balancerd-default-resources={"cpu":1}', '--balancerd-default-resources has the unknown key "cpu"'),
        ("--environmentd-cluster-replica-sizes=[]", "--environmentd-cluster-replica-sizes is no JSON object of sizes"),
        ('--environmentd-cluster-replica-sizes={"a":1}', "--environmentd-cluster-replica-sizes is no JSON object of"),
        ("--additional-crd-columns=x", "--additional-crd-columns is not JSON (Expecting value at character 1)"),
        ('--additional-crd-columns=[{"name":"a"}]', '--additional-crd-columns holds a column without the text "type"'),
        (
            '--additional-crd-columns=[{"name":"a","type":"text","jsonPath":".a"}]',
            '--additional-crd-columns holds a column of type "text": use integer, number',
        ),
        ("--network-policies-egress-cidrs=10.0.0.1/8", '--network-policies-egress-cidrs holds "10.0.0.1/8": write a'),
        (
            "--bootstrap-builtin-system-cluster-replication-factor=-1",
            '--bootstrap-builtin-system-cluster-replication-factor is "-1": set it to a whole number of 0 or more',
        ),
        ("--environmentd-url-template=http://{host}", '--environmentd-url-template is "http://{host}": write a URL'),
        ("--environmentd-url-template=http://{", '--environmentd-url-template is "http://{": write a URL'),
        ("--startup-log-filter=loud", '--startup-log-filter holds "loud": write a level (trace, debug, info, warn,'),
        ("--license-key-public-key=/nowhere", "--license-key-public-key names /nowhere, which cannot be read (No such"),
        ("--regoin=x", "unknown flag --regoin (did you mean region?); `orchestratord --help` lists the flags"),
        ("--region", "--region has no value: write --region=VALUE"),
        ("--zzz", "unknown flag --zzz; `orchestratord --help` lists the flags"),
    ],
)
def test_a_bad_value_is_one_sentence_that_names_its_flag(word: str, told: str) -> None:
    said = sentence(word)

    assert said.startswith(told)
    assert "\n" not in said


def test_a_flag_with_one_value_is_given_once() -> None:
    assert sentence("--region=a", "--region=b") == "--region is given more than once: give it once"
    assert sentence("--console-image-tag-map=a=b", "--console-image-tag-map=a=c") == (
        '--console-image-tag-map holds the key "a" more than once: give it once'
    )


def test_aws_is_taken_with_its_account() -> None:
    made = settings("--cloud-provider=AWS", "--aws-account-id=123456789012")

    assert (made.cloud_provider, made.aws_account_id) == ("aws", "123456789012")


@pytest.mark.parametrize(
    ("filters", "level"),
    [
        ("INFO,mz_orchestratord=TRACE", "debug"),
        ("warn", "warn"),
        ("debug,hyper=error", "debug"),
        ("mz_orchestratord::controller=error,info", "error"),
        ("off", "error"),
        ("hyper=trace", "info"),
    ],
)
def test_log_filters_come_down_to_a_level(filters: str, level: str) -> None:
    assert options(f"--startup-log-filter={filters}").log_level == level
    assert options("--startup-log-filter=info", f"--log-filter={filters}").log_level == level


def test_the_identity_is_the_flag_or_the_host_or_random() -> None:
    assert options("--leader-election-identity=me", HOSTNAME="pod").identity == "me"
    assert options(HOSTNAME="pod").identity == "pod"
    assert options().identity.startswith("orchestratord-")
    assert options().identity != options().identity


def test_a_kubeconfig_is_for_outside_of_clusters() -> None:
    made = options("--kubeconfig=k", "--context=c", "--log-format=json")

    assert (made.config_file, made.context, made.log_format) == ("k", "c", "json")
