"""The rule set `materialize-v1` on clusters whose Materialize is stored in v1alpha1, as upstream has it (B2)."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.environments.decide.upstream_hash import upstream_hash
from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.contracts.environments.materialize_v1 import NAME
from fairlead.core.uuids import uuid5
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, patch, replace
from tests.contracts.environments.test_materialize_v1 import upstream_definition
from tests.e2e.api_commands import api
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.replicated_operator import Replicas

OLD, NEW = (Resource(MATERIALIZES.group, each, MATERIALIZES.plural, MATERIALIZES.kind) for each in ("v1alpha1", "v1"))
DEFINITION = f"{MATERIALIZES.plural}.{MATERIALIZES.group}"
SPEC: Tree = {
    "environmentdImageRef": "materialize/environmentd:v26.0.0",
    "backendSecretName": "materialize-backend",
    "environmentId": "12345678-1234-1234-1234-123456789012",
}


async def read(site: Site, resource: Resource) -> Tree:
    found = await site.get(resource, "m")
    assert found is not None
    return found


async def completed(site: Site) -> None:
    """As the upstream operator says it, which knows v1alpha1."""
    status: dict[str, Any] = {
        "resourceId": "abcdefghij",
        "activeGeneration": 1,
        "lastCompletedRolloutRequest": (await read(site, OLD))["spec"]["requestRollout"],
        "resourcesHash": "x",
        "conditions": [],
    }
    body = msgspec.json.encode({"status": status})
    await site.client.call(patch(Ref(OLD, site.namespace, "m"), MERGE_PATCH, body, "status"))


@everywhere(controllers=False)
async def test_an_unchanged_v1_that_is_written_again_asks_for_no_rollout(site: Site) -> None:
    await define(site, upstream_definition())
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()
    attached = await api(site.client, "attach", DEFINITION, "--rules", NAME, "--operator-namespace", site.namespace)
    await site.create(NEW, {"metadata": {"name": "m"}, "spec": SPEC})
    asked = (await read(site, OLD))["spec"]["requestRollout"]
    await completed(site)

    seen = await read(site, NEW)
    await site.client.call(replace(Ref(NEW, site.namespace, "m"), msgspec.json.encode(seen)))
    again = await read(site, OLD)
    newer = {**seen["spec"], "environmentdImageRef": "materialize/environmentd:v26.1.0"}
    await site.client.call(patch(Ref(NEW, site.namespace, "m"), MERGE_PATCH, msgspec.json.encode({"spec": newer})))
    changed = await read(site, OLD)

    assert attached.code == 0, attached.err
    wanted = upstream_hash(seen["spec"], {})
    assert asked == uuid5(wanted)
    assert (seen["status"]["lastCompletedRolloutHash"], seen["status"]["requestedRolloutHash"]) == (wanted, wanted)
    assert again["spec"]["requestRollout"] == again["status"]["lastCompletedRolloutRequest"] == asked
    assert again["metadata"]["generation"] == 1
    assert changed["spec"]["requestRollout"] == uuid5(upstream_hash(newer, {}))
    assert changed["status"]["lastCompletedRolloutRequest"] == asked
    assert "annotations" not in changed["metadata"]
    maps = (await site.client.list(CONFIGMAPS, dict[str, Any], namespace=site.namespace)).items
    stored = [each["data"]["rules.yaml"] for each in maps if each["metadata"]["name"].startswith("fairlead-attach")]
    assert stored == [
        f"kind: ConversionRules\napiVersion: ''\nmetadata: {{}}\ncrd: {DEFINITION}\nattach: true\nbuiltIn: {NAME}\n"
    ]
    await replicas.stop()
