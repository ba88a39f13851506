"""The companions of an environment on AWS of which everything is set, and all their objects."""

from __future__ import annotations

import json
from typing import Any

from fairlead.contracts.environments.decide.objects.balancer import balancer, balancer_objects
from fairlead.contracts.environments.decide.objects.console import console, console_objects
from tests.contracts.environments.decide.objects.samples import (
    APART,
    AWS,
    HARDENED,
    UNPRIVILEGED,
    Tree,
    a_policy,
    balancer_from,
    blocks,
    companion_metadata,
    console_from,
    everything,
    identity,
    labels,
    of_app,
    tcp,
    trees,
)


def test_the_companions_are_asked_for_beside_the_running_image() -> None:
    asked = trees(tuple(filter(None, (balancer(everything(), AWS), console(everything(), AWS)))))

    pods: Tree = {"podAnnotations": {"a": "1", "b": "2"}, "podLabels": {"team": "data", "app": "database"}}
    assert asked["Balancer/m"]["spec"] == {
        "balancerdImageRef": "materialize/balancerd:v26.34.0",
        "resourceRequirements": {"limits": {"memory": "1Gi"}},
        "replicas": 3,
        "externalCertificateSpec": {"privateKeyAlgorithm": "RSA"},
        "internalCertificateSpec": {
            "dnsNames": ["environmentd.example.com"],
            "issuerRef": {"name": "internal", "kind": "Issuer", "group": "cert-manager.io"},
            "secretTemplate": {"annotations": {"kept": "yes"}, "labels": {"tier": "internal"}},
        },
        "staticRouting": {"environmentdNamespace": "e", "environmentdServiceName": "mzabcdefgh12-environmentd"},
        "resourceId": "abcdefgh12",
        **pods,
    }
    assert asked["Console/m"]["spec"] == {
        "consoleImageRef": "materialize/console:26.34.7",
        "resourceRequirements": {"limits": {"memory": "2Gi"}},
        "replicas": 1,
        "externalCertificateSpec": {"dnsNames": ["console.example.com"]},
        "balancerd": {
            "serviceName": "mzabcdefgh12-balancerd",
            "namespace": "e",
            "scheme": "https",
            "dnsNames": ["db.example.com"],
        },
        "authenticatorKind": "Password",
        "resourceId": "abcdefgh12",
        **pods,
    }


def a_public_certificate(app: str, dns_name: str, key: Tree) -> Tree:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": companion_metadata(f"mzabcdefgh12-{app}-external", app),
        "spec": {
            "secretName": f"mzabcdefgh12-{app}-external-tls",
            "dnsNames": [dns_name],
            "issuerRef": {"name": "public", "kind": "ClusterIssuer"},
            "secretTemplate": {"labels": identity()},
            "privateKey": {"encoding": "PKCS8", "rotationPolicy": "Always", **key},
        },
    }


def test_a_balancer_speaks_tls_on_both_sides() -> None:
    objects = trees(balancer_objects(balancer_from(balancer(everything(), AWS)), AWS))

    name = "mzabcdefgh12-balancerd"
    assert list(objects) == [f"Certificate/{name}-external", f"Service/{name}", f"Deployment/{name}"]
    assert objects[f"Certificate/{name}-external"] == a_public_certificate(
        "balancerd", "db.example.com", {"algorithm": "RSA", "size": 4096}
    )
    template: Any = objects[f"Deployment/{name}"]["spec"].pop("template")
    (container,) = template["spec"].pop("containers")
    assert objects[f"Deployment/{name}"]["spec"]["replicas"] == 3
    assert template["metadata"]["annotations"] == {
        "a": "1",
        "b": "2",
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "8080",
        "prometheus.io/path": "/metrics",
        "prometheus.io/scheme": "http",
    }
    assert template["metadata"]["labels"] == labels("balancerd", team="data") | {
        "materialize.cloud/app": "balancerd",
        "materialize.cloud/name": name,
    }
    assert template["spec"] == {
        "nodeSelector": {"pool": "edge"},
        "affinity": APART,
        "schedulerName": "packer",
        "tolerations": [{"key": "edge", "operator": "Exists"}],
        "securityContext": UNPRIVILEGED,
        "volumes": [
            {"name": "external-certificate", "secret": {"secretName": f"{name}-external-tls", "defaultMode": 256}}
        ],
    }
    assert container["args"][-4:] == [
        "--internal-tls",
        "--tls-mode=require",
        "--tls-cert=/etc/external_tls/tls.crt",
        "--tls-key=/etc/external_tls/tls.key",
    ]
    assert container["volumeMounts"] == [
        {"name": "external-certificate", "mountPath": "/etc/external_tls", "readOnly": True}
    ]
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    assert container["securityContext"] == HARDENED


def test_a_console_speaks_tls_and_is_reached_from_the_ingress_ranges() -> None:
    objects = trees(console_objects(console_from(console(everything(), AWS)), AWS))

    name = "mzabcdefgh12-console"
    assert list(objects) == [
        f"NetworkPolicy/{name}-ingress",
        f"ConfigMap/{name}",
        f"Certificate/{name}-external",
        f"Service/{name}",
        f"Deployment/{name}",
    ]
    assert objects[f"NetworkPolicy/{name}-ingress"] == a_policy(
        f"{name}-ingress",
        {
            "podSelector": of_app("console"),
            "policyTypes": ["Ingress"],
            "ingress": [{"from": blocks("10.0.0.0/8", "192.0.2.0/24"), "ports": tcp(8080)}],
        },
        companion_metadata(f"{name}-ingress", "console"),
    )
    assert json.loads(objects[f"ConfigMap/{name}"]["data"]["app-config.json"]) == {
        "version": "26.34.7",
        "auth": {"mode": "Password"},
        "balancerd_dns_names": ["db.example.com"],
    }
    assert objects[f"Certificate/{name}-external"] == a_public_certificate(
        "console", "console.example.com", {"algorithm": "ECDSA", "size": 256}
    )
    template: Any = objects[f"Deployment/{name}"]["spec"]["template"]
    (container,) = template["spec"].pop("containers")
    assert template["metadata"]["annotations"] == {"a": "1", "b": "2"}
    assert template["metadata"]["labels"]["team"] == "data"
    assert template["spec"] == {
        "nodeSelector": {"pool": "web"},
        "affinity": APART,
        "schedulerName": "packer",
        "tolerations": [{"key": "web", "operator": "Exists"}],
        "securityContext": {"fsGroup": 101},
        "volumes": [
            {"name": "app-config", "configMap": {"name": name, "defaultMode": 256}},
            {"name": "external-certificate", "secret": {"secretName": f"{name}-external-tls", "defaultMode": 256}},
        ],
    }
    assert container["env"] == [
        {"name": "MZ_ENDPOINT", "value": "https://mzabcdefgh12-balancerd.e.svc.cluster.local:6876"},
        {
            "name": "MZ_NGINX_LISTENER_CONFIG",
            "value": "listen 8080 ssl;\nssl_certificate /nginx/tls/tls.crt;\nssl_certificate_key /nginx/tls/tls.key;",
        },
    ]
    assert container["volumeMounts"][1] == {
        "name": "external-certificate",
        "mountPath": "/nginx/tls",
        "readOnly": True,
    }
    assert [container[probe]["httpGet"]["scheme"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")] == [
        "HTTPS"
    ] * 3
    assert container["securityContext"] == HARDENED
    assert container["resources"] == {"limits": {"memory": "2Gi"}}
