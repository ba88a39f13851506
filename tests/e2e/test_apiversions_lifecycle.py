"""Versions introduced, served, stored, deprecated, unserved and removed, each by its command, on both clusters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.contracts.apiversions.kinds import CONVERTIBLE, RULES_LABEL, kept_rules_name
from fairlead.engine.command import Usage
from kubeloop.client import Client
from kubeloop.errors import Forbidden
from kubeloop.objects.core import CONFIGMAPS, NAMESPACES, PODS, SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, create, delete, get, patch
from kubesim.faults import Faulty
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.conversions import NAME as GADGETS
from tests.e2e.conversions import V2, a_factory, a_gadget, versions
from tests.e2e.history import Tree
from tests.e2e.widgets import Widgets, called, widgets

DEPENDENTS = ("--dependents", "Secret")
QUICK = ("--progress", "none", "--settle", "0s")


class Life:
    """The versions of one kind, and the commands that change them."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.shop: Widgets = widgets(site)
        self.site = site
        self.whole = with_unions(self.shop.definition("v1", "v2")).definition
        """Of two versions that take each other's shape, so that no conversion is needed."""
        self.file = folder / "crd.yaml"
        self.file.write_text(yaml.safe_dump(self.whole))

    async def define(self, *versions: str) -> None:
        kept = [each for each in self.whole["spec"]["versions"] if each["name"] in versions]
        await self.define_as({**self.whole, "spec": {**self.whole["spec"], "versions": kept}})

    async def define_as(self, tree: Tree) -> None:
        await self.site.create(CUSTOM_RESOURCES, tree)

        async def is_listed() -> bool:
            try:
                await self.shop.all(tree["spec"]["versions"][0]["name"])
            except Exception:  # noqa: BLE001  (not served yet)
                return False
            return True

        await self.site.until(is_listed, every=0.05)

    async def does(self, module: str, *words: str) -> int:
        return await called(module, self.site.client, self.shop.name, *words)

    async def stand(self) -> dict[str, tuple[bool, bool]]:
        """Whether each version is served and stored."""
        live = await self.shop.live_definition()
        return {each["name"]: (each["served"], each["storage"]) for each in live["spec"]["versions"]}

    async def revision(self) -> str:
        return str((await self.shop.live_definition())["metadata"]["resourceVersion"])

    async def settle_storage(self, version: str) -> None:
        """As a migration leaves it: every object written, and one version stored."""
        for name in await self.shop.all(version):
            await self.shop.change(name, {"metadata": {"labels": {"touched": "yes"}}}, version)
        body = msgspec.json.encode({"status": {"storedVersions": [version]}})
        await self.site.client.call(patch(Ref(CUSTOM_RESOURCES, "", self.shop.name), MERGE_PATCH, body, "status"))


@everywhere(controllers=False)
async def test_a_version_goes_from_introduced_to_removed_one_command_after_the_other(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    await life.define("v1")
    made = await life.shop.make("w-1", size=1, colour="red", legacyMode=True)

    assert await life.does("introduce", "-f", str(life.file)) == codes.DONE
    assert await life.stand() == {"v1": (True, True), "v2": (False, False)}
    assert await life.does("set_storage", "v2") == codes.PRECONDITION
    assert "`fairlead api serve" in capsys.readouterr().err

    assert await life.does("serve", "v2") == codes.DONE
    assert (await life.shop.live("w-1", "v2"))["spec"] == made["spec"]
    assert await life.does("set_storage", "v2") == codes.DONE
    assert await life.stand() == {"v1": (True, False), "v2": (True, True)}
    assert (await life.shop.live_definition())["status"]["storedVersions"] == ["v1", "v2"]

    assert await life.does("unserve", "v2", "--yes") == codes.PRECONDITION
    assert await life.does("remove_version", "v1") == codes.PRECONDITION
    told = capsys.readouterr().err
    assert "v2 is the storage version" in told
    assert "`fairlead api unserve" in told
    assert "`fairlead api migrate" in told

    assert await life.does("migrate", *QUICK, "--journal", site.namespace) == codes.DONE
    assert await life.does("unserve", "v1", "--yes", *DEPENDENTS) == codes.PRECONDITION
    assert "managedFields" in capsys.readouterr().err
    assert await life.does("fix_refs", "--progress", "none", *DEPENDENTS) == codes.DONE
    assert await life.does("unserve", "v1", "--yes", *DEPENDENTS) == codes.DONE
    assert await life.does("remove_version", "v1", *DEPENDENTS) == codes.DONE
    assert await life.stand() == {"v2": (True, True)}
    assert (await life.shop.live("w-1", "v2"))["spec"] == made["spec"]


@everywhere(controllers=False)
async def test_a22_a_version_that_an_owner_reference_names_is_not_unserved(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    owner = (await life.shop.make("w-1", "v2", size=1))["metadata"]
    assert await life.does("set_storage", "v2") == codes.DONE
    await life.settle_storage("v2")
    reference = {"apiVersion": f"{life.shop.group}/v1", "kind": "Widget", "name": "w-1", "uid": owner["uid"]}
    await site.create(
        SECRETS, {"metadata": {"name": "owned", "ownerReferences": [reference]}, "stringData": {"a": "b"}}
    )
    before = await life.revision()

    assert await life.does("unserve", "v1", "--yes") == codes.PRECONDITION

    told = capsys.readouterr().err
    assert f"Secret {site.namespace}/owned names an owner in v1: run `fairlead api fix-refs {life.shop.name}`" in told
    assert await life.revision() == before
    pods = {name: each["metadata"]["resourceVersion"] for name, each in site.history.objects(PODS).items()}
    assert await life.does("fix_refs", "--progress", "none", *DEPENDENTS) == codes.DONE
    owned = await site.get(SECRETS, "owned")
    assert owned is not None
    assert owned["metadata"]["ownerReferences"] == [{**reference, "apiVersion": f"{life.shop.group}/v2"}]
    assert owned["data"] == {"a": "Yg=="}
    assert {name: each["metadata"]["resourceVersion"] for name, each in site.history.objects(PODS).items()} == pods
    assert await life.does("unserve", "v1", "--yes") == codes.DONE
    assert (await life.stand())["v1"] == (False, False)


@everywhere(controllers=False)
async def test_a29_who_asks_for_a_deprecated_version_is_told_what_to_use(site: Site, tmp_path: Path) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    await life.shop.make("w-1", size=1)
    assert await life.does("set_storage", "v2") == codes.DONE

    assert await life.does("deprecate", "v1") == codes.DONE

    async def warning() -> str:
        answer = await site.client.call(get(Ref(life.shop.resource("v1"), site.namespace, "w-1")))
        return str(answer.headers.get("warning", ""))

    told = await site.until(warning, every=0.1)
    assert told == f'299 - "{life.shop.group}/v1 Widget is deprecated; use {life.shop.group}/v2 Widget"'
    assert await life.does("deprecate", "v1", "--warning", "it goes in May") == codes.DONE

    async def is_own() -> bool:
        return "it goes in May" in await warning()

    await site.until(is_own, every=0.1)


@everywhere(controllers=False)
async def test_a_dry_run_of_any_step_leaves_the_definition_as_it_is(site: Site, tmp_path: Path) -> None:
    life = Life(site, tmp_path)
    await life.define("v1")
    before = await life.revision()

    assert await life.does("introduce", "-f", str(life.file), "--dry-run") == codes.DONE
    assert await life.revision() == before
    assert await life.does("introduce", "-f", str(life.file)) == codes.DONE
    before = await life.revision()
    assert await life.does("serve", "v2", "--dry-run") == codes.DONE
    assert await life.does("remove_version", "v2", "--dry-run", *DEPENDENTS) == codes.DONE

    assert await life.revision() == before


@everywhere(controllers=False)
async def test_versions_that_prune_one_another_are_served_without_conversion_as_unions_only(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    await life.shop.define("v1")
    made = await life.shop.make("w-1", size=1, colour="red", legacyMode=True)
    life.file.write_text(yaml.safe_dump(life.shop.definition("v1", "v2")))
    assert await life.does("introduce", "-f", str(life.file)) == codes.DONE

    assert await life.does("serve", "v2") == codes.PRECONDITION
    told = capsys.readouterr().err
    assert "`fairlead api attach" in told
    assert f"`fairlead api serve {life.shop.name} v2 --union`" in told
    assert (await life.stand())["v2"] == (False, False)

    assert await life.does("serve", "v2", "--union") == codes.DONE
    await life.shop.change("w-1", {"metadata": {"labels": {"touched": "in-v2"}}}, "v2")
    assert (await life.shop.live("w-1"))["spec"] == made["spec"]
    assert await life.does("set_storage", "v2") == codes.DONE


@everywhere(controllers=False, on=("sim",))
async def test_what_does_not_exist_is_answered_with_what_does(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")

    assert await life.does("unserve", "v3") == codes.ERROR
    assert "it has v1, v2" in capsys.readouterr().err
    assert await called("serve", site.client, "gadgets.example.test", "v1") == codes.ERROR
    assert f"there are {life.shop.name}" in capsys.readouterr().err
    with pytest.raises(Usage, match="1 to 256 characters"):
        await life.does("deprecate", "v1", "--warning", "x" * 257)
    assert await life.does("serve", "v1") == codes.DONE
    assert "served already" in capsys.readouterr().out


@everywhere(controllers=False, on=("sim",))
async def test_somebody_who_was_faster_is_not_overwritten(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    read = await life.shop.live_definition()
    labels = {"metadata": {"labels": {"somebody": "else"}}}
    ref = Ref(CUSTOM_RESOURCES, "", life.shop.name)
    await site.client.call(patch(ref, MERGE_PATCH, msgspec.json.encode(labels)))

    async def stale(*_: Any) -> Tree:
        return read

    monkeypatch.setattr("fairlead.contracts.apiversions.commands.version_step.definition_of", stale)
    assert await life.does("set_storage", "v2") == codes.CHANGED

    assert "run it again" in capsys.readouterr().err
    assert (await life.stand())["v2"] == (True, False)


def gadget_rules(**spoke: Any) -> Tree:
    moves = [{"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"}]
    return {
        "kind": "ConversionRules",
        "crd": GADGETS,
        "hub": "v2",
        "spokes": [{"version": "v1", "toHub": moves, **spoke}],
    }


@everywhere(controllers=False)
async def test_a_version_that_a_webhook_converts_is_served_when_live_objects_survive_its_rules(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lossy, good = tmp_path / "lossy.yaml", tmp_path / "good.yaml"
    lossy.write_text(
        yaml.safe_dump(gadget_rules(toHub=[{"op": "drop", "path": "/spec/colour"}], fromHub=[], carry="off"))
    )
    good.write_text(yaml.safe_dump(gadget_rules()))

    async with a_factory(site, *versions(v2={"served": False})) as factory:
        await factory.create(a_gadget("one", size=1, colour="red"))

        assert await called("serve", site.client, GADGETS, "v2") == codes.PRECONDITION
        assert "whose rules are not known here" in capsys.readouterr().err
        assert await called("serve", site.client, GADGETS, "v2", "--rules", str(lossy)) == codes.PRECONDITION
        told = capsys.readouterr().err
        assert f"/spec/colour does not come back from v2 as it was (1 object), {site.namespace}/one among them" in told
        assert await called("serve", site.client, GADGETS, "v2", "--rules", str(good)) == codes.DONE
        assert (await factory.get(V2))["spec"]["paint"] == {"colour": "red"}
        assert await called("set_storage", site.client, GADGETS, "v2") == codes.PRECONDITION
        assert await called("set_storage", site.client, GADGETS, "v2", "--rules", str(good)) == codes.DONE
        hub = ("--yes", "--rules", str(good), *DEPENDENTS)
        assert await called("unserve", site.client, GADGETS, "v1", *hub) == codes.PRECONDITION


@everywhere(controllers=False)
async def test_what_objects_carry_for_a_version_goes_with_it(site: Site, tmp_path: Path) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    assert await life.does("set_storage", "v2") == codes.DONE
    old = life.shop.resource("v1")
    for number in range(3):
        tree = {
            "apiVersion": old.api_version,
            "kind": "Widget",
            "metadata": {"name": f"w-{number}", "annotations": {"a": "b"}},
        }
        body = (
            life.shop.converted({**tree, "spec": {"size": 1, "legacyMode": True}}) if number else {**tree, "spec": {}}
        )
        await site.create(life.shop.resource("v2"), {"metadata": body["metadata"], "spec": body["spec"]})
    await life.settle_storage("v2")
    assert len((await life.shop.live("w-1", "v2"))["metadata"]["annotations"]) == 2
    assert await life.does("unserve", "v1", "--yes", *DEPENDENTS) == codes.DONE
    before = (await life.shop.live("w-0", "v2"))["metadata"]["resourceVersion"]

    assert await life.does("remove_version", "v1", "--dry-run", *DEPENDENTS) == codes.DONE
    assert len((await life.shop.live("w-1", "v2"))["metadata"]["annotations"]) == 2
    assert await life.does("remove_version", "v1", *DEPENDENTS) == codes.DONE

    found = await life.shop.all("v2")
    assert [each["metadata"]["annotations"] for each in found.values()] == [{"a": "b"}] * 3
    assert found["w-0"]["metadata"]["resourceVersion"] == before
    assert await life.stand() == {"v2": (True, True)}


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("in_force", ["published", "kept"])
async def test_the_hub_is_that_of_the_rules_in_force_whatever_other_maps_say(
    site: Site, tmp_path: Path, in_force: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Maps of other namespaces are of nobody who converts, and one that the operator has rejected is not in force."""
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    service = {"namespace": "works", "name": "fairlead", "path": "/convert"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    body = msgspec.json.encode({"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}})
    await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", life.shop.name), MERGE_PATCH, body))
    await site.create(NAMESPACES, {"metadata": {"name": "works"}})
    head = {"kind": "ConversionRules", "crd": life.shop.name}
    another, right = (
        {**head, "hub": hub, "spokes": [{"version": spoke}]} for hub, spoke in (("v1", "v2"), ("v2", "v1"))
    )
    metadata = {"name": "rules", "labels": {RULES_LABEL: "true"}}
    await site.create(CONFIGMAPS, {"metadata": metadata, "data": {"rules.yaml": yaml.safe_dump(another)}})
    if in_force == "kept":
        metadata = {"name": kept_rules_name(life.shop.name)}
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"rules.yaml": yaml.safe_dump(right)},
    }
    await site.client.call(create(CONFIGMAPS, "works", msgspec.json.encode(made)))

    code = await life.does("unserve", "v2", "--yes", *DEPENDENTS)

    assert code == codes.PRECONDITION
    assert "v2 is the hub" in capsys.readouterr().err


@everywhere(controllers=False, on=("sim",))
async def test_what_objects_carry_stays_where_the_definition_may_not_be_written(site: Site, tmp_path: Path) -> None:
    """Nothing would bring it back, and the version is there still."""
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    assert await life.does("set_storage", "v2") == codes.DONE
    old = {"apiVersion": life.shop.resource("v1").api_version, "kind": "Widget", "metadata": {"name": "w"}}
    body = life.shop.converted({**old, "spec": {"size": 1, "legacyMode": True}})
    await site.create(life.shop.resource("v2"), {"metadata": body["metadata"], "spec": body["spec"]})
    await life.settle_storage("v2")
    assert await life.does("unserve", "v1", "--yes", *DEPENDENTS) == codes.DONE
    before = (await life.shop.live("w", "v2"))["metadata"]["annotations"]
    refused = Client(Faulty(site.ground.transport("admin"), "patch customresourcedefinitions: 403"))

    with pytest.raises(Forbidden):
        await called("remove_version", refused, life.shop.name, "v1", *DEPENDENTS)

    assert await life.stand() == {"v1": (False, False), "v2": (True, True)}
    assert (await life.shop.live("w", "v2"))["metadata"]["annotations"] == before != {}


@everywhere(controllers=False)
async def test_rules_come_from_config_maps_unless_they_name_code(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    async def publish(name: str, rules: Tree) -> None:
        metadata = {"name": name, "labels": {RULES_LABEL: "true"}}
        await site.create(CONFIGMAPS, {"metadata": metadata, "data": {"rules.yaml": yaml.safe_dump(rules)}})

    async with a_factory(site, *versions(v2={"served": False})) as factory:
        await factory.create(a_gadget("one", size=1, colour="red"))
        coded = {"kind": "ConversionRules", "crd": GADGETS, "hub": "v2", "spokes": [{"version": "v1"}]}
        await publish("code", {**coded, "python": "antigravity:fly"})

        assert await called("serve", site.client, GADGETS, "v2") == codes.PRECONDITION
        assert "whose rules are not known here" in capsys.readouterr().err
        assert "antigravity" not in sys.modules
        await site.client.call(delete(Ref(CONFIGMAPS, site.namespace, "code")))
        await publish("good", gadget_rules())
        assert await called("serve", site.client, GADGETS, "v2") == codes.DONE


@everywhere(controllers=False, on=("sim",))
async def test_a_replica_that_cannot_convert_a_version_holds_it_up(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    service = {"service": {"namespace": site.namespace, "name": "hook", "path": "/convert"}}
    webhook = {"clientConfig": service, "conversionReviewVersions": ["v1"]}
    life.whole["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    await life.define("v1", "v2")
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump(life.shop.rules()))

    async def replica(name: str, *known: str) -> None:
        note = {CONVERTIBLE: msgspec.json.encode({life.shop.name: [*known]}).decode()}
        spec = {"containers": [{"name": "main", "image": "main"}]}
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        await site.create(PODS, {"metadata": {"name": name, "annotations": note}, "spec": spec}, status=ready)

    await replica("old", "v1")
    await replica("new", "v1", "v2")

    assert await life.does("set_storage", "v2", "--rules", str(rules)) == codes.PRECONDITION
    told = capsys.readouterr().err
    assert "replica old cannot convert v2 yet" in told
    assert "replica new" not in told
    await site.client.call(delete(Ref(PODS, site.namespace, "old")))
    assert await life.does("set_storage", "v2", "--rules", str(rules)) == codes.DONE
