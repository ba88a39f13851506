"""A kind that gets a new version, command by command; and how `fairlead up` serves versions of CRDs."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import msgspec
import yaml

from fairlead.contracts.apiversions.api_server_metrics import metrics_text
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.decide.request_history import open_watches
from fairlead.contracts.apiversions.settings import ApiVersionsSettings, CertificateSettings
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.demo import NAMESPACE, CommandDemo, DemoFailed, Hosted, Outlet, Run, Tell, create_namespace
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource

Tree = dict[str, Any]

FILES = Path(__file__).parent / "demo_files"
GROUP, CRD = "example.test", "widgets.example.test"
OLD, NEW = (Resource(GROUP, version, "widgets", "Widget") for version in ("v1", "v2"))
COUNT, OWNERS = 200, 3
"""Widgets, and how many of them own a Secret by their old version."""
SERVICE, HOME = "fairlead-webhook", "default"
IN_FORCE_SECONDS, LOOK_EVERY = 30.0, 0.1
COLOURS = ("red", "green", "blue")


async def _create(client: Client, folder: Path) -> None:
    """Widgets as they were before: one version, and nobody who converts."""
    for each in ("widgets.yaml", "rules.yaml", "lossy-rules.yaml"):
        await asyncio.to_thread(shutil.copy, FILES / each, folder / each)
    await create_namespace(client)
    definition: Tree = yaml.safe_load(await asyncio.to_thread((FILES / "widgets.yaml").read_text))
    definition["spec"]["versions"] = definition["spec"]["versions"][:1]
    await client.call(request.create(DEFINITIONS, "", msgspec.json.encode(definition)))
    await _served(client)
    for number in range(COUNT):
        await _create_widget(client, number)


async def _served(client: Client) -> None:
    """Returns when the API server knows the kind."""
    async with asyncio.timeout(IN_FORCE_SECONDS):
        while True:
            try:
                await client.call(request.list_page(OLD, NAMESPACE, limit=1))
            except NotFound:
                await asyncio.sleep(LOOK_EVERY)
            else:
                return


async def _create_widget(client: Client, number: int) -> None:
    name = f"widget-{number:03}"
    spec = {"size": number, "colour": COLOURS[number % len(COLOURS)], "legacyMode": number % 2 == 0}
    widget = {"apiVersion": OLD.api_version, "kind": OLD.kind, "metadata": {"name": name}, "spec": spec}
    made = await client.call(request.create(OLD, NAMESPACE, msgspec.json.encode(widget)))
    if number < OWNERS:
        uid = msgspec.json.decode(made.body)["metadata"]["uid"]
        owner = {"apiVersion": OLD.api_version, "kind": OLD.kind, "name": name, "uid": uid, "controller": True}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "ownerReferences": [owner]}}
        await client.call(request.create(SECRETS, NAMESPACE, msgspec.json.encode(secret)))


async def _play(client: Client, run: Run, tell: Tell) -> None:
    async def expect(line: str, code: int = codes.DONE) -> None:
        if (found := await run(line)) != code:
            raise DemoFailed(f"`fairlead {line}` ended with {found} and not with {code}")

    tell("Rules by which something would be lost are refused before anybody uses them.")
    await expect("api rules check lossy-rules.yaml --crd widgets.yaml", codes.FINDINGS)
    await expect("api rules check rules.yaml --crd widgets.yaml")
    tell("What would go wrong with the new definition?")
    await expect("api preflight -f widgets.yaml --rules rules.yaml")
    tell("The new version comes in steps, each of which looks before it writes.")
    await expect(f"api introduce {CRD} -f widgets.yaml --rules rules.yaml")
    await expect(f"api attach {CRD} --rules rules.yaml --operator-namespace {HOME}")
    await expect(f"api serve {CRD} v2")
    await expect(f"api set-storage {CRD} v2")
    tell("Both versions can be read, whichever is stored.\nWhat v2 lacks is carried, and comes back in v1:")
    await _show_both(client, tell)
    await expect(f"api migrate {CRD} --settle 1s --journal {HOME}")
    is_watched = await _is_watched(client)
    await expect(f"api deprecate {CRD} v1")
    tell(f"A client of v1 is told now:\n{await _warning(client)}")
    await expect(f"api unserve {CRD} v1 --dependents Secret --yes", codes.PRECONDITION)
    await expect(f"api fix-refs {CRD} --dependents Secret")
    if is_watched:
        tell("The cluster's own controllers have heard of v1 before there was v2, and are counted as asking for it.")
    although = " --although-asked" if is_watched else ""
    await expect(f"api unserve {CRD} v1 --dependents Secret --yes{although}")
    await expect(f"api remove-version {CRD} v1 --dependents Secret")
    await expect(f"api status {CRD}")


async def _show_both(client: Client, tell: Tell) -> None:
    for resource in (OLD, NEW):
        found: Tree = msgspec.json.decode((await client.call(request.get(Ref(resource, NAMESPACE, "widget-000")))).body)
        tell(f"{resource.version}: {msgspec.json.encode(found['spec']).decode()}")


async def _is_watched(client: Client) -> bool:
    """Whether controllers of the cluster watch v1: where everything is slow they have heard of it before v2."""
    definition = await client.read(Ref(DEFINITIONS, "", CRD), dict[str, Any])
    return open_watches(definition, OLD.version, await metrics_text(client)) > 0


async def _warning(client: Client) -> str:
    """Of a question for what no Widget has: an API server counts whoever it answers in a deprecated version, and
    `unserve` heeds that until the server restarts.

    For a moment it goes by the definition as it was.
    """
    try:
        async with asyncio.timeout(IN_FORCE_SECONDS):
            while True:
                if warning := await _warned(client):
                    return warning
                await asyncio.sleep(LOOK_EVERY)
    except TimeoutError:
        raise DemoFailed("a request for the deprecated version brings no warning") from None


async def _warned(client: Client) -> str:
    try:
        await client.call(request.get(Ref(OLD, NAMESPACE, "widget-000"), "scale"))
    except NotFound as error:
        return error.warning
    return ""


VERSIONS = CommandDemo(
    NAMESPACE,
    f"{COUNT} Widgets of v1 get a v2 of another shape: converted without a loss,\n"
    "what is stored moved, and v1 removed in the end.\n"
    "Each command is printed, then run.",
    _create,
    _play,
    f"v1 is gone with what v1 alone could hold,\nand all {COUNT} Widgets live on in v2.",
    tries=(f"fairlead api status {CRD}", "kubectl get widgets -n demo -o yaml"),
)


def _settings(outlet: Outlet | None = None) -> ApiVersionsSettings:
    kept = CertificateSettings() if outlet is None else CertificateSettings(source="secret", folder=str(outlet.folder))
    return ApiVersionsSettings(service_name=SERVICE, service_namespace=HOME, certificates=kept)


HOSTED = Hosted(
    settings=_settings(),
    over_https=_settings,
    host=lambda namespace: f"{SERVICE}.{namespace}.svc",
)
