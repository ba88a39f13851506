"""Every object of an environment on AWS of which everything is set, whole."""

from __future__ import annotations

import json

from fairlead.contracts.environments.decide.objects.environment import environment_objects
from fairlead.contracts.environments.decide.objects.generation import generation_objects
from tests.contracts.environments.decide.objects.samples import (
    APART,
    AWS,
    HARDENED,
    HASH,
    UNPRIVILEGED,
    Tree,
    a_policy,
    blocks,
    everything,
    identity,
    labels,
    metadata,
    of_app,
    tcp,
    the_container,
    the_pod,
    tree,
    trees,
)


def test_the_network_policies_let_in_what_belongs_in() -> None:
    objects = trees(environment_objects(everything(), AWS))

    policies = {name: body for name, body in objects.items() if name.startswith("NetworkPolicy/")}
    same = {"matchLabels": {"materialize.cloud/mz-resource-id": "abcdefgh12"}}
    operator = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "operators"}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "materialize-operator"}},
    }
    within, orchestratord, ingress, egress = (
        f"mzabcdefgh12-{name}"
        for name in (
            "allow-all-within-environment",
            "allow-orchestratord",
            "sql-and-http-ingress",
            "sources-and-sinks-egress",
        )
    )
    assert policies == {
        f"NetworkPolicy/{within}": a_policy(
            within,
            {
                "podSelector": same,
                "policyTypes": ["Ingress", "Egress"],
                "ingress": [{"from": [{"podSelector": same}]}],
                "egress": [{"to": [{"podSelector": same}]}],
            },
        ),
        f"NetworkPolicy/{orchestratord}": a_policy(
            orchestratord,
            {
                "podSelector": of_app("environmentd"),
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [operator], "ports": tcp(6876, 6878)}],
            },
        ),
        f"NetworkPolicy/{ingress}": a_policy(
            ingress,
            {
                "podSelector": of_app("balancerd"),
                "policyTypes": ["Ingress"],
                "ingress": [{"from": blocks("10.0.0.0/8", "192.0.2.0/24"), "ports": tcp(6876, 6875)}],
            },
        ),
        f"NetworkPolicy/{egress}": a_policy(
            egress,
            {
                "podSelector": {"matchLabels": identity()},
                "policyTypes": ["Egress"],
                "egress": [{"to": blocks("0.0.0.0/0")}],
            },
        ),
    }


def test_the_account_carries_what_is_asked_for_and_the_operators_role() -> None:
    objects = trees(environment_objects(everything(), AWS))

    annotations = {
        "note": "mine",
        "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/operator",
    }
    assert objects["ServiceAccount/m"] == {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata("m", annotations=annotations, labels=labels(team="data")),
    }


def test_the_internal_certificate_is_merged_from_both_specs() -> None:
    objects = trees(environment_objects(everything(), AWS))

    assert objects["Certificate/mzabcdefgh12-environmentd-external"] == {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": metadata("mzabcdefgh12-environmentd-external"),
        "spec": {
            "secretName": "mzabcdefgh12-environmentd-tls",
            "dnsNames": [
                "environmentd.example.com",
                "mzabcdefgh12-environmentd",
                "mzabcdefgh12-environmentd.e.svc.cluster.local",
            ],
            "duration": "2160h",
            "renewBefore": "360h",
            "issuerRef": {"name": "internal", "kind": "Issuer", "group": "cert-manager.io"},
            "secretTemplate": {
                "labels": identity() | {"tier": "internal"},
                "annotations": {"kept": "yes"},
            },
            "privateKey": {"algorithm": "Ed25519", "encoding": "PKCS8", "rotationPolicy": "Always"},
        },
    }


def test_the_listeners_name_roles_for_each_group() -> None:
    listeners = generation_objects(everything(), 7, HASH, AWS)[2]

    told = json.loads(tree(listeners)["data"]["listeners.json"])

    off = {"enabled": False}
    everybody = {"enabled": True, "allowed_roles": "NormalAndInternal"}
    internal = {"enabled": True, "allowed_roles": "Internal"}
    assert told == {
        "version": "26.32.0",
        "sql": {
            "external": {
                "addr": "0.0.0.0:6875",
                "authenticator_kind": "Password",
                "allowed_roles": "NormalAndInternal",
                "enable_tls": True,
            }
        },
        "http": {
            "external": {
                "addr": "0.0.0.0:6876",
                "authenticator_kind": "Password",
                "enable_tls": True,
                "routes": {
                    "base": everybody,
                    "webhook": everybody,
                    "internal": internal,
                    "metrics": off,
                    "profiling": internal,
                    "mcp_agent": everybody,
                    "mcp_developer": everybody,
                    "console_config": everybody,
                },
            },
            "metrics": {
                "addr": "0.0.0.0:6878",
                "authenticator_kind": "None",
                "enable_tls": False,
                "routes": {
                    "base": off,
                    "webhook": off,
                    "internal": off,
                    "metrics": everybody,
                    "profiling": off,
                    "mcp_agent": off,
                    "mcp_developer": off,
                    "console_config": off,
                },
            },
        },
    }


def test_the_statefulset_and_its_pods_carry_their_marks() -> None:
    body = tree(generation_objects(everything(), 7, HASH, AWS)[3])

    assert body["metadata"]["annotations"] == {
        "materialize.cloud/generation": "7",
        "materialize.cloud/rollout-hash": HASH,
        "materialize.cloud/force": "33333333-3333-3333-3333-333333333333/now",
    }
    assert body["spec"]["template"]["metadata"] == {
        "labels": labels(team="data")
        | {
            "app": "database",
            "materialize.cloud/app": "environmentd",
            "materialize.cloud/name": "mzabcdefgh12-environmentd-7",
        },
        "annotations": {
            "a": "1",
            "b": "2",
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            "karpenter.sh/do-not-evict": "true",
            "karpenter.sh/do-not-disrupt": "true",
            "materialize.cloud/generation": "7",
            "prometheus.io/scrape": "true",
            "prometheus.io/port": "6878",
            "prometheus.io/path": "/metrics",
            "prometheus.io/scheme": "http",
            "materialize.prometheus.io/mz_usage_path": "/metrics/mz_usage",
            "materialize.prometheus.io/mz_frontier_path": "/metrics/mz_frontier",
            "materialize.prometheus.io/mz_compute_path": "/metrics/mz_compute",
            "materialize.prometheus.io/mz_storage_path": "/metrics/mz_storage",
        },
    }


def test_the_pod_runs_where_and_as_it_should() -> None:
    pod = the_pod(generation_objects(everything(), 7, HASH, AWS)[3])

    lost: Tree = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    del pod["containers"]
    assert pod == {
        "serviceAccountName": "m",
        "nodeSelector": {"pool": "database"},
        "affinity": APART,
        "schedulerName": "packer",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", **lost},
            {"key": "node.kubernetes.io/unreachable", **lost},
            {"key": "database", "operator": "Exists"},
        ],
        "securityContext": UNPRIVILEGED,
        "terminationGracePeriodSeconds": 0,
        "volumes": [
            {"name": "certificate", "secret": {"secretName": "mzabcdefgh12-environmentd-tls", "defaultMode": 256}},
            {"name": "system-params", "configMap": {"name": "parameters", "defaultMode": 256, "optional": True}},
            {
                "name": "license-key",
                "secret": {
                    "secretName": "materialize-backend",
                    "defaultMode": 256,
                    "items": [{"key": "license_key", "path": "license_key"}],
                },
            },
            {"name": "listeners-configmap", "configMap": {"name": "mzabcdefgh12-listeners-7", "defaultMode": 256}},
        ],
    }


def from_backend(name: str, key: str) -> Tree:
    reference = {"name": "materialize-backend", "key": key, "optional": False}
    return {"name": name, "valueFrom": {"secretKeyRef": reference}}


def test_the_container_gets_its_environment_mounts_and_limits() -> None:
    container = the_container(generation_objects(everything(), 7, HASH, AWS)[3])

    assert container["env"] == [
        from_backend("MZ_METADATA_BACKEND_URL", "metadata_backend_url"),
        from_backend("MZ_PERSIST_BLOB_URL", "persist_backend_url"),
        {"name": "AWS_REGION", "value": "us-east-1"},
        {"name": "EXTRA", "value": "1"},
        {"name": "MZ_LICENSE_KEY", "value": "/license_key/license_key"},
        from_backend("MZ_EXTERNAL_LOGIN_PASSWORD_MZ_SYSTEM", "external_login_password_mz_system"),
    ]
    assert container["volumeMounts"] == [
        {"name": "certificate", "mountPath": "/etc/materialized", "readOnly": True},
        {"name": "system-params", "mountPath": "/system-params", "readOnly": True},
        {"name": "license-key", "mountPath": "/license_key"},
        {"name": "listeners-configmap", "mountPath": "/listeners"},
    ]
    assert container["resources"] == {"limits": {"memory": "4Gi"}}
    assert container["securityContext"] == HARDENED
    assert container["imagePullPolicy"] == "IfNotPresent"


def test_the_command_line_has_everything_in_order() -> None:
    container = the_container(generation_objects(everything(), 7, HASH, AWS)[3])

    kubernetes = "--orchestrator-kubernetes"
    assert container["args"] == [
        "--helm-chart-version=v26.35.0",
        "--environment-id=aws-us-east-1-12345678-1234-1234-1234-123456789012-0",
        "--clusterd-image=materialize/clusterd:v26.35.0",
        '--cluster-replica-sizes={"50cc": {"scale": 1}, "100cc": {"scale": 1}}',
        "--bootstrap-default-cluster-replica-size=50cc",
        "--bootstrap-builtin-probe-cluster-replica-size=mz_probe",
        "--bootstrap-builtin-system-cluster-replication-factor=2",
        "--cors-allowed-origin=https://console.example.com",
        "--secrets-controller=aws-secrets-manager",
        "--system-parameter-default=allowed_cluster_replica_sizes='100cc', '50cc'",
        "--system-parameter-default=enable_internal_statement_logging=true",
        "--system-parameter-default=statement_logging_max_sample_rate=0",
        "--persist-isolated-runtime-threads=-1",
        "--availability-zone=use1-az1",
        "--availability-zone=use1-az2",
        "--aws-connection-role-arn=arn:aws:iam::123456789012:role/own",
        "--aws-account-id=123456789012",
        "--aws-secrets-controller-tags=Environment=m",
        "--aws-secrets-controller-tags=Team=data",
        "--orchestrator=kubernetes",
        f"{kubernetes}-service-account=m",
        f"{kubernetes}-image-pull-policy=if-not-present",
        f"{kubernetes}-service-node-selector=pool=compute",
        f"{kubernetes}-service-node-selector=disk=fast",
        f'{kubernetes}-service-affinity={{"podAntiAffinity":{{}}}}',
        f'{kubernetes}-service-tolerations=[{{"key":"compute","operator":"Exists"}}]',
        f"{kubernetes}-scheduler-name=packer",
        f"{kubernetes}-service-annotation=a=1",
        f"{kubernetes}-service-annotation=b=2",
        f"{kubernetes}-service-label=materialize.cloud/organization-name=m",
        f"{kubernetes}-service-label=materialize.cloud/organization-namespace=e",
        f"{kubernetes}-service-label=materialize.cloud/mz-resource-id=abcdefgh12",
        f"{kubernetes}-service-label=app=database",
        f"{kubernetes}-service-label=team=data",
        f"{kubernetes}-name-prefix=mzabcdefgh12-",
        "--log-format=json",
        "--opentelemetry-endpoint=http://collector:4317",
        "--opentelemetry-resource=organization_id=12345678-1234-1234-1234-123456789012",
        "--opentelemetry-resource=environment_name=m",
        "--segment-api-key=segment-key",
        "--segment-client-side",
        "--tls-mode=require",
        "--tls-cert=/etc/materialized/tls.crt",
        "--tls-key=/etc/materialized/tls.key",
        f"{kubernetes}-ephemeral-volume-class=scratch",
        f"{kubernetes}-service-fs-group=65532",
        "--config-sync-file-path=/system-params/system-params.json",
        "--config-sync-loop-interval=1s",
        "--sentry-dsn=https://key@sentry.example.com/1",
        "--sentry-environment=production",
        "--sentry-tag=region=us-east-1",
        "--persist-pubsub-url=http://mzabcdefgh12-persist-pubsub-7:6879",
        "--internal-persist-pubsub-listen-addr=0.0.0.0:6879",
        "--deploy-generation=7",
        "--internal-console-redirect-url=https://proxy.example.com",
        f"{kubernetes}-enable-prometheus-scrape-annotations",
        f"{kubernetes}-coverage",
        "--log-filter=info",
        "--listeners-config-path=/listeners/listeners.json",
        "--system-parameter-default=enable_password_auth=true",
    ]
