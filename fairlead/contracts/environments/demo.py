"""An environment to look at while it gets a new generation; and how `fairlead up` serves environments."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from fairlead.contracts.environments.kinds import MATERIALIZES, NIL
from fairlead.contracts.environments.settings import ConversionOptions, EnvironmentsOptions, Settings
from fairlead.contracts.environments.stand_in.environmentd import Environments
from fairlead.contracts.environments.stand_in.rules import CATCH_UP, PROMOTE_TAKES
from fairlead.engine.demo import NAMESPACE, Demo, Hosted, Outlet, Tell, WorstSeen, create_namespace
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref

if TYPE_CHECKING:
    from kubesim.kubelet.programs import Maker

SERVICE = "fairlead"
"""By which the cluster finds the conversion webhook."""
ENVIRONMENT = "shop"
BACKEND = "shop-backend"
IMAGE = "materialize/environmentd:v26.{minor}.0"
SLOW = {CATCH_UP: "5s", PROMOTE_TAKES: "2s"}


async def _create_environment(client: Client) -> None:
    """One whose first generation is up at once; what comes after it takes its time."""
    await create_namespace(client)
    values = {"metadata_backend_url": "postgres://demo", "persist_backend_url": "s3://demo", "license_key": _license()}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": BACKEND},
        "data": {key: b64encode(value.encode()).decode() for key, value in values.items()},
    }
    await client.call(request.create(SECRETS, NAMESPACE, msgspec.json.encode(secret)))
    environment = {
        "apiVersion": MATERIALIZES.api_version,
        "kind": MATERIALIZES.kind,
        "metadata": {"name": ENVIRONMENT},
        "spec": {
            "environmentdImageRef": IMAGE.format(minor=0),
            "backendSecretName": BACKEND,
            "balancerdReplicas": 1,
            "consoleReplicas": 1,
        },
    }
    await client.call(request.create(MATERIALIZES, NAMESPACE, msgspec.json.encode(environment)))


def _license() -> str:
    """A key for any environment that nobody has signed: the demo's operator knows no authority and believes it."""
    claims = {
        "iss": "Materialize, Inc.",
        "sub": "demo",
        "aud": NIL,
        "jti": "demo",
        "version": 1,
        "nbf": 1_700_000_000,
        "iat": 1_700_000_000,
        "exp": 4_000_000_000,
    }
    parts = (msgspec.json.encode({"typ": "JWT", "alg": "PS256"}), msgspec.json.encode(claims), b"demo")
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def _change_environment(client: Client, _: Tell) -> None:
    body = msgspec.json.encode({"spec": {"environmentdImageRef": IMAGE.format(minor=1), "podAnnotations": SLOW}})
    await client.call(request.patch(Ref(MATERIALIZES, NAMESPACE, ENVIRONMENT), request.MERGE_PATCH, body))


def _environment_summary(worst: WorstSeen) -> str:
    lanes = worst.last.stands.lanes if worst.last is not None else ()
    serving = lanes[0].name if lanes else "no generation"
    ready = "one was ready at every moment" if worst.fewest_ready else "at some moment none was ready"
    return f"{serving} serves; {worst.most_lanes} generations were there at most, and {ready}."


def _hosted() -> EnvironmentsOptions:
    settings = Settings(create_balancers=True, create_console=True)
    conversion = ConversionOptions(service_name=SERVICE, service_namespace=settings.operator_namespace)
    return EnvironmentsOptions(settings=settings, conversion=conversion)


def _over_https(outlet: Outlet) -> EnvironmentsOptions:
    usual = _hosted()
    conversion = ConversionOptions(
        service_name=SERVICE,
        service_namespace=usual.settings.operator_namespace,
        service_port=443,
        host="127.0.0.1",
        port=outlet.port,
        authority_file=outlet.file("ca.crt"),
        certificate_file=outlet.file("tls.crt"),
        key_file=outlet.file("tls.key"),
    )
    return structs.replace(usual, conversion=conversion)


def _stand_in() -> Maker:
    return Environments(promote_takes=0.0).make


ROLLOUT = Demo(
    NAMESPACE,
    ENVIRONMENT,
    "An environment gets a new image: a second generation starts, catches up and takes over.",
    _create_environment,
    _change_environment,
    _environment_summary,
)
HOSTED = Hosted(settings=_hosted(), over_https=_over_https, stand_in=_stand_in)
