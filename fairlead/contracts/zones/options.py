"""What the flags of the zone contract come down to, once they are known to fit each other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fairlead.contracts.zones import flags
from fairlead.core.flag_kinds import DNS_ADVICE, NAME_ADVICE
from fairlead.core.flags import FlagError, Given
from fairlead.core.names import is_name
from fairlead.engine.program import FORMATS, LEVELS, Program, identity
from kubeloop.durations import format_go

if TYPE_CHECKING:
    from fairlead.contracts.zones.settings import Settings
    from fairlead.engine.options import OperatorOptions, WebhookOptions
    from fairlead.engine.serving.cluster_label import ClusterLabel

PROCESS = "rollout-operator"

MOST_IN_ORGANISATION = 64
NO_TIMEOUT = 86400.0
"""Seconds: a client time-out of 0 or less asks for none, and no call of the operator lives for a day."""


def options_of(given: Given, _: Mapping[str, str] = {}) -> OperatorOptions:
    """What the flags come down to; raises FlagError with one line that says what to change."""
    problem = next(problems(given), None)
    if problem is not None:
        raise FlagError(problem)
    from fairlead.contracts.zones.contract import CONTRACT
    from fairlead.engine.options import OperatorOptions, PartOptions

    timeout = given[flags.CLIENT_TIMEOUT]
    return OperatorOptions(
        process=PROCESS,
        namespaces=(given[flags.NAMESPACE],),
        parts=(PartOptions(CONTRACT, _settings(given)),),
        log_level=given[flags.LOG_LEVEL],
        log_format=given[flags.LOG_FORMAT],
        server_port=given[flags.PORT],
        api_url=given[flags.API_URL],
        config_file=given[flags.CONFIG_FILE],
        by_contract=True,
        interval=max(given[flags.INTERVAL], 0.0) if given.has(flags.INTERVAL) else None,
        client_timeout=timeout if timeout > 0 else NO_TIMEOUT,
        qps=max(given[flags.CLIENT_QPS], 0.0) if given.has(flags.CLIENT_QPS) else 0.0,
        burst=given[flags.CLIENT_BURST],
        lease=None,
        identity=identity(),
        webhooks=_webhooks(given) if given[flags.TLS] else None,
        cluster=_cluster(given) if given[flags.VALIDATION] else None,
    )


def _settings(given: Given) -> Settings:
    from fairlead.contracts.zones.settings import Settings

    pods = given[flags.PODS_TIMEOUT]
    return Settings(
        cluster_domain=given[flags.CLUSTER_DOMAIN],
        pods_timeout=pods if pods > 0 else NO_TIMEOUT,
        request_timeout=given[flags.TLS_TIMEOUT],
        use_zone_tracker=given[flags.ZONE_TRACKER],
        tracker_name=given[flags.ZONE_TRACKER_MAP],
        stamp_timeout=given[flags.READY_PATCH_TIMEOUT],
    )


def _webhooks(given: Given) -> WebhookOptions:
    from fairlead.engine.options import WebhookOptions

    own = not given[flags.SELF_SIGNED]
    return WebhookOptions(
        port=given[flags.TLS_PORT],
        certificate_file=given[flags.TLS_CERT] if own else "",
        key_file=given[flags.TLS_KEY] if own else "",
        secret=given[flags.SELF_SIGNED_SECRET],
        dns_name=given[flags.SELF_SIGNED_DNS],
        organisation=given[flags.SELF_SIGNED_ORG],
        lifetime=given[flags.SELF_SIGNED_EXPIRATION],
        injects=given[flags.UPDATE_CA_BUNDLE],
    )


def _cluster(given: Given) -> ClusterLabel:
    from fairlead.engine.serving.cluster_label import ClusterLabel

    return ClusterLabel(
        given[flags.NAMESPACE],
        given[flags.VALIDATION_SOFT],
        given[flags.VALIDATION_PATHS],
        given[flags.VALIDATION_AGENTS],
    )


def problems(given: Given) -> Iterator[str]:
    """What is wrong with the values, the first of which ends the process."""
    yield from _base_problems(given)
    yield from _zone_problems(given)
    if given[flags.TLS]:
        yield from _tls_problems(given)


def _base_problems(given: Given) -> Iterator[str]:
    if given[flags.LOG_LEVEL] not in LEVELS:
        yield f'-log.level is "{given[flags.LOG_LEVEL]}": set it to {_one_of(LEVELS)}'
    if given[flags.LOG_FORMAT] not in FORMATS:
        yield f'-log.format is "{given[flags.LOG_FORMAT]}": set it to {_one_of(FORMATS)}'
    if not given[flags.NAMESPACE]:
        yield "-kubernetes.namespace is missing: set it to the namespace whose StatefulSets are to be rolled"
    if bool(given[flags.API_URL]) != bool(given[flags.CONFIG_FILE]):
        missing, present = (
            (flags.API_URL, flags.CONFIG_FILE) if given[flags.CONFIG_FILE] else (flags.CONFIG_FILE, flags.API_URL)
        )
        yield f"-{present.name} is set without -{missing.name}: set both, or none of them inside a cluster"
    for port in (flags.PORT, flags.TLS_PORT):
        if not 0 <= given[port] <= 65535:
            yield f"-{port.name} is {given[port]}: set it to a port from 0 to 65535"
    qps = given[flags.CLIENT_QPS]
    if not math.isfinite(qps):
        yield f"-{flags.CLIENT_QPS.name} is {qps}: set it to a number, or to 0 for no limit"
    if qps > 0 and given[flags.CLIENT_BURST] < 1:
        burst = f"-{flags.CLIENT_BURST.name} is {given[flags.CLIENT_BURST]}"
        yield f"{burst}: set it to 1 or more, or -{flags.CLIENT_QPS.name} to 0"


def _zone_problems(given: Given) -> Iterator[str]:
    if not given[flags.CLUSTER_DOMAIN]:
        yield f'-{flags.CLUSTER_DOMAIN.name} is empty: set it to the domain of the cluster, such as "cluster.local."'
    if given[flags.ZONE_TRACKER] and not given[flags.ZONE_TRACKER_MAP]:
        yield f"-{flags.ZONE_TRACKER_MAP.name} is empty: name a ConfigMap, or leave out -{flags.ZONE_TRACKER.name}"
    elif given[flags.ZONE_TRACKER] and not is_name(given[flags.ZONE_TRACKER_MAP]):
        yield f'-{flags.ZONE_TRACKER_MAP.name} is "{given[flags.ZONE_TRACKER_MAP]}": {NAME_ADVICE}'
    if given[flags.VALIDATION_SOFT] and not given[flags.VALIDATION]:
        yield f"-{flags.VALIDATION_SOFT.name} needs -{flags.VALIDATION.name}: set both, or none of them"
    for timeout in (flags.TLS_TIMEOUT, flags.READY_PATCH_TIMEOUT):
        if given[timeout] <= 0:
            yield f"-{timeout.name} is {format_go(given[timeout])}: set it to a time longer than 0"
    for pattern in given[flags.VALIDATION_AGENTS]:
        try:
            re.compile(pattern)
        except re.error as error:
            place = f"-{flags.VALIDATION_AGENTS.name}"
            yield f'{place} holds "{pattern}", which is no regular expression ({error}): correct it'


def _tls_problems(given: Given) -> Iterator[str]:
    if given[flags.SELF_SIGNED]:
        yield from _self_signed_problems(given)
        return
    for file in (flags.TLS_CERT, flags.TLS_KEY):
        if not given[file]:
            yield f"-{file.name} is missing: set it, or let the certificate be made with -{flags.SELF_SIGNED.name}"
    if given[flags.UPDATE_CA_BUNDLE]:
        yield (
            f"-{flags.UPDATE_CA_BUNDLE.name} needs a self-signed certificate:"
            f" set -{flags.UPDATE_CA_BUNDLE.name}=false for a certificate of your own"
        )


def _self_signed_problems(given: Given) -> Iterator[str]:
    if given[flags.SELF_SIGNED_EXPIRATION] <= 0:
        yield f"-{flags.SELF_SIGNED_EXPIRATION.name} is 0: set it to a time longer than 0"
    name, organisation = given[flags.SELF_SIGNED_DNS], given[flags.SELF_SIGNED_ORG]
    if name and not is_name(name):
        yield f'-{flags.SELF_SIGNED_DNS.name} is "{name}": {DNS_ADVICE}'
    if not is_name(given[flags.SELF_SIGNED_SECRET]):
        yield f'-{flags.SELF_SIGNED_SECRET.name} is "{given[flags.SELF_SIGNED_SECRET]}": {NAME_ADVICE}'
    if not 1 <= len(organisation) <= MOST_IN_ORGANISATION:
        yield f"-{flags.SELF_SIGNED_ORG.name} has {len(organisation)} characters: a certificate takes 1 to 64"


def warnings(given: Given) -> Iterator[str]:
    """One sentence for each word and each flag that is not used."""
    if given.rest:
        yield f'"{given.rest[0]}" is no flag: it and everything after it is ignored; write booleans as -flag=true'
    if given.has(flags.CLIENT_BURST) and not given.has(flags.CLIENT_QPS):
        alone = f"-{flags.CLIENT_BURST.name} is given without -{flags.CLIENT_QPS.name}"
        yield f"{alone}: nothing is limited; give both for a limit"


def _one_of(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


PROGRAM = Program(
    name=PROCESS,
    dialect="go",
    flags=flags.FLAGS,
    options=options_of,
    warnings=warnings,
    elsewhere=f"set -{flags.API_URL.name} and -{flags.CONFIG_FILE.name}",
)
