"""The configuration file of `lws-manager` (section 2.11): read strictly, so that a misspelt field is never silence.

Whatever is wrong with it is one sentence that names the field.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct, ValidationError

from fairlead.contracts.leaderworker.cipher_suites import OPENSSL_NAMES, can_serve, openssl_names
from fairlead.core.alternatives import alternatives
from fairlead.core.flag_kinds import MOST_PORT, NAME_ADVICE
from fairlead.core.flags import FlagError, meant
from fairlead.core.names import is_name
from kubeloop.durations import parse_go

API_VERSION = "config.lws.x-k8s.io/v1alpha1"
KIND = "Configuration"
GANG_SCHEDULERS = ("volcano",)
TLS_VERSIONS = ("VersionTLS12", "VersionTLS13")
_SERVICE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_AT = re.compile(r"^(?P<problem>.*?)(?: - at `\$(?P<path>[^`]*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<found>[^`]*)`")
_WORDS = {
    "str": "a text, in quotes where YAML needs them",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "object": "a mapping",
    "array": "a list",
}


class _Part(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    pass


class Webhook(_Part, frozen=True):
    port: int = 0
    host: str = ""
    cert_dir: str = ""


class LeaderElection(_Part, frozen=True):
    leader_elect: bool = True
    lease_duration: str = ""
    renew_deadline: str = ""
    retry_period: str = ""
    resource_lock: str = ""
    resource_name: str = ""
    resource_namespace: str = ""
    """Read and ignored: the Lease is always in the operator's own namespace."""


class Metrics(_Part, frozen=True):
    bind_address: str = ""


class Health(_Part, frozen=True):
    health_probe_bind_address: str = ""
    readiness_endpoint_name: str = ""
    liveness_endpoint_name: str = ""


class Tls(_Part, frozen=True):
    min_version: str = ""
    cipher_suites: tuple[str, ...] = ()


class InternalCertManagement(_Part, frozen=True):
    enable: bool = True
    webhook_service_name: str = "lws-webhook-service"
    webhook_secret_name: str = "lws-webhook-server-cert"  # noqa: S105  the name of one


class GangSchedulingManagement(_Part, frozen=True):
    scheduler_provider: str = ""


class ClientConnection(_Part, frozen=True):
    qps: float = 500.0
    burst: int = 500


class Configuration(_Part, frozen=True):
    api_version: str = API_VERSION
    kind: str = KIND
    webhook: Webhook = Webhook()
    leader_election: LeaderElection = LeaderElection()
    metrics: Metrics = Metrics()
    health: Health = Health()
    tls: Tls = Tls()
    internal_cert_management: InternalCertManagement = InternalCertManagement()
    gang_scheduling_management: GangSchedulingManagement | None = None
    client_connection: ClientConnection = ClientConnection()


def read(name: str) -> Configuration:
    """What the file says, defaults where it is silent; raises FlagError."""
    try:
        text = Path(name).read_text()
    except OSError as error:
        raise FlagError(f"-config names {name}, which cannot be read ({error.strerror}): correct the path") from error
    except UnicodeDecodeError as error:
        raise FlagError(f"{name} is not YAML: it is no text") from error
    return parsed(text, name)


def parsed(text: str, name: str) -> Configuration:
    """The same of a text; `name` is what messages call it."""
    tree = _tree(text, name)
    try:
        found = msgspec.convert(_without_nulls(tree), Configuration)
    except ValidationError as error:
        raise FlagError(f"{name}: {_sentence(str(error))}") from error
    if problem := next(problems(found), None):
        raise FlagError(f"{name}: {problem}")
    return found


def problems(found: Configuration) -> Iterator[str]:
    """What is wrong with the values, a sentence each."""
    if not 0 <= max(found.webhook.port, 0) <= MOST_PORT:
        yield f"webhook.port is {found.webhook.port}: set it to a port from 1 to {MOST_PORT}"
    for key in ("leaseDuration", "renewDeadline", "retryPeriod"):
        yield from _duration_problems(key, getattr(found.leader_election, _snake(key)))
    yield from _certificate_problems(found.internal_cert_management)
    yield from _gang_problems(found.gang_scheduling_management)
    yield from _tls_problems(found.tls)


def _duration_problems(key: str, text: str) -> Iterator[str]:
    try:
        parse_go(text or "0s")
    except ValueError:
        yield f'leaderElection.{key} is "{text}": write a duration such as 15s'


def _certificate_problems(given: InternalCertManagement) -> Iterator[str]:
    if not given.enable:
        return
    service, secret = given.webhook_service_name, given.webhook_secret_name
    if not _SERVICE_NAME.fullmatch(service):
        advice = "the name of a Service starts with a letter and has up to 63 of a to z, 0 to 9 and - inside"
        yield f'internalCertManagement.webhookServiceName is "{service}": {advice}'
    if not is_name(secret):
        yield f'internalCertManagement.webhookSecretName is "{secret}": {NAME_ADVICE}'


def _gang_problems(given: GangSchedulingManagement | None) -> Iterator[str]:
    if given is None:
        return
    known = alternatives(GANG_SCHEDULERS)
    if not given.scheduler_provider:
        yield f"gangSchedulingManagement.schedulerProvider is missing: set it to {known}, or leave the section out"
    elif given.scheduler_provider not in GANG_SCHEDULERS:
        place = "gangSchedulingManagement.schedulerProvider"
        yield f'{place} is "{given.scheduler_provider}": this release supports {known}'


def _tls_problems(given: Tls) -> Iterator[str]:
    if given.min_version and given.min_version not in TLS_VERSIONS:
        yield f'tls.minVersion is "{given.min_version}": set it to {alternatives(TLS_VERSIONS)}'
    if given.min_version == "VersionTLS13" and given.cipher_suites:
        yield "tls.cipherSuites cannot be chosen with TLS 1.3: leave them out, or set minVersion to VersionTLS12"
    if unknown := [each for each in given.cipher_suites if each not in OPENSSL_NAMES]:
        example = next(iter(OPENSSL_NAMES))
        yield f'tls.cipherSuites holds "{unknown[0]}"{meant(unknown[0], OPENSSL_NAMES)}: use names such as {example}'
    elif not can_serve(openssl_names(given.cipher_suites)):
        yield f"tls.cipherSuites holds nothing that OpenSSL offers here: add {next(iter(OPENSSL_NAMES))}"


class _Loader(yaml.SafeLoader):
    """Refuses a key that is there twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        found: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in found:
                line = key.start_mark.line + 1
                raise FlagError(f"line {line} gives {key.value} a second time: give it once")
            found.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def _tree(text: str, name: str) -> dict[str, Any]:
    try:
        tree = yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader
    except FlagError as error:
        raise FlagError(f"{name}: {error}") from error
    except yaml.YAMLError as error:
        raise FlagError(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise FlagError(f"{name} is nested too deeply: no field of it is") from error
    if not isinstance(tree, dict):
        raise FlagError(f"{name} is no mapping: write a {KIND} of {API_VERSION}")
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if tree.get(key) != wanted:
            raise FlagError(f"{name}: {key} is {_shown(tree.get(key))}: set it to {wanted}")
    return tree


def _shown(value: object) -> str:
    return "missing" if value is None else f'"{value}"'


def _without_nulls(tree: Any, depth: int = 0) -> Any:
    """A field that is null counts as absent."""
    if depth < 10 and isinstance(tree, dict):  # what is nested more deeply is no field
        return {str(key): _without_nulls(value, depth + 1) for key, value in tree.items() if value is not None}
    return tree


def _sentence(text: str) -> str:
    """What is wrong with which field."""
    found = _AT.match(text)
    assert found is not None  # noqa: S101  it matches any text
    problem, path = found["problem"], (found["path"] or "").lstrip(".")
    if unknown := _UNKNOWN.fullmatch(problem):
        place = f"{path}.{unknown['field']}" if path else unknown["field"]
        return f"{place} is unknown{_meant(unknown['field'])}: correct or remove it"
    if expected := _EXPECTED.match(problem):
        wanted, found_word = expected["wanted"], expected["found"]
        return f"{path} is of the wrong type ({found_word}): write {_WORDS.get(wanted.split(' ')[0], wanted)}"
    return f"{path or 'the file'} cannot be used ({problem}): correct it"


def _meant(field: str) -> str:
    parts = (Configuration, *(each.type for each in msgspec.structs.fields(Configuration)))
    return meant(field, {name for part in parts for name in getattr(part, "__struct_encode_fields__", ())})


def _snake(key: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key)
