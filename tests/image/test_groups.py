"""The operator of LeaderWorkerSets from its image, installed as upstream installs its own: leaderworker scenario 29."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml

from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import CHART, Values
from fairlead.plane import lws
from fairlead.plane.launch import free_port
from kubeloop import clock
from kubeloop.errors import ApiError
from kubeloop.objects.core import SECRETS
from kubeloop.request import JSON, Request
from tests.contracts.leaderworker.decide.sets import a_set
from tests.contracts.zones.install import helm
from tests.e2e.audits import denied
from tests.e2e.clusters import SERVICE_ACCOUNTS, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define, put
from tests.e2e.leaderworker_play import FOLLOWED, SECOND, Play, image_of
from tests.e2e.operators import LOOK_EVERY
from tests.e2e.processes import started
from tests.e2e.roles import CLUSTER_BINDINGS, role_ref
from tests.e2e.test_install import has_rights
from tests.image.containers import built, container, storage
from tests.image.test_run import ACCOUNT, account_folder, mounted_account, one_of  # noqa: F401  a fixture

FILE = "/controller_manager_config.yaml"
GRACE_SECONDS = 10.0
DENIED = 'code="403"'


def installation(case: str, namespace: str) -> list[Tree]:
    """Of the chart with upstream's own values, or of the manifests."""
    if case == "manifests":
        return list(objects(Values(namespace=namespace)))
    values = yaml.safe_load((lws.source() / "charts/lws/values.yaml").read_text())
    del values["image"]
    return list(helm.render(values, release="lws", namespace=namespace, chart=CHART).values())


def upstreams_role(namespace: str) -> list[Tree]:
    """The rules that upstream grants to its manager, and those for the one kind that came after that release."""
    chart = lws.source() / "charts/lws"
    made = helm.render({}, release="lws", namespace=namespace, chart=chart)
    rules: list[Tree] = made["ClusterRole", "lws-manager-role"]["rules"]
    later = {"apiGroups": ["disaggregatedset.x-k8s.io"], "resources": ["disaggregatedsetrolescalers"]}
    return [*rules, {**later, "verbs": ["get", "list", "watch"]}]


def reachable(made: list[Tree], port: int, rules: list[Tree]) -> Iterator[Tree]:
    """For a manager on this machine: the Service leads to it, and the role is upstream's."""
    for one in made:
        match one["kind"]:
            case "Deployment" | "Namespace" | "CustomResourceDefinition":
                continue
            case "Service" if one["metadata"]["name"] == "lws-webhook-service":
                one["spec"] = {"type": "ExternalName", "externalName": "localhost"}
            case "ClusterRole" if one["metadata"]["name"] == "lws-manager-role":
                one["rules"] = rules
            case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
                for entry in one["webhooks"]:
                    entry["clientConfig"]["service"]["port"] = port
        yield one


@pytest.mark.parametrize("case", ["chart", "manifests"])
@everywhere(controllers=True, on=("real",))
async def test_an_installation_rolls_groups(site: Site, account_folder: Path, case: str) -> None:  # noqa: F811
    """Its command, its user, its read-only root without any /tmp of its own, its account and upstream's rights."""
    made = installation(case, site.namespace)
    deployment = one_of(made, "Deployment")
    hooks, probes, metrics = free_port(), free_port(), free_port()
    await define(site, *definitions())
    for one in reachable(made, hooks, upstreams_role(site.namespace)):
        await put(site, one)
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    spec = deployment["spec"]["template"]["spec"]
    (manager,) = spec["containers"]
    account = spec["serviceAccountName"]
    await site.until(lambda: has_rights(site, f"system:serviceaccount:{site.namespace}:{account}"), every=LOOK_EVERY)
    await mounted_account(site, account, account_folder)
    configuration = yaml.safe_load(one_of(made, "ConfigMap")["data"]["controller_manager_config.yaml"])
    configuration |= {
        "webhook": {"host": "127.0.0.1", "port": hooks},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
    }
    file, empty = account_folder / "configuration.yaml", account_folder / "empty"
    file.write_text(json.dumps(configuration))
    empty.mkdir()
    server = urlsplit(site.plane.url)
    play = Play(site)

    with storage(), container(built()) as image:
        assert manager["securityContext"]["readOnlyRootFilesystem"] is True
        command = image.command(
            manager["command"],
            *manager["args"],
            environment={"KUBERNETES_SERVICE_HOST": str(server.hostname), "KUBERNETES_SERVICE_PORT": str(server.port)},
            mounts={"/tmp": empty, ACCOUNT: account_folder, FILE: file},
        )
        async with started(command) as process:
            await process.said("msg=ready")
            await site.until(lambda: is_admitted(site), every=0.1)
            await play.create(a_set())
            await play.available()
            await play.give_image(SECOND)
            await play.until(lambda: play.is_available() and {image_of(pod) for pod in play.pods(set="a")} == {SECOND})
            async with aiohttp.ClientSession() as session:
                plain = await session.get(f"http://127.0.0.1:{probes}/readyz")
                url = f"https://127.0.0.1:{metrics}/metrics"
                without = await session.get(url, ssl=unverified())
                token = await a_reader(site)
                read = await session.get(url, ssl=unverified(), headers={"Authorization": f"Bearer {token}"})
                text = await read.text()
            begun = clock.monotonic()
            code = await process.stop()
            took = clock.monotonic() - begun

    secret = await site.get(SECRETS, "lws-webhook-server-cert")
    assert secret is not None
    assert set(secret["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert (plain.status, without.status, read.status, code) == (200, 401, 200, 0), process.lines[-5:]
    assert took < GRACE_SECONDS
    answered = [line for line in text.splitlines() if line.startswith("rest_client_requests_total{")]
    assert answered
    assert not [line for line in process.lines if "forbidden" in line]
    assert not [line for line in answered if DENIED in line]
    assert denied(site, account) == set()


def unverified() -> ssl.SSLContext:
    """The certificate of metrics is made at the start, and nobody knows its authority."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def is_admitted(site: Site) -> bool:
    """Whether the API server asks the webhooks and trusts them: what is absent of a set is filled in."""
    tree = a_set("asked")
    del tree["spec"]["networkConfig"]
    tree["metadata"]["namespace"] = site.namespace
    path = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{site.namespace}/leaderworkersets"
    body = json.dumps(tree).encode()
    try:
        answer = await site.client.call(Request("POST", path, query=(("dryRun", "All"),), body=body, content_type=JSON))
    except ApiError:
        return False
    return "networkConfig" in json.loads(answer.body)["spec"]


async def a_reader(site: Site) -> str:
    """The token of an account that may read metrics, as the installation has a role for it."""
    await site.create(SERVICE_ACCOUNTS, {"metadata": {"name": "reader"}})
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": site.namespace}
    bound = {"roleRef": role_ref("ClusterRole", "lws-metrics-reader"), "subjects": [subject]}
    await site.create(CLUSTER_BINDINGS, {"metadata": {"name": "reader"}, **bound})
    path = f"/api/v1/namespaces/{site.namespace}/serviceaccounts/reader/token"
    body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).encode()
    answer = await site.client.call(Request("POST", path, body=body, content_type=JSON))
    token: str = json.loads(answer.body)["status"]["token"]
    return token
