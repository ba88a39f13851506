"""An operator that converts objects is removed only when they can do without it: scenario A37 and section 3.14."""

from __future__ import annotations

import argparse
import io
import json
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import msgspec

from fairlead.cli.commands import uninstall
from fairlead.cli.removal import NAME_LABEL, held_definitions, let_go
from fairlead.contracts import contract
from fairlead.engine.letting_go import LeavingInstallation
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, create, path_of
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import CUSTOM_RESOURCES, NAMESPACES, Site, everywhere
from tests.e2e.replicated_operator import SERVICE, Replicas
from tests.e2e.test_apiversions_attaching import NOBODY, conversion, unserve, written
from tests.e2e.widgets import Widgets, widgets

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
MERGE = "application/merge-patch+json"
OBJECTS = 20


async def uninstalled(site: Site, *words: str, part: str = "apiversions", user: str = "admin") -> Ran:
    parser = argparse.ArgumentParser()
    uninstall.add_arguments(parser)
    given = parser.parse_args([f"--part={part}", "--yes", *words])
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = await uninstall.carried_out(site.client_as(user), site.namespace, given)
    return Ran(code, out.getvalue(), err.getvalue())


async def installed(site: Site) -> Replicas:
    """What an installation leaves for the command to find: its Service and its Deployment."""
    replicas = Replicas(site)
    await replicas.begin()
    labels = {NAME_LABEL: contract("apiversions").chart}
    body = msgspec.json.encode({"metadata": {"labels": labels}})
    path = path_of(SERVICES, site.namespace, SERVICE)
    await site.client.call(Request("PATCH", path, body=body, content_type=MERGE))
    template = {
        "metadata": {"labels": {"app": "operator"}},
        "spec": {"containers": [{"name": "operator", "image": "operator"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "operator"}}, "template": template}
    await site.create(DEPLOYMENTS, {"metadata": {"name": "fairlead", "labels": labels}, "spec": spec})
    return replicas


async def elsewhere(site: Site, kind: Widgets) -> str:
    """A namespace with objects."""
    name = f"{site.namespace}-objects"
    await site.client.call(create(NAMESPACES, "", msgspec.json.encode({"metadata": {"name": name}})))
    resource = kind.resource("v2")
    for number in range(OBJECTS):
        tree: dict[str, Any] = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": f"w-{number}"},
            "spec": {"size": number, "paint": {"colour": "red"}},
        }
        await site.client.call(create(resource, name, msgspec.json.encode(tree)))
    return name


@everywhere(controllers=True)
async def test_a37_an_operator_is_removed_when_nothing_needs_its_conversion(site: Site, tmp_path: Path) -> None:
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    replicas = await installed(site)
    await replicas.add()
    objects = await elsewhere(site, kind)
    rules = written(kind.rules(), tmp_path)
    attached = await api(site.client, "attach", kind.name, "--rules", rules, "--operator-namespace", site.namespace)
    assert attached.code == 0, attached.err

    refused = await uninstalled(site)
    kept = [await site.get(SERVICES, SERVICE), await site.get(DEPLOYMENTS, "fairlead")]
    still = conversion(await kind.live_definition())
    await unserve(site, kind)
    removed = await uninstalled(site)
    await replicas.stop()

    assert refused.code == 4
    assert f"{kind.name}: cannot be detached" in refused.out
    assert f"fairlead api unserve {kind.name} v1" in refused.out
    assert all(kept)
    assert still["strategy"] == "Webhook"
    assert removed.code == 0, removed.err
    assert f"{kind.name}: is detached" in removed.out
    assert await site.get(DEPLOYMENTS, "fairlead") is None
    assert conversion(await kind.live_definition()) == NOBODY

    await site.client.call(Request("DELETE", path_of(NAMESPACES, name=objects)))
    await site.until(lambda: _is_gone(site, objects), every=0.5, within=60)


async def _is_gone(site: Site, namespace: str) -> bool:
    listed = await site.client.list(NAMESPACES, dict[str, Any])
    return namespace not in [each["metadata"]["name"] for each in listed.items]


@everywhere(controllers=False, on=("sim",))
async def test_what_is_left_attached_by_choice_is_named_with_what_will_fail(site: Site, tmp_path: Path) -> None:
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    replicas = await installed(site)
    await replicas.add()
    rules = written(kind.rules(), tmp_path)
    await api(site.client, "attach", kind.name, "--rules", rules, "--operator-namespace", site.namespace)

    blocked = await uninstalled(site, "-o", "json")
    removed = await uninstalled(site, "--leave-conversion")

    assert blocked.code == 4
    (definition,) = json.loads(blocked.out)["definitions"]
    assert definition["name"] == kind.name
    assert removed.code == 0, removed.err
    assert f"{kind.name}: stays as it is; requests in v1, and requests for objects" in removed.out
    assert conversion(await kind.live_definition())["strategy"] == "Webhook"


@everywhere(controllers=False, on=("sim",))
async def test_definitions_can_be_let_go_of_alone_for_whoever_removes_the_rest_himself(
    site: Site, tmp_path: Path
) -> None:
    """As the chart does before it is deleted."""
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    replicas = await installed(site)
    await replicas.add()
    rules = written(kind.rules(), tmp_path)
    await api(site.client, "attach", kind.name, "--rules", rules, "--operator-namespace", site.namespace)

    refused = await uninstalled(site, "--only-detach")
    await unserve(site, kind)
    detached = await uninstalled(site, "--only-detach")

    assert (refused.code, detached.code) == (4, 0)
    assert conversion(await kind.live_definition()) == NOBODY
    assert await site.get(DEPLOYMENTS, "fairlead") is not None


def converted_by(namespace: str) -> dict[str, Any]:
    config = {"service": {"namespace": namespace, "name": SERVICE}}
    return {"strategy": "Webhook", "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]}}


@everywhere(controllers=False, on=("sim",))
async def test_a_definition_that_another_installation_has_taken_over_meanwhile_stays_its_own(site: Site) -> None:
    """It is let go of once more when the operator has ended, and that takes a while."""
    kind, theirs = widgets(site), converted_by("elsewhere")
    await kind.define("v2", storage="v2")
    path = path_of(CUSTOM_RESOURCES, name=kind.name)

    async def convert(by: dict[str, Any]) -> None:
        body = msgspec.json.encode({"spec": {"conversion": by}})
        await site.client.call(Request("PATCH", path, body=body, content_type=MERGE))

    await convert(converted_by(site.namespace))
    leaving = LeavingInstallation(namespace=site.namespace, services=(SERVICE,))
    held = await held_definitions(site.client, leaving)
    await let_go(site.client, leaving, held)
    released = conversion(await kind.live_definition())
    await convert(theirs)

    await let_go(site.client, leaving, held)

    assert [each.name for each in held] == [kind.name]
    assert released == NOBODY
    found = conversion(await kind.live_definition())
    assert found["webhook"]["clientConfig"]["service"]["namespace"] == "elsewhere"
