"""What is wrong with what an operator of plans is told: the same sentences for flags of a program and for a section."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flag_kinds import NAME_ADVICE
from fairlead.core.names import is_name
from kubeloop.durations import format_go

MESH_PROVIDERS = ("istio", "linkerd")


def problems(given: PlanSettings, place: Callable[[str], str]) -> Iterator[str]:
    """`place` says what the user calls a flag, by its name."""
    numbers = (
        ("revision-limit", given.revision_limit, 0),
        ("application-revision-limit", given.application_revision_limit, 0),
        ("concurrent-reconciles", given.concurrent, 1),
    )
    for name, value, least in numbers:
        if value < least:
            yield f"{place(name)} is {value}: set it to {least} or more"
    if given.reconcile_timeout <= 0:
        yield f"{place('reconcile-timeout')} is {format_go(given.reconcile_timeout)}: set it to a time longer than 0"
    if not is_name(given.system_namespace):
        yield f'{place("system-definition-namespace")} is "{given.system_namespace}": {NAME_ADVICE}'
    if given.mesh_provider not in ("", *MESH_PROVIDERS):
        known = f"{' or '.join(MESH_PROVIDERS)}, or leave it out"
        yield f'{place("mesh-provider")} is "{given.mesh_provider}": set it to {known}'
    addresses = (
        ("metrics-server", given.metrics_server),
        ("slack-url", given.slack_url),
        ("event-webhook", given.event_webhook),
    )
    for name, url in addresses:
        if url and not is_address(url):
            yield f'{place(name)} is "{url}": write an address with http or https, such as http://prometheus:9090'


def is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_usable and all(each.isprintable() and each != " " for each in url)
