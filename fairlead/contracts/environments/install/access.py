"""The account of the operator, what it may do, and the certificate that the API server meets it with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.contracts.environments.install.values import ACCOUNT, CHART, NAME, Values, labels
from fairlead.contracts.environments.kinds import INSTALLED_FOR
from fairlead.engine.charts import Object, chart_values, data_of

RBAC = "rbac.authorization.k8s.io"
CERT_MANAGER = "cert-manager.io"


def account(values: Values) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT, "namespace": values.namespace, "labels": labels()},
        "automountServiceAccountToken": False,
    }


def roles(values: Values) -> Iterator[Object]:
    """Environments are in any namespace, the Lease is in the operator's; each role with its binding."""
    permissions = data_of(CHART, "permissions.yaml")
    inside = {"name": NAME, "namespace": values.namespace, "labels": labels()}
    outside = {"name": NAME, "labels": {**labels(), INSTALLED_FOR: values.namespace}}
    for kind, metadata, rules in (
        ("ClusterRole", outside, permissions["clusterRole"]),
        ("Role", inside, permissions["role"]),
    ):
        yield {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}
        yield {
            "apiVersion": f"{RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": NAME},
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": values.namespace}],
        }


def certificates(values: Values) -> Iterator[Object]:
    """An authority of its own signs the certificate, so that a renewed certificate leaves the authority as it is."""
    life = chart_values(CHART)["operator"]["certificate"]
    yield _made(values, "Issuer", f"{NAME}-self-signed", {"selfSigned": {}})
    authority = {
        "isCA": True,
        "commonName": f"{NAME}-ca",
        "secretName": f"{NAME}-ca",
        "duration": life["caDuration"],
        "renewBefore": life["caRenewBefore"],
    }
    yield _made(values, "Certificate", f"{NAME}-ca", {**authority, **_signed_by(f"{NAME}-self-signed")})
    yield _made(values, "Issuer", f"{NAME}-ca", {"ca": {"secretName": f"{NAME}-ca"}})
    served = {"dnsNames": [f"{NAME}.{values.namespace}.svc"], "secretName": values.certificate}
    yield _made(values, "Certificate", f"{NAME}-cert", {**served, **_signed_by(f"{NAME}-ca")})


def _signed_by(issuer: str) -> dict[str, Any]:
    return {
        "privateKey": {"algorithm": "ECDSA", "rotationPolicy": "Always"},
        "issuerRef": {"group": CERT_MANAGER, "kind": "Issuer", "name": issuer},
    }


def _made(values: Values, kind: str, name: str, spec: dict[str, Any]) -> Object:
    metadata = {"name": name, "namespace": values.namespace, "labels": labels()}
    return {"apiVersion": f"{CERT_MANAGER}/v1", "kind": kind, "metadata": metadata, "spec": spec}
