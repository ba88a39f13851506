"""Definitions of the environment kinds on the API server: registered, left alone, repaired, trusted, converted."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

from fairlead.contracts.environments.install.definitions import definitions
from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.engine.decide.registration import Tree, name_of
from kubeloop.calls import Call
from kubesim.pki import Authority
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting import LATEST, OLD, Stage, an_environment, definition, marks, patched

CRDS = [name_of(each) for each in definitions()]


def trusted(tree: Tree) -> bytes:
    return b64decode(tree["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"])


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_fresh_cluster_gets_all_definitions_and_a_second_start_writes_nothing(
    site: Site, tmp_path: Path
) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()

    await stage.registration().register()

    live = {name: await definition(site, name) for name in CRDS}
    environments = live[CRDS[0]]
    assert [(each["name"], each["served"], each["storage"]) for each in environments["spec"]["versions"]] == [
        (each["name"], True, each["name"] == "v1alpha2") for each in environments["spec"]["versions"]
    ]
    webhook = environments["spec"]["conversion"]["webhook"]
    assert webhook["conversionReviewVersions"] == ["v1"]
    assert webhook["clientConfig"]["url"] == stage.webhook.url
    assert trusted(environments) == stage.files.authority.read_bytes()
    assert [live[name]["spec"]["conversion"] for name in CRDS[1:]] == [{"strategy": "None"}] * 2
    managers = [each["manager"] for each in environments["metadata"]["managedFields"] if each["operation"] == "Apply"]
    assert managers == ["orchestratord.materialize.cloud"]

    stage.forget()
    stage.log.records.clear()
    await stage.registration().register()

    assert {name: marks(await definition(site, name)) for name in CRDS} == {
        name: marks(tree) for name, tree in live.items()
    }
    assert not stage.log.of("definition applied")


@everywhere(controllers=False, on=("sim", "real"))
async def test_objects_are_converted_by_the_webhook_in_every_direction(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stage.registration().register()

    await site.create(OLD, an_environment("m", OLD, environmentdIamRoleArn="arn:role"))
    stored, old, latest = [await site.get(each, "m") for each in (MATERIALIZES, OLD, LATEST)]

    assert stored is not None
    assert old is not None
    assert latest is not None
    assert stored["spec"]["serviceAccountAnnotations"] == {"eks.amazonaws.com/role-arn": "arn:role"}
    assert "requestRollout" not in stored["spec"]
    assert old["spec"]["requestRollout"] != "00000000-0000-0000-0000-000000000000"
    assert (latest["apiVersion"], latest["spec"]) == ("materialize.cloud/v1", stored["spec"])
    assert stage.reviews > 0


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_conversion_that_another_tool_removed_is_repaired(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stage.registered()
    before = await definition(site)

    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}})

    async def is_repaired() -> bool:
        return bool((await definition(site))["spec"] == before["spec"])

    await site.until(is_repaired, following=[CUSTOM_RESOURCES])
    # Said when the answer to the write has come, which no event announces.
    await site.until(lambda: bool(stage.log.of("definition repaired")), every=0.2)


@everywhere(controllers=False, on=("sim", "real"))
async def test_an_authority_is_exchanged_without_a_failed_conversion(site: Site, tmp_path: Path) -> None:
    """The bundle holds both authorities before the new certificate is shown and drops the old one afterwards."""
    stage = Stage(site, tmp_path, interval=1.0)
    await stage.serve()
    await stage.registered()
    await site.create(MATERIALIZES, an_environment("m"))
    bundles: list[bytes] = [trusted(await definition(site))]

    async def old_ca_is_gone() -> bool:
        read = await site.get(OLD, "m")  # raises when the conversion fails
        assert read is not None
        if (now := trusted(await definition(site))) != bundles[-1]:
            bundles.append(now)
        return bundles[-1] == successor.certificate

    first, successor = stage.authority, Authority()
    stage.write(successor)
    await site.until(old_ca_is_gone, every=0.02)

    assert bundles == [first.certificate, successor.certificate + first.certificate, successor.certificate]
    reviews = stage.reviews
    assert await site.get(OLD, "m") is not None
    assert stage.reviews > reviews
    assert stage.health is not None
    assert (await stage.health(Call(method="GET", url="/healthz"))).status == 200


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_new_certificate_of_the_same_authority_leaves_the_definition_alone(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path, interval=0.2)
    await stage.serve()
    await stage.registered()
    before = marks(await definition(site))

    stage.write(stage.authority)
    await site.until(lambda: stage.log.of("certificate files read again"), every=0.05)
    await site.create(OLD, an_environment("m", OLD))

    assert marks(await definition(site)) == before


@everywhere(controllers=False, on=("sim", "real"))
async def test_versions_of_others_stay_and_are_never_the_stored_one(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stage.registration().register()
    other = {**(await definition(site))["spec"]["versions"][0], "name": "v2", "storage": False}
    await patched(site, {"op": "add", "path": "/spec/versions/-", "value": other})

    await stage.registration().register()

    names = [each["name"] for each in (await definition(site))["spec"]["versions"]]
    assert sorted(names) == ["v1", "v1alpha1", "v1alpha2", "v2"]
    assert [each["name"] for each in (await definition(site))["spec"]["versions"] if each["storage"]] == ["v1alpha2"]
