"""The operator from its image on the real control plane: started as its chart says, it rolls three zones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from kubeloop.request import JSON, Request
from tests.e2e.audits import denied
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define, put
from tests.e2e.operators import LOOK_EVERY
from tests.e2e.processes import started
from tests.e2e.rollouts import SECOND, is_complete, roll, three_zones, zones_out
from tests.e2e.test_install import from_chart, has_rights
from tests.image.containers import built, container, storage

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
FREE_PORTS = {
    "rollout-operator": ["-server.port=0", "-server-tls.port=0"],
    "fairlead": ["--port=0", "--webhooks-port=0"],
}
"""Others run on this machine, whose network containers share."""


@pytest.fixture
def account_folder(tmp_path: Path) -> Path:
    """Readable for the user of the container, which is not the one who runs the tests."""
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("program", FREE_PORTS)
@everywhere(controllers=True, on=("real",))
async def test_the_chart_s_container_rolls_zones(site: Site, account_folder: Path, program: str) -> None:
    """Its command, its user, its read-only root, its memory for /tmp, its account and its rights."""
    await define(site, *zone_kinds())
    await three_zones(site)
    values = {"extraArgs": FREE_PORTS[program], "highAvailability": {"enabled": program == "fairlead"}}
    objects = from_chart(site.namespace, values)
    deployment = one_of(objects, "Deployment")
    for one in objects:
        if one["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            await put(site, one)
    spec = deployment["spec"]["template"]["spec"]
    account = spec["serviceAccountName"]
    await site.until(lambda: has_rights(site, f"system:serviceaccount:{site.namespace}:{account}"), every=LOOK_EVERY)
    (operator,) = spec["containers"]
    await mounted_account(site, account, account_folder)
    server = urlsplit(site.plane.url)
    before = site.history.events[-1].version

    with storage(), container(image := built()) as made:
        assert image.config["User"] == f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}"
        assert operator["securityContext"]["readOnlyRootFilesystem"] is True
        command = made.command(
            operator["command"],
            *operator["args"],
            environment={"KUBERNETES_SERVICE_HOST": str(server.hostname), "KUBERNETES_SERVICE_PORT": str(server.port)},
            mounts={ACCOUNT: account_folder},
        )
        async with started(command) as process:
            await process.port()
            await roll(site)
            await site.until(lambda: is_complete(site, SECOND))
            code = await process.stop()

    assert operator["command"][0] == program
    assert zones_out(site, since=before) == 1
    assert code == 0, process.lines[-5:]
    assert denied(site, account) <= {
        f"get /api/v1/namespaces/{site.namespace}",
        f"create /apis/events.k8s.io/v1/namespaces/{site.namespace}/events",
        "list /apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        "list /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    }, "its namespace need not be seen, Events go to the older of two APIs, and rights about webhooks are not granted"


def one_of(objects: Sequence[Tree], kind: str) -> Tree:
    (found,) = (one for one in objects if one["kind"] == kind)
    return found


async def mounted_account(site: Site, name: str, folder: Path) -> None:
    """What a kubelet puts into the pod."""
    path = f"/api/v1/namespaces/{site.namespace}/serviceaccounts/{name}/token"
    body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).encode()
    answer = await site.client.call(Request("POST", path, body=body, content_type=JSON))
    (folder / "token").write_text(json.loads(answer.body)["status"]["token"])
    (folder / "ca.crt").write_bytes(site.plane.ca)
    (folder / "namespace").write_text(site.namespace)
