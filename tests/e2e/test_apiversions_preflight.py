"""What a new definition would do, told before it is applied, on both clusters."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import msgspec
import pytest
import yaml

from fairlead.cli.main import main
from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.decide.trees import copied
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.contracts.apiversions.kinds import RULES_LABEL, kept_rules_name
from fairlead.engine.command import Usage
from kubeloop.client import Client
from kubeloop.objects.core import CONFIGMAPS, NAMESPACES
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, create, patch
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.roles import allow
from tests.e2e.widgets import Widgets, called, widgets

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


class Desk:
    """Where new definitions are looked at."""

    def __init__(self, site: Site, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.site, self._folder, self._capsys = site, folder, capsys
        self.shop: Widgets = widgets(site)

    def file(self, tree: Tree, name: str = "new.yaml") -> str:
        path = self._folder / name
        path.write_text(yaml.safe_dump(tree))
        return str(path)

    async def asked(self, new: Tree, *words: str, client: Any = None) -> tuple[int, list[Tree]]:
        """The exit code, and what was found."""
        words = ("-f", self.file(new), "-o", "json", "--dependents", "ConfigMap", *words)
        code = await called("preflight", client or self.site.client, *words)
        return code, json.loads(self._capsys.readouterr().out)["findings"]

    async def found(self, new: Tree, *words: str) -> dict[str, Tree]:
        """By code."""
        return {each["code"]: each for each in (await self.asked(new, *words))[1]}


def changed(definition: Tree, **fields: Any) -> Tree:
    """The definition with other rules for fields of the spec of v1; None removes one."""
    new: Tree = copied(definition)
    properties = new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    for name, rule in fields.items():
        if rule is None:
            del properties[name]
        else:
            properties[name] = rule
    return new


@everywhere(controllers=False)
async def test_a18_versions_that_prune_one_another_block_where_nobody_converts(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    for number in range(3):
        spec: dict[str, Any] = {"size": 1, "legacyMode": True} if number else {"size": 1}
        await desk.shop.make(f"w-{number}", **spec)
    new = desk.shop.definition("v1", "v2")

    code, found = await desk.asked(new)

    assert code == codes.FINDINGS
    lost = {leaf: each for each in found if each["code"] == "NoneWouldPrune" for leaf in each["leaves"]}
    assert {*lost} >= {"/spec/colour", "/spec/legacyMode", "/spec/paint/finish", "/spec/parts/*/weight"}
    assert all(each["severity"] == "block" for each in lost.values())
    assert (lost["/spec/legacyMode"]["version"], lost["/spec/legacyMode"]["count"]) == ("v2", 2)
    assert lost["/spec/legacyMode"]["objects"] == [f"{site.namespace}/w-1", f"{site.namespace}/w-2"]
    code, found = await desk.asked(with_unions(new).definition)
    assert [each for each in found if each["code"] == "NoneWouldPrune"] == []
    assert code == codes.DONE


@everywhere(controllers=False)
async def test_a33_a_stored_version_that_is_missing_blocks_and_the_fix_migrates(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1", "v2")
    flipped = {"spec": {"versions": desk.shop.definition("v1", "v2", storage="v2")["spec"]["versions"]}}
    await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", desk.shop.name), MERGE_PATCH, msgspec.json.encode(flipped)))

    code, found = await desk.asked(desk.shop.definition("v2", storage="v2"))

    assert code == codes.FINDINGS
    (missing,) = (each for each in found if each["code"] == "StoredVersionMissing")
    assert (missing["severity"], missing["version"]) == ("block", "v1")
    assert missing["fix"] == f"fairlead api migrate {desk.shop.name}"
    assert {each["code"] for each in found} >= {"MigrationPending", "ServedVersionGone"}


@everywhere(controllers=False)
async def test_a_stricter_schema_blocks_only_where_an_object_is_hit(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    await desk.shop.make("w-1", size=9, colour="red")
    live = desk.shop.definition("v1")
    stricter = changed(
        live, size={"type": "integer", "maximum": 5}, colour={"type": "string", "enum": ["red"]}, legacyMode=None
    )

    found = await desk.found(stricter)

    assert {code: (each["severity"], each.get("count")) for code, each in found.items()} == {
        "BoundTightened": ("block", 1),
        "EnumAdded": ("warn", 0),
        "FieldRemoved": ("warn", 0),
    }
    assert found["BoundTightened"]["objects"] == [f"{site.namespace}/w-1"]
    assert (await desk.asked(live)) == (codes.DONE, [])


@everywhere(controllers=False)
async def test_a_version_that_goes_blocks_where_something_names_it(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1", "v2", storage="v2")
    new = desk.shop.definition("v1", "v2", storage="v2")
    new["spec"]["versions"][0]["served"] = False

    before = await desk.found(new)
    assert before["ServedVersionGone"]["severity"] == "warn"

    await desk.shop.make("w-1", "v1", size=1)
    rule = {"apiGroups": [desk.shop.group], "apiVersions": ["v1"], "resources": ["widgets"], "operations": ["CREATE"]}
    hook = {
        "name": "hook.example.test",
        "rules": [rule],
        "clientConfig": {"url": "https://hook.example"},
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "admissionReviewVersions": ["v1"],
    }
    tree = {
        "apiVersion": WEBHOOKS.api_version,
        "kind": WEBHOOKS.kind,
        "metadata": {"name": "hooks"},
        "webhooks": [hook],
    }
    await site.client.call(create(WEBHOOKS, "", msgspec.json.encode(tree)))
    _, found = await desk.asked(new)

    told = [each["message"] for each in found if each["code"] == "ServedVersionGone" and each["severity"] == "block"]
    assert any("managedFields of 1 object name it" in each for each in told)
    assert any("1 rule of admission names it" in each for each in told)


@everywhere(controllers=False)
async def test_rules_are_tried_with_every_live_object(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    await desk.shop.make("w-1", size=1, colour="red")
    url = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://hook.example"}, "conversionReviewVersions": ["v1"]},
    }
    new = desk.shop.definition("v1", "v2", conversion=url)
    good = desk.file(desk.shop.rules(), "good.yaml")
    assert await desk.found(new, "--rules", good) == {}

    new["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] = ["parts"]
    lossy = desk.shop.rules()
    lossy["spokes"][0] |= {"carry": "off"}
    found = await desk.found(new, "--rules", desk.file(lossy, "lossy.yaml"))
    assert found["ConvertedInvalid"]["path"] == "/spec/parts"
    assert found["ConvertedInvalid"]["objects"] == [f"{site.namespace}/w-1"]
    short = {**desk.shop.rules(), "spokes": []}
    found = await desk.found(new, "--rules", desk.file(short, "short.yaml"))
    assert (found["NoConversionPath"]["severity"], found["NoConversionPath"]["version"]) == ("block", "v1")


@everywhere(controllers=False, on=("sim",))
async def test_rules_are_those_of_the_operator_that_converts_also_where_the_new_text_does_not_name_it(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    shop = desk.shop
    service = {"namespace": "works", "name": "fairlead", "path": "/convert"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    await shop.define("v1", "v2")
    conversion = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", shop.name), MERGE_PATCH, msgspec.json.encode(conversion)))
    await site.create(NAMESPACES, {"metadata": {"name": "works"}})
    metadata = {"name": "a-copy", "labels": {RULES_LABEL: "true"}}
    copy = yaml.safe_dump({**shop.rules(), "spokes": []})
    await site.create(CONFIGMAPS, {"metadata": metadata, "data": {"rules.yaml": copy}})
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": kept_rules_name(shop.name)}}
    body = {**kept, "data": {"rules.yaml": yaml.safe_dump(shop.rules())}}
    await site.client.call(create(CONFIGMAPS, "works", msgspec.json.encode(body)))

    found = await desk.found(shop.definition("v1", "v2"))

    assert "NoConversionPath" not in found


@everywhere(controllers=False)
async def test_what_the_caller_may_not_do_blocks(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    rules = [
        {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get", "list"]},
        {"apiGroups": [desk.shop.group], "resources": ["widgets"], "verbs": ["list"]},
    ]
    reader = f"reader-{site.namespace}"
    await allow(site, reader, rules, everywhere=True)
    user = site.client_as(reader)

    code, found = await desk.asked(desk.shop.definition("v1"), "--journal", "ours", client=user)

    assert code == codes.FINDINGS
    told = [each["message"] for each in found if each["code"] == "PermissionMissing"]
    assert f"you may not patch widgets.{desk.shop.group}" in told
    assert "you may not patch customresourcedefinitions/status.apiextensions.k8s.io" in told
    assert "you may not create configmaps in namespace ours" in told
    assert not any("may not list widgets" in each for each in told)


@everywhere(controllers=False)
async def test_a_webhook_that_does_not_answer_blocks(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    await desk.shop.make("w-1", size=1)
    url = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/convert"}, "conversionReviewVersions": ["v1"]},
    }
    broken = desk.shop.definition("v1", "v2", conversion=url)
    body = msgspec.json.encode({"spec": broken["spec"]})
    await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", desk.shop.name), MERGE_PATCH, body))

    async def is_found() -> Tree:
        return (await desk.found(broken)).get("WebhookUnreachable", {})

    found = await site.until(is_found, every=0.2)
    assert (found["severity"], found["version"]) == ("block", "v2")


@everywhere(controllers=False, on=("sim",))
async def test_a_preflight_is_for_people_machines_and_pipelines(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    new = desk.file(changed(desk.shop.definition("v1", "v2"), legacyMode=None))

    assert await called("preflight", site.client, "-f", new) == codes.FINDINGS
    text = capsys.readouterr().out
    assert all(len(line) <= 80 or "fix:" in line for line in text.splitlines())
    assert text.splitlines()[-1].endswith(", 0 inform")
    await called("preflight", site.client, "-f", new, "-o", "junit")
    suite = ET.fromstring(capsys.readouterr().out)  # noqa: S314  (our own)
    assert len(suite.findall(".//failure")) > 0
    await called("preflight", site.client, "-f", new, "-o", "yaml")
    assert yaml.safe_load(capsys.readouterr().out)["blocked"] is True


def test_two_files_are_compared_without_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = Widgets(cast("Site", None), "example.test")  # only its texts are used
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(yaml.safe_dump({**shop.definition("v1"), "status": {"storedVersions": ["v1"]}}))
    new.write_text(yaml.safe_dump(shop.definition("v2", storage="v2")))

    code = asyncio.run(called("preflight", cast("Client", None), "-f", str(new), "--crd", str(old), "-o", "json"))

    assert code == codes.FINDINGS
    found = {each["code"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert found == {"StoredVersionMissing", "StorageVersionDropped", "ServedVersionGone"}


def test_a_file_that_says_nothing_of_stored_versions_has_no_migration_pending(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = Widgets(cast("Site", None), "example.test")
    (same := tmp_path / "same.yaml").write_text(yaml.safe_dump(shop.definition("v1")))

    code = asyncio.run(called("preflight", cast("Client", None), "-f", str(same), "--crd", str(same), "-o", "json"))

    assert (code, json.loads(capsys.readouterr().out)["findings"]) == (codes.DONE, [])


def test_a_preflight_of_nothing_is_told_what_it_needs() -> None:
    with pytest.raises(Usage, match="-f FILE"):
        asyncio.run(called("preflight", cast("Client", None)))


@everywhere(controllers=False, on=("served",))
async def test_several_clusters_have_one_report(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As B17 asks; here the same cluster under two names."""
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    config = yaml.safe_load(site.server.kubeconfig.read_text())
    (context,) = config["contexts"]
    config["contexts"] = [{**context, "name": name} for name in ("east", "west")]
    path = desk.file(config, "kubeconfig.yaml")
    new = desk.file(desk.shop.definition("v1", "v2"))
    words = ["api", "preflight", "-f", new, "--kubeconfig", path, "-o", "json", "--dependents", "ConfigMap"]

    code = await asyncio.to_thread(main, [*words, "--contexts", "east,west"])

    found = json.loads(capsys.readouterr().out)["findings"]
    assert code == codes.FINDINGS
    by_context = {name: [each["path"] for each in found if each["context"] == name] for name in ("east", "west")}
    assert by_context["east"] == by_context["west"] != []
    assert await asyncio.to_thread(main, [*words, "--contexts", "east,north"]) == codes.ERROR
    assert "'north' is not in" in capsys.readouterr().err


STRICT = {
    "size": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5", "message": "must be small"}]},
    "paint": {
        "type": "object",
        "properties": {"colour": {"type": "string", "format": "ipv4"}, "finish": {"type": "string"}},
    },
}
"""What no schema here is evaluated for: an expression, and a format."""


@everywhere(controllers=False)
async def test_converted_objects_are_tried_on_a_server_that_serves_the_version(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    live = await desk.shop.define("v1", "v2", more={"v2": STRICT})
    await desk.shop.make("w-1", size=9)
    await desk.shop.make("w-2", size=2, colour="red")
    await desk.shop.make("w-3", size=3)
    rules = desk.file(desk.shop.rules(), "rules.yaml")
    before = {name: each["metadata"] for name, each in (await desk.shop.all()).items()}

    code, found = await desk.asked(live, "--rules", rules)
    _, untried = await desk.asked(live, "--rules", rules, "--tries", "0")

    assert code == codes.FINDINGS
    refused = {each["path"]: each for each in found if each["code"] == "ConvertedInvalid"}
    assert {path: (each["version"], each["objects"]) for path, each in refused.items()} == {
        "/spec/size": ("v2", [f"{site.namespace}/w-1"]),
        "/spec/paint/colour": ("v2", [f"{site.namespace}/w-2"]),
    }
    assert "must be small; tried on the server" in refused["/spec/size"]["message"]
    assert "red" not in refused["/spec/paint/colour"]["message"]
    assert [each for each in untried if each["code"] == "ConvertedInvalid"] == []
    assert {name: each["metadata"] for name, each in (await desk.shop.all()).items()} == before


@everywhere(controllers=False)
async def test_what_the_server_does_not_serve_yet_is_held_against_its_schema(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    await desk.shop.make("w-1", size=9)
    new: Tree = copied(desk.shop.definition("v1", "v2"))
    size = {"type": "integer", "maximum": 5}
    new["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["size"] = size

    found = await desk.found(new, "--rules", desk.file(desk.shop.rules(), "rules.yaml"))

    told = found["ConvertedInvalid"]
    assert (told["version"], told["path"], told["objects"]) == ("v2", "/spec/size", [f"{site.namespace}/w-1"])
    assert "by the schema; expressions and formats were not evaluated" in told["message"]
