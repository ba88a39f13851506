"""Objects and changes of built-in kinds are judged alike by the embedded cluster and by a real one, word for word."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.request import JSON, Request, Transport, path_of
from kubesim.cluster import Cluster
from kubesim.controllers.revisions import hash_of, name_of, patch_of
from tests.e2e.builtin_answers import make_namespace, of_changes, of_objects
from tests.e2e.builtin_trees import BUSY, FULL, Tree, a_container, a_stateful_set, a_template
from tests.e2e.clusters import Site, everywhere

pytestmark = pytest.mark.fidelity

TEMPLATES: dict[str, Tree] = {
    "least": a_template(),
    "everything": a_template(BUSY, **FULL),
    "latest": a_template({"name": "main", "image": "app"}),
    "host-network": a_template(a_container(ports=[{"containerPort": 80}]), hostNetwork=True),
    "limits": a_template(a_container(resources={"limits": {"cpu": "1000m", "memory": "1024Mi"}})),
    "pod-level": a_template(resources={"limits": {"cpu": "1"}}),
    "account": a_template(serviceAccountName="mine", automountServiceAccountToken=False),
    "zero": a_template(terminationGracePeriodSeconds=0, shareProcessNamespace=False),
    "files": a_template(volumes=[{"name": "a", "configMap": {"name": "m", "optional": False, "defaultMode": 256}}]),
    "odd-letters": {
        **a_template(a_container(args=["<&>", "\u2028"], env=[{"name": "A", "value": ""}])),
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "<a & b>"}},
    },
}


@asynccontextmanager
async def reached(site: Site) -> AsyncIterator[Transport]:
    """The way to the real cluster, where a refusal is an answer like any other."""
    transport = site.ground.transport("admin")
    try:
        yield transport
    finally:
        if isinstance(transport, HttpTransport):
            await transport.close()


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [(name, ours[name], theirs[name]) for name in theirs if ours[name] != theirs[name]]


@everywhere(on=("real",))
async def test_objects_get_the_same_answers(site: Site) -> None:
    embedded = Cluster().transport()
    await make_namespace(embedded, site.namespace, account=True)

    async with reached(site) as real:
        theirs = await of_objects(real, site.namespace)

    assert differences(await of_objects(embedded, site.namespace), theirs) == []


@everywhere(controllers=False, on=("real",))
async def test_changes_get_the_same_answers(site: Site) -> None:
    embedded = Cluster().transport()
    await make_namespace(embedded, site.namespace, account=False)

    async with reached(site) as real:
        theirs = await of_changes(real, site.namespace)

    assert differences(await of_changes(embedded, site.namespace), theirs) == []


@everywhere(on=("real",))
async def test_revisions_of_varied_templates_have_the_same_names(site: Site) -> None:
    """They are hashes of the completed template, so one default more or less gives another name."""
    embedded = Cluster(namespaces=[site.namespace]).transport()

    for name, template in TEMPLATES.items():
        await site.create(STATEFULSETS, a_set(name, template))
    theirs = await site.until(lambda: _named(site.history.objects(STATEFULSETS)), following=[STATEFULSETS])

    ours: dict[str, str] = {}
    for name, template in TEMPLATES.items():
        body = msgspec.json.encode(a_set(name, template))
        answer = await embedded.send(Request("POST", path_of(STATEFULSETS, site.namespace), (), body, JSON))
        completed = msgspec.json.decode(answer.body)["spec"]["template"]
        ours[name] = name_of(name, hash_of(patch_of(completed), 0))
    assert ours == theirs


def a_set(name: str, template: Tree) -> Tree:
    return a_stateful_set(replicas=0, template=template) | {"metadata": {"name": name}}


def _named(sets: dict[str, Tree]) -> dict[str, str]:
    """Names of the revisions once each set has one."""
    names = {name: (tree.get("status") or {}).get("updateRevision") or "" for name, tree in sets.items()}
    return names if len(names) == len(TEMPLATES) and all(names.values()) else {}
