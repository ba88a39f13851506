"""What the flags of the environment contract come down to, once they are known to fit each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from fairlead.contracts.environments import flags
from fairlead.contracts.environments.kinds import LEASE
from fairlead.contracts.environments.settings import (
    ConversionOptions,
    DefaultCertificates,
    EnvironmentsOptions,
    NetworkPolicies,
    Placement,
    Ports,
    Settings,
)
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.engine.program import CommonOptions, Program, Section

if TYPE_CHECKING:
    from fairlead.engine.options import OperatorOptions

PROCESS = "orchestratord"
SERVICE = "fairlead"
"""By which the API server finds the conversion webhook of `fairlead operator`, unless a section says otherwise."""
LEVELS = {"trace": "debug", "debug": "debug", "info": "info", "warn": "warn", "error": "error", "off": "error"}
TARGETS = (PROCESS, f"mz_{PROCESS}")


def settings_of(given: Given) -> Settings:
    """Raises FlagError with a sentence."""
    check(given)
    return Settings(
        cloud_provider=given[flags.CLOUD],
        region=given[flags.REGION],
        operator_namespace=given[flags.SERVICE_NAMESPACE],
        operator_labels=given[flags.LABELS],
        aws_account_id=given[flags.ACCOUNT],
        environmentd_iam_role_arn=given[flags.IAM_ROLE],
        environmentd_connection_role_arn=given[flags.CONNECTION_ROLE],
        aws_secrets_controller_tags=given[flags.TAGS],
        availability_zones=given[flags.ZONES],
        helm_chart_version=given[flags.CHART],
        secrets_controller=given[flags.SECRETS],
        collect_pod_metrics=given[flags.POD_METRICS],
        prometheus_scrape_annotations=given[flags.SCRAPING],
        security_context=given[flags.CONTEXT],
        internal_statement_logging=given[flags.INTERNAL_LOGGING],
        disable_statement_logging=given[flags.NO_LOGGING],
        segment_api_key=given[flags.SEGMENT_KEY],
        segment_client_side=given[flags.SEGMENT_CLIENT],
        image_pull_policy=cast("Literal['always', 'if-not-present', 'never']", given[flags.PULL_POLICY]),
        cluster_replica_sizes=given[flags.REPLICA_SIZES],
        bootstrap_sizes=tuple((flag.name, size) for flag in flags.BOOTSTRAP_SIZES if (size := given[flag])),
        replication_factors=tuple((flag.name, factor) for flag in flags.FACTORS if (factor := given[flag]) is not None),
        allowed_origins=given[flags.ORIGINS_FLAG],
        internal_console_proxy_url=given[flags.PROXY],
        console_image_tag_default=given[flags.CONSOLE_TAG],
        console_image_tags=given[flags.CONSOLE_TAGS],
        create_balancers=given[flags.BALANCERS],
        create_console=given[flags.CONSOLES],
        environmentd=_placement(given, "environmentd"),
        clusterd=_placement(given, "clusterd"),
        balancerd=_placement(given, "balancerd"),
        console=_placement(given, "console"),
        ephemeral_volume_class=given[flags.VOLUME_CLASS],
        scheduler_name=given[flags.SCHEDULER],
        network_policies=_policies(given),
        ports=_ports(given),
        default_certificates=given[flags.CERTIFICATES] or DefaultCertificates(),
        disable_license_key_checks=given[flags.NO_LICENSE],
        license_keys=_keys(given),
        opentelemetry_endpoint=given[flags.TELEMETRY],
        sentry_dsn=given[flags.SENTRY],
        sentry_environment=given[flags.SENTRY_ENVIRONMENT],
        url_template=given[flags.URLS],
    )


def _placement(given: Given, program: str) -> Placement:
    resources = flags.DEFAULT_RESOURCES.get(program)
    return Placement(
        node_selector=given[flags.NODES[program]],
        affinity=given[flags.AFFINITIES[program]],
        tolerations=given[flags.TOLERATIONS[program]],
        default_resources=None if resources is None else given[resources],
    )


def _policies(given: Given) -> NetworkPolicies:
    return NetworkPolicies(
        internal=given[flags.INTERNAL],
        ingress=given[flags.INGRESS],
        egress=given[flags.EGRESS],
        ingress_cidrs=given[flags.INGRESS_RANGES],
        egress_cidrs=given[flags.EGRESS_RANGES],
    )


def _ports(given: Given) -> Ports:
    return Ports(
        sql=given[flags.SQL_PORT],
        http=given[flags.HTTP_PORT],
        internal_sql=given[flags.INTERNAL_SQL_PORT],
        internal_http=given[flags.INTERNAL_HTTP_PORT],
        internal_persist_pubsub=given[flags.PUBSUB_PORT],
        balancerd_sql=given[flags.BALANCERD_SQL_PORT],
        balancerd_http=given[flags.BALANCERD_HTTP_PORT],
        balancerd_internal_http=given[flags.BALANCERD_INTERNAL_PORT],
        console_http=given[flags.CONSOLE_PORT],
    )


def conversion_of(given: Given) -> ConversionOptions:
    host, port = given[flags.WEBHOOK_ADDRESS]
    return ConversionOptions(
        service_name=given[flags.SERVICE_NAME],
        service_namespace=given[flags.SERVICE_NAMESPACE],
        service_port=given[flags.SERVICE_PORT],
        host=host,
        port=port,
        url=given[flags.WEBHOOK_URL],
        authority_file=given[flags.TLS_CA],
        certificate_file=given[flags.TLS_CERT],
        key_file=given[flags.TLS_KEY],
        reload_interval=given[flags.RELOAD],
        columns=given[flags.COLUMNS_FLAG],
    )


def check(given: Given) -> None:
    """Raises FlagError where flags do not fit each other."""
    if given[flags.CLOUD] == "aws" and not given[flags.ACCOUNT]:
        raise FlagError(f"{given.place(flags.ACCOUNT)} is missing: {given.place(flags.CLOUD)} is aws, which needs it")
    for pod in (flags.ENVIRONMENTD_PORTS, flags.BALANCERD_PORTS):
        _check_ports(given, pod)
    for switch, ranges in ((flags.INGRESS, flags.INGRESS_RANGES), (flags.EGRESS, flags.EGRESS_RANGES)):
        if given[switch] and not given[ranges]:
            raise FlagError(
                f"{given.place(switch)} without {given.place(ranges)} would let nothing through:"
                " name what may pass, 0.0.0.0/0 for everything"
            )


def _check_ports(given: Given, pod: tuple[Flag[int], ...]) -> None:
    used: dict[int, str] = {}
    for flag in pod:
        other = used.setdefault(given[flag], given.place(flag))
        if other != given.place(flag):
            raise FlagError(f"{given.place(flag)} is {given[flag]}, as {other} is: give each port of a pod once")


def _keys(given: Given) -> tuple[bytes, ...]:
    return tuple(_key(name, given.place(flags.LICENSE_KEYS)) for name in given[flags.LICENSE_KEYS])


def _key(name: str, place: str) -> bytes:
    try:
        text = Path(name).read_bytes()
    except OSError as error:
        raise FlagError(f"{place} names {name}, which cannot be read ({error.strerror}): correct the path") from error
    from fairlead.contracts.environments.decide.license import is_public_key

    if not is_public_key(text):
        raise FlagError(f"{place} names {name}, which is no RSA public key in PEM: license keys are signed with RSA")
    return text


def options_of(given: Given, variables: Mapping[str, str]) -> OperatorOptions:
    """What the flags come down to; raises FlagError with one sentence that says what to change."""
    from fairlead.contracts.environments.contract import CONTRACT
    from fairlead.engine.options import OperatorOptions, PartOptions

    host, port = given[flags.METRICS_ADDRESS]
    return OperatorOptions(
        process=PROCESS,
        parts=(PartOptions(CONTRACT, _part_settings(given)),),
        log_level=level_of(given),
        log_format="json" if given[flags.LOG_FORMAT] == "json" else "logfmt",
        server_host=host,
        server_port=port,
        config_file=given[flags.KUBECONFIG],
        context=given[flags.KUBECONFIG_CONTEXT],
        lease=LEASE,
        identity=given[flags.IDENTITY] or variables.get("HOSTNAME") or _random(),
    )


def level_of(given: Given) -> str:
    """The level for this program of `info` or `warn,mz_orchestratord=trace`; the last directive of a kind counts."""
    flag = flags.LOG_FILTER if given[flags.LOG_FILTER] else flags.STARTUP_FILTER
    general, own = "", ""
    for directive in filter(None, (part.strip() for part in given[flag].split(","))):
        target, equals, word = directive.partition("=")
        level = LEVELS.get((word if equals else target).lower())
        if level is None:
            raise FlagError(
                f'{given.place(flag)} holds "{directive}": write a level (trace, debug, info, warn, error, off), or'
                " target=level, separated by commas"
            )
        if not equals:
            general = level
        elif target.partition("::")[0] in TARGETS:
            own = level
    return own or general or "info"


def _random() -> str:
    import uuid

    return f"{PROCESS}-{uuid.uuid4()}"


PROGRAM = Program(name=PROCESS, dialect="clap", flags=flags.FLAGS, variables="ORCHESTRATORD_", options=options_of)


def _defaults(common: CommonOptions) -> Mapping[str, object]:
    """The certificate of the command line serves where the section names no other."""
    files = (
        (flags.TLS_CA, common.authority_file),
        (flags.TLS_CERT, common.certificate_file),
        (flags.TLS_KEY, common.key_file),
    )
    return {flags.SERVICE_NAME.name: SERVICE, **{flag.name: name for flag, name in files if name}}


def _part_settings(given: Given, _: CommonOptions | None = None) -> EnvironmentsOptions:
    return EnvironmentsOptions(settings=settings_of(given), conversion=conversion_of(given))


SECTION = Section(
    flags=flags.CONTRACT,
    missing="--parts names environments: give their settings in a section environments: of --config FILE",
    defaults=_defaults,
    settings=_part_settings,
)
