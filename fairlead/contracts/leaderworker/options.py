"""What the flags of `lws-manager` and its configuration file come down to; a flag that is given wins over the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairlead.contracts.leaderworker import flags
from fairlead.core.flag_kinds import ADDRESS, EVERYWHERE, NAME_ADVICE
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.names import is_name
from fairlead.engine.program import Program, identity
from kubeloop.durations import format_go, parse_go

if TYPE_CHECKING:
    from fairlead.contracts.leaderworker.configuration import Configuration
    from fairlead.engine.options import MetricsOptions, OperatorOptions, WebhookOptions
    from fairlead.engine.serving.plain_paths import PlainPaths
    from fairlead.engine.serving.tls_limits import TlsLimits

PROCESS = "lws-manager"
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
USUAL_NAMESPACE = "lws-system"
CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108  where installations mount them
METRICS_CERTIFICATES = "/tmp/k8s-metrics-server/serving-certs"  # noqa: S108  likewise
AUTHORITY = "lws-ca"
AUTHORITY_ORGANISATION = "lws"
WEBHOOK_PORT = 9443
READY = "/readyz"
ALIVE = "/healthz"
SWITCH = "ENABLE_WEBHOOKS"
NONE = "0"
"""Instead of an address: nothing is served."""
JITTER = 1.2
"""By how much a deadline exceeds the time between two tries at least, so that there are two."""
GRACE_SECONDS = 10.0
"""That an installation gives to its pods."""
UNKNOWN = "unknown"

T = TypeVar("T")


def options_of(given: Given, variables: Mapping[str, str] = {}) -> OperatorOptions:
    """What flags, file and variables come down to; raises FlagError with one line that says what to change."""
    from fairlead.contracts.leaderworker.configuration import Configuration, read
    from fairlead.contracts.leaderworker.contract import CONTRACT
    from fairlead.contracts.leaderworker.settings import Settings
    from fairlead.engine.options import OperatorOptions, PartOptions

    file = given[flags.CONFIG]
    found = read(file) if file else Configuration()
    told = _Told(given, found)
    if problem := next(problems(told), None):
        raise FlagError(problem)
    gang, home = found.gang_scheduling_management, own_namespace()
    settings = Settings(
        history_limit=given[flags.HISTORY],
        gang_scheduler="" if gang is None else gang.scheduler_provider,
        operator_namespace=home,
        keeps_budgets=given[flags.BUDGETS],
        reviews_evictions=given[flags.EVICTIONS],
    )
    probes = told.address(flags.PROBES, found.health.health_probe_bind_address, "health.healthProbeBindAddress")
    return OperatorOptions(
        process=PROCESS,
        parts=(PartOptions(CONTRACT, settings),),
        log_level="error" if given[flags.LOG_LEVEL] == "panic" else given[flags.LOG_LEVEL],
        log_format="json" if given[flags.ENCODER] == "json" else "logfmt",
        server_port=None if probes is None else probes[1],
        server_host=EVERYWHERE if probes is None else probes[0],
        plain_paths=_paths(found),
        ready_when_served=True,
        grace_seconds=GRACE_SECONDS,
        config_file=given[flags.KUBECONFIG],
        qps=max(told.qps, 0.0),
        burst=told.burst,
        lease=told.lease if told.over(flags.ELECTS, found.leader_election.leader_elect) else None,
        lease_times=told.times,
        identity=identity(),
        webhooks=None if variables.get(SWITCH) == "false" else _webhooks(found, home),
        secure_metrics=_metrics(told),
    )


class _Told:
    """What is given by flags, and by the file where a flag is not given."""

    def __init__(self, given: Given, found: Configuration) -> None:
        from fairlead.engine.options import LeaseTimes

        self.given = given
        self.found = found
        election, connection = found.leader_election, found.client_connection
        self.lock = self.over(flags.LOCK, election.resource_lock or flags.LOCK.default)
        self.lease = self.over(flags.LEASE_NAME, election.resource_name or flags.LEASE_NAME.default)
        self.times = LeaseTimes(
            self._seconds(flags.LEASE_DURATION, election.lease_duration),
            self._seconds(flags.RENEW_DEADLINE, election.renew_deadline),
            self._seconds(flags.RETRY_PERIOD, election.retry_period),
        )
        self.qps = self.over(flags.QPS, connection.qps)
        self.burst = self.over(flags.BURST, connection.burst)

    def over(self, flag: Flag[T], filed: T) -> T:
        return self.given[flag] if self.given.has(flag) else filed

    def place(self, flag: Flag[Any], field: str) -> str:
        """What the user calls it."""
        return f"-{flag.name}" if self.given.has(flag) else field

    def address(self, flag: Flag[str], filed: str, field: str) -> tuple[str, int] | None:
        """Host and port; None: nothing is served. Raises FlagError."""
        text = self.over(flag, filed or flag.default)
        if text in ("", NONE):
            return None
        host, _, port = text.rpartition(":")
        try:
            return ADDRESS.read((f"127.0.0.1:{port}" if host == "localhost" else text,))
        except ValueError as error:
            raise FlagError(f"{self.place(flag, field)} {error}; {NONE} serves nothing") from error

    def _seconds(self, flag: Flag[float], filed: str) -> float:
        """A duration of 0 in the file counts as not given."""
        return self.over(flag, parse_go(filed or "0s") or flag.default)


def own_namespace(file: Path = NAMESPACE_FILE) -> str:
    """That of the account which the pod runs under."""
    try:
        return file.read_text().strip() or USUAL_NAMESPACE
    except OSError:
        return USUAL_NAMESPACE


def problems(told: _Told) -> Iterator[str]:
    """What is wrong with the values, the first of which ends the process."""
    times, history = told.times, told.given[flags.HISTORY]
    if told.lock != flags.LOCK.default:
        yield f'{told.place(flags.LOCK, "leaderElection.resourceLock")} is "{told.lock}": only leases can be held'
    if not is_name(told.lease):
        yield f'{told.place(flags.LEASE_NAME, "leaderElection.resourceName")} is "{told.lease}": {NAME_ADVICE}'
    if not times.duration > times.renew_deadline > times.retry_period * JITTER > 0 or times.duration < 1:
        place = told.place(flags.LEASE_DURATION, "leaderElection.leaseDuration")
        shown = ", ".join(format_go(each) for each in (times.duration, times.renew_deadline, times.retry_period))
        wanted = f"1s or more, above the renew deadline, and that above {JITTER:g} times the retry period"
        yield f"{place}, renew deadline and retry period are {shown}: set the first to {wanted}"
    if not math.isfinite(told.qps):
        place = told.place(flags.QPS, "clientConnection.qps")
        yield f"{place} is {told.qps}: set it to a number, or to 0 for no limit"
    if told.qps > 0 and told.burst < 1:
        yield f"{told.place(flags.BURST, 'clientConnection.burst')} is {told.burst}: set it to 1 or more"
    if history < 0:
        yield f"-{flags.HISTORY.name} is {history}: set it to 0 or more"


def _paths(found: Configuration) -> PlainPaths:
    from fairlead.engine.serving.plain_paths import PlainPaths

    ready, alive = found.health.readiness_endpoint_name or READY, found.health.liveness_endpoint_name or ALIVE
    return PlainPaths(ready=(f"/{ready.lstrip('/')}",), alive=(f"/{alive.lstrip('/')}",), metrics=())


def _webhooks(found: Configuration, home: str) -> WebhookOptions:
    from fairlead.engine.options import KeptAuthority, WebhookOptions

    given, names = found.webhook, found.internal_cert_management
    folder = Path(given.cert_dir or CERTIFICATES)
    return WebhookOptions(
        port=given.port if given.port > 0 else WEBHOOK_PORT,
        host=given.host or EVERYWHERE,
        certificate_file="" if names.enable else str(folder / "tls.crt"),
        key_file="" if names.enable else str(folder / "tls.key"),
        secret=names.webhook_secret_name,
        dns_name=f"{names.webhook_service_name}.{home}.svc",
        organisation=AUTHORITY_ORGANISATION,
        renews=True,
        injects=names.enable,
        authority=KeptAuthority(AUTHORITY, AUTHORITY_ORGANISATION),
        tls=_tls(found),
    )


def _metrics(told: _Told) -> MetricsOptions | None:
    from fairlead.engine.options import MetricsOptions

    address = told.address(flags.METRICS, told.found.metrics.bind_address, "metrics.bindAddress")
    if address is None:
        return None
    return MetricsOptions(
        host=address[0],
        port=address[1],
        certificate_file=f"{METRICS_CERTIFICATES}/tls.crt",
        key_file=f"{METRICS_CERTIFICATES}/tls.key",
        tls=_tls(told.found),
    )


def _tls(found: Configuration) -> TlsLimits:
    from fairlead.contracts.leaderworker.cipher_suites import openssl_names
    from fairlead.engine.serving.tls_limits import TlsLimits

    return TlsLimits(found.tls.min_version == "VersionTLS13", openssl_names(found.tls.cipher_suites))


def version(given: Given) -> str:
    if not given[flags.VERSION]:
        return ""
    from fairlead import __version__

    return f"Version: v{__version__}\nBuild Date: {UNKNOWN}\nGit Commit: {UNKNOWN}"


def warnings(given: Given) -> Iterator[str]:
    """A sentence for words that are no flags."""
    if given.rest:
        yield f'"{given.rest[0]}" is no flag: it and everything after it is ignored; write booleans as -flag=true'


PROGRAM = Program(
    name=PROCESS,
    dialect="go",
    flags=flags.FLAGS,
    options=options_of,
    asked=version,
    warnings=warnings,
)
