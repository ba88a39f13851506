"""The command lines of the three programs, for files laid out as `launch` lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

ETCD_SOCKET = "etcd.sock"
AUDIT_POLICY, AUDIT_LOG = "audit-policy.json", "audit.log"
EGRESS, EGRESS_SOCKET = "egress.json", "egress.sock"
SERVICE_ADDRESS = "10.0.0.1"
"""The first address of the range below, which the API server's own Service gets."""
SERVICE_RANGE = f"{SERVICE_ADDRESS}/24"

# Controllers that judge nodes (lifecycle, taints, garbage collection of pods whose node is missing) are left off: there
# are no nodes that report, and they would delete pods that a test has bound. So is what needs a cloud, storage or
# metrics.
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoints-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
    "validatingadmissionpolicy-status-controller",
)


def etcd(found: Path, folder: Path) -> list[str]:
    """Clients come by a socket in the private folder, so no port can be taken and nobody else can read along.

    A single member never speaks to peers; it insists on a peer address nevertheless, and port 0 is any.
    """
    peer = "http://127.0.0.1:0"
    return [
        str(found / "etcd"),
        "--name=only",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls=unix://{folder / ETCD_SOCKET}",
        "--advertise-client-urls=http://127.0.0.1:0",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=only={peer}",
        "--unsafe-no-fsync",  # the data is thrown away
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]


def apiserver(program: Path, folder: Path, port: int, accounts: bool) -> list[str]:
    arguments = [
        str(program),
        f"--etcd-servers=unix://{folder / ETCD_SOCKET}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={folder / 'server.crt'}",
        f"--tls-private-key-file={folder / 'server.key'}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--endpoint-reconciler-type=none",  # a loopback address is no valid endpoint
        "--allow-privileged",
        "--profiling=false",
    ]
    if not accounts:
        # Its pods would wait for a service account that nobody makes.
        arguments.append("--disable-admission-plugins=ServiceAccount")
    return arguments


def gates(names: Sequence[str]) -> list[str]:
    """Features that are on; for the API server and for whoever goes by what it stores."""
    return [f"--feature-gates={','.join(f'{name}=true' for name in names)}"] if names else []


def apis(versions: Sequence[str]) -> list[str]:
    """Versions of groups that the API server serves although it does not by default."""
    return [f"--runtime-config={','.join(f'{name}=true' for name in versions)}"] if versions else []


def audit(folder: Path) -> list[str]:
    """For the API server."""
    return [f"--audit-policy-file={folder / AUDIT_POLICY}", f"--audit-log-path={folder / AUDIT_LOG}"]


def audit_policy(users: Sequence[str], groups: Sequence[str]) -> dict[str, object]:
    """Writes of these users, and all requests of members of these groups, told when they are answered."""
    verbs = ["create", "update", "patch", "delete", "deletecollection"]
    told = {"level": "Metadata", "omitStages": ["RequestReceived", "ResponseStarted"]}
    rules: list[dict[str, object]] = []
    if users:
        rules.append({**told, "users": list(users), "verbs": verbs})
    if groups:
        rules.append({**told, "userGroups": list(groups)})
    return {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [*rules, {"level": "None"}]}


def egress(folder: Path) -> list[str]:
    """For the API server: whatever is in the cluster it reaches through a socket in the private folder."""
    return [f"--egress-selector-config-file={folder / EGRESS}"]


def egress_selection(folder: Path) -> dict[str, object]:
    """Connections to Services, pods and nodes are asked for with CONNECT at the socket."""
    transport = {"uds": {"udsName": str(folder / EGRESS_SOCKET)}}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [
            {"name": "cluster", "connection": {"proxyProtocol": "HTTPConnect", "transport": transport}}
        ],
    }


def controller_manager(found: Path, folder: Path, port: int, more: Sequence[str] = ()) -> list[str]:
    """Its client-side limits are lifted, so that measurements are of the operator and not of them."""
    return [
        str(found / "kube-controller-manager"),
        f"--kubeconfig={folder / 'kube-controller-manager.kubeconfig'}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={folder / 'server.crt'}",
        f"--tls-private-key-file={folder / 'server.key'}",
        f"--root-ca-file={folder / 'ca.crt'}",
        f"--service-account-private-key-file={folder / 'accounts.key'}",
        f"--controllers={','.join((*CONTROLLERS, *more))}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--concurrent-statefulset-syncs=20",
        "--concurrent-deployment-syncs=20",
        "--concurrent-replicaset-syncs=20",
        "--concurrent-daemonset-syncs=20",
        "--profiling=false",
    ]
