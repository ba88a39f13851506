"""What the flags of `vela-core` come down to, once they are known to fit each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.contracts.plans import flags
from fairlead.contracts.plans.problems import problems as setting_problems
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flag_kinds import ADDRESS, EVERYWHERE, MOST_PORT, NAME_ADVICE
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.names import is_name
from fairlead.engine.program import Program, identity
from kubeloop.durations import format_go

if TYPE_CHECKING:
    from fairlead.engine.options import OperatorOptions, WebhookOptions

PROCESS = "vela-core"
NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
ORGANISATION = "vela-core"
READY, ALIVE, METRICS = "/readyz", "/healthz", "/metrics"
NONE = "0"
"""Instead of an address: nothing is served."""
JITTER = 1.2
"""By how much a deadline exceeds the time between two tries at least, so that there are two."""


def options_of(given: Given, _: Mapping[str, str] = {}) -> OperatorOptions:
    """What the flags come down to; raises FlagError with one line that says what to change."""
    from fairlead.contracts.plans.contract import CONTRACT
    from fairlead.engine.options import LeaseTimes, OperatorOptions, PartOptions
    from fairlead.engine.serving.plain_paths import PlainPaths

    settings = _settings(given)
    if problem := next(problems(given, settings), None):
        raise FlagError(problem)
    probes, metrics = _address(given, flags.HEALTH), _address(given, flags.METRICS)
    is_shared = probes is not None and probes == metrics
    return OperatorOptions(
        process=PROCESS,
        parts=(PartOptions(CONTRACT, settings),),
        log_level="debug" if given[flags.DEBUG] else "info",
        server_port=None if probes is None else probes[1],
        server_host=EVERYWHERE if probes is None else probes[0],
        plain_paths=PlainPaths(ready=(READY,), alive=(ALIVE,), metrics=(METRICS,) if is_shared else ()),
        ready_when_served=True,
        config_file=given[flags.KUBECONFIG],
        resync=given[flags.RESYNC] if given.has(flags.RESYNC) else None,
        qps=max(given[flags.QPS], 0.0),
        burst=given[flags.BURST],
        lease=CONTRACT.lease if given[flags.ELECTS] else None,
        lease_times=LeaseTimes(given[flags.LEASE_DURATION], given[flags.RENEW_DEADLINE], given[flags.RETRY_PERIOD]),
        identity=identity(),
        webhooks=_webhooks(given) if given[flags.WEBHOOKS] else None,
        metrics_address=None if is_shared else metrics,
    )


def _settings(given: Given) -> PlanSettings:
    return PlanSettings(
        metrics_server=given[flags.METRICS_SERVER],
        mesh_provider=given[flags.MESH],
        revision_limit=given[flags.REVISION_LIMIT],
        application_revision_limit=given[flags.APPLICATION_LIMIT],
        system_namespace=given[flags.SYSTEM_NAMESPACE],
        operator_namespace=given[flags.ELECTION_NAMESPACE],
        concurrent=given[flags.CONCURRENT],
        reconcile_timeout=given[flags.RECONCILE_TIMEOUT],
        slack_url=given[flags.SLACK_URL],
        slack_user=given[flags.SLACK_USER],
        slack_channel=given[flags.SLACK_CHANNEL],
        event_webhook=given[flags.EVENT_WEBHOOK],
        registers_kinds=given[flags.REGISTERS],
    )


def _address(given: Given, flag: Flag[str]) -> tuple[str, int] | None:
    """Host and port; None: nothing is served. Raises FlagError."""
    text = given[flag]
    if text in ("", NONE):
        return None
    host, _, port = text.rpartition(":")
    try:
        return ADDRESS.read((f"127.0.0.1:{port}" if host == "localhost" else text,))
    except ValueError as error:
        raise FlagError(f"-{flag.name} {error}; {NONE} serves nothing") from error


def _webhooks(given: Given) -> WebhookOptions:
    from fairlead.engine.options import WebhookOptions

    folder, secret = Path(given[flags.CERTIFICATES]), given[flags.WEBHOOK_SECRET]
    service, home = given[flags.WEBHOOK_SERVICE], own_namespace()
    return WebhookOptions(
        port=given[flags.WEBHOOK_PORT],
        certificate_file="" if secret else str(folder / "tls.crt"),
        key_file="" if secret else str(folder / "tls.key"),
        secret=secret,
        dns_name=f"{service}.{home}.svc",
        organisation=ORGANISATION,
        renews=True,
        injects=bool(secret),
    )


def own_namespace(file: Path = NAMESPACE_FILE) -> str:
    """That of the account which the pod runs under."""
    try:
        return file.read_text().strip() or flags.USUAL.system_namespace
    except OSError:
        return flags.USUAL.system_namespace


def problems(given: Given, settings: PlanSettings) -> Iterator[str]:
    """What is wrong with the values, the first of which ends the process."""
    yield from setting_problems(settings, "-{}".format)
    if not 0 <= given[flags.WEBHOOK_PORT] <= MOST_PORT:
        yield f"-{flags.WEBHOOK_PORT.name} is {given[flags.WEBHOOK_PORT]}: set it to a port from 0 to {MOST_PORT}"
    for name in (flags.ELECTION_NAMESPACE, flags.WEBHOOK_SECRET, flags.WEBHOOK_SERVICE):
        if given[name] and not is_name(given[name]):
            yield f'-{name.name} is "{given[name]}": {NAME_ADVICE}'
    if given[flags.WEBHOOK_SECRET] and not given[flags.WEBHOOK_SERVICE]:
        yield f"-{flags.WEBHOOK_SERVICE.name} is empty: name the Service that the API server calls"
    duration, deadline, retry = (
        given[each] for each in (flags.LEASE_DURATION, flags.RENEW_DEADLINE, flags.RETRY_PERIOD)
    )
    if not duration > deadline > retry * JITTER > 0 or duration < 1:
        shown = ", ".join(format_go(each) for each in (duration, deadline, retry))
        wanted = f"1s or more, above the renew deadline, and that above {JITTER:g} times the retry period"
        yield f"-{flags.LEASE_DURATION.name}, renew deadline and retry period are {shown}: set the first to {wanted}"
    if given.has(flags.RESYNC) and given[flags.RESYNC] <= 0:
        yield f"-{flags.RESYNC.name} is {format_go(given[flags.RESYNC])}: set it to a time longer than 0"
    if not math.isfinite(given[flags.QPS]):
        yield f"-{flags.QPS.name} is {given[flags.QPS]}: set it to a number, or to 0 for no limit"
    if given[flags.QPS] > 0 and given[flags.BURST] < 1:
        yield f"-{flags.BURST.name} is {given[flags.BURST]}: set it to 1 or more, or -{flags.QPS.name} to 0"


def warnings(given: Given) -> Iterator[str]:
    """One sentence for each word and each flag that is not used."""
    if given.rest:
        yield f'"{given.rest[0]}" is no flag: it and everything after it is ignored; write booleans as -flag=true'
    for flag in flags.UNUSED:
        if given.has(flag):
            yield f"-{flag.name} is taken and has no effect here"


PROGRAM = Program(
    name=PROCESS,
    dialect="go",
    flags=flags.FLAGS,
    options=options_of,
    warnings=warnings,
)
