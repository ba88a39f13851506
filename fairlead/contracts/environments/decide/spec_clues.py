"""What the objects of a generation tell of the spec they were made from.

Some fields of a spec are in its StatefulSet as they were written; some only show that they were set, or in a form that
the API server has changed; others leave no trace. So this gives guesses, the likeliest first, and whoever uses them has
the hash to tell the right ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.images import at_least
from fairlead.contracts.environments.decide.objects.owner import ENVIRONMENTD
from fairlead.contracts.environments.kinds import FORCE, GENERATION, LISTENERS_FILE, NIL, Json
from fairlead.core.uuids import parse
from kubeloop.unreadable import UNREADABLE

LABEL = "--orchestrator-kubernetes-service-label="
ANNOTATION = "--orchestrator-kubernetes-service-annotation="
ROLE = "--aws-connection-role-arn="
REDIRECT = "--internal-console-redirect-url="
LISTENING = ("--listeners-config-path=", "--sql-listen-addr=")
NO_RBAC = "--system-parameter-default=enable_rbac_checks=false"
OPTIONAL = (
    "--orchestrator-kubernetes-disable-pod-metrics-collection",
    "--orchestrator-kubernetes-enable-prometheus-scrape-annotations",
    "--disable-license-key-checks",
)
"""Arguments between those of the operator and the user's own."""
OWN_VARIABLES = (
    "MZ_METADATA_BACKEND_URL",
    "MZ_PERSIST_BLOB_URL",
    "AWS_REGION",
    "MZ_LICENSE_KEY",
    "MZ_EXTERNAL_LOGIN_PASSWORD_MZ_SYSTEM",
)
Guesses = dict[str, tuple[object, ...]]

IDENTITY = 3
"""Labels that come before the user's."""
ANNOTATIONS_FROM = "0.154.0"
PARAMETERS_FROM = "26.1.0-dev.0"


class _Meta(Struct, frozen=True):
    annotations: dict[str, str] = {}


class _Container(Struct, frozen=True):
    name: str
    image: str = ""
    args: tuple[str, ...] = ()
    env: tuple[Json, ...] = ()
    resources: Json = {}


class _ConfigMapVolume(Struct, frozen=True):
    name: str = ""


class _Volume(Struct, frozen=True, rename="camel"):
    name: str
    config_map: _ConfigMapVolume | None = None


class _Pod(Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...] = ()
    volumes: tuple[_Volume, ...] = ()
    service_account_name: str = ""


class _Template(Struct, frozen=True):
    spec: _Pod = _Pod()


class _Spec(Struct, frozen=True):
    template: _Template = _Template()


class _StatefulSet(Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


class _Listener(Struct, frozen=True):
    authenticator_kind: str = "None"


class _Entry(Struct, frozen=True):
    external: _Listener = _Listener()


class _Listeners(Struct, frozen=True):
    sql: _Entry = _Entry()


class _ConfigMap(Struct, frozen=True):
    data: dict[str, str] = {}


class Traces(Struct, frozen=True):
    """By field of the spec: what it may have been, the likeliest first; None is absent."""

    guesses: dict[str, tuple[object, ...]] = {}
    force_annotation: tuple[str | None, ...] | None = None
    """What the annotation force-rollout was; None where nothing tells."""


def traces_of(name: str, statefulset: bytes | None, listeners: bytes | None) -> Traces:
    """Of the environment of this name; nothing is told by what is not there or cannot be read."""
    guesses: dict[str, tuple[object, ...]] = {}
    if (kind := _authenticator(listeners)) is not None:
        guesses["authenticatorKind"] = (kind,)
    try:
        made = msgspec.json.decode(statefulset or b"", type=_StatefulSet)
    except UNREADABLE:
        return Traces(guesses)
    pod = made.spec.template.spec
    container = next((each for each in pod.containers if each.name == ENVIRONMENTD), None)
    if container is None:
        return Traces(guesses)
    forced, slash, annotation = made.metadata.annotations.get(FORCE, "").partition("/")
    if GENERATION in made.metadata.annotations and parse(forced) is not None:
        guesses["forceRollout"] = (parse(forced) or NIL,)
    guesses |= {
        "environmentdImageRef": (container.image,),
        "serviceAccountName": (None, name) if pod.service_account_name == name else (pod.service_account_name,),
        **_of_arguments(container),
        **_of_container(container, pod),
    }
    told = (annotation if slash else None,) if FORCE in made.metadata.annotations else None
    return Traces(guesses, told)


def _of_arguments(container: _Container) -> Guesses:
    args = container.args
    found: Guesses = {
        "enableRbac": (NO_RBAC not in args,),
        "environmentdExtraArgs": _maybe(list(_extra(args))),
        "podLabels": _maybe(dict(list(_pairs(args, LABEL))[IDENTITY:])),
    }
    if at_least(container.image, ANNOTATIONS_FROM):
        found["podAnnotations"] = _maybe(dict(_pairs(args, ANNOTATION)))
    role = next((arg.removeprefix(ROLE) for arg in args if arg.startswith(ROLE)), None)
    found["environmentdConnectionRoleArn"] = (None,) if role is None else (role, None)
    return found


def _of_container(container: _Container, pod: _Pod) -> Guesses:
    own = [each for each in container.env if each.get("name") not in OWN_VARIABLES]
    found: Guesses = {
        "environmentdExtraEnv": _maybe(own),
        "environmentdResourceRequirements": (container.resources or None, None),
    }
    if secret := _backend(container):
        found["backendSecretName"] = (secret,)
    if at_least(container.image, PARAMETERS_FROM):
        mounted = (each.config_map for each in pod.volumes if each.name == "system-params")
        volume = next(mounted, None)
        found["systemParameterConfigmapName"] = (None if volume is None else volume.name,)
    return found


def _extra(args: tuple[str, ...]) -> Iterator[str]:
    """The user's own arguments: behind the last of ours but for those about listening."""
    begin = next((place + 1 for place, arg in enumerate(args) if arg.startswith(REDIRECT)), 0)
    ends = [place for place, arg in enumerate(args) if arg.startswith(LISTENING)]
    left = list(args[begin : ends[-1] if ends else len(args)])
    for flag in OPTIONAL:
        if left[:1] == [flag]:
            left.pop(0)
    yield from left


def _pairs(args: tuple[str, ...], flag: str) -> Iterator[tuple[str, str]]:
    for arg in args:
        if arg.startswith(flag):
            key, _, value = arg.removeprefix(flag).partition("=")
            yield key, value


def _backend(container: _Container) -> str:
    for variable in container.env:
        if variable.get("name") == OWN_VARIABLES[0]:
            try:
                return msgspec.convert(variable.get("valueFrom"), _Source).secret_key_ref.name
            except msgspec.ValidationError:
                return ""
    return ""


class _KeyRef(Struct, frozen=True):
    name: str


class _Source(Struct, frozen=True, rename="camel"):
    secret_key_ref: _KeyRef


def _authenticator(listeners: bytes | None) -> str | None:
    try:
        file = msgspec.json.decode(listeners or b"", type=_ConfigMap).data.get(LISTENERS_FILE, "")
        return msgspec.json.decode(file, type=_Listeners).sql.external.authenticator_kind
    except UNREADABLE:
        return None


def _maybe(found: Sequence[object] | Mapping[str, str]) -> tuple[object, ...]:
    """Nothing may have been empty or absent, and only the hash tells them apart."""
    return (found,) if found else (None, found)
