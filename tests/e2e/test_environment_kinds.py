"""The kinds of environments on an API server: accepted, with their defaults, and strict where the contract is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fairlead.contracts.environments.install.definitions import definitions
from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, GROUP, MATERIALIZES, NIL
from kubeloop.objects.meta import Resource
from kubeloop.request import Response, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import MERGE, Shop, Tree, an_empty_shop, is_established, refusal, tree_of

V: Tree = {"environmentdImageRef": "materialize/environmentd:v26.0.0", "backendSecretName": "materialize-backend"}
ID = "12345678-1234-1234-1234-12345678901a"
OTHER = "22222222-2222-4222-8222-222222222222"
STORED: Tree = V | {
    "authenticatorKind": "None",
    "enableRbac": False,
    "environmentId": NIL,
    "forceRollout": NIL,
    "rolloutStrategy": "WaitUntilReady",
}
OLD_STORED: Tree = STORED | {"requestRollout": NIL, "forcePromote": "", "inPlaceRollout": False}


def of(version: str) -> Resource:
    return Resource(GROUP, version, MATERIALIZES.plural, MATERIALIZES.kind)


def only(definition: Tree, version: str) -> Tree:
    """One version of the definition, which no conversion can be asked for."""
    (found,) = (each for each in definition["spec"]["versions"] if each["name"] == version)
    return definition | {"spec": definition["spec"] | {"versions": [found | {"storage": True}]}}


@asynccontextmanager
async def environments(site: Site, *trees: Tree) -> AsyncIterator[Shop]:
    async with an_empty_shop(site) as shop:
        for tree in trees or definitions():
            await shop.define(tree)
        yield shop


async def sent(shop: Shop, resource: Resource, name: str, spec: Tree) -> Response:
    tree = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    return await shop.send("POST", shop.at(resource=resource), tree, fieldValidation="Strict")


@everywhere(controllers=False)
async def test_all_kinds_are_accepted_and_structural(site: Site) -> None:
    async with environments(site) as shop:
        found = [
            tree_of(await shop.send("GET", path_of(CUSTOM_RESOURCES, name=tree["metadata"]["name"])))  # type: ignore[index]
            for tree in definitions()
        ]

    assert all(is_established(each) for each in found)
    conditions = {each["type"] for one in found for each in one["status"]["conditions"]}
    assert "NonStructuralSchema" not in conditions
    assert found[0]["status"]["storedVersions"] == ["v1alpha2"]


@everywhere(controllers=False)
async def test_only_the_defaults_of_the_contract_are_stored(site: Site) -> None:
    async with environments(site, only(dict(definitions()[0]), "v1alpha1")) as shop:
        old = tree_of(await sent(shop, of("v1alpha1"), "old", V))
    assert old["spec"] == OLD_STORED


@everywhere(controllers=False)
async def test_defaults_of_the_later_versions(site: Site) -> None:
    console = {
        "consoleImageRef": "c",
        "balancerd": {"serviceName": "s", "namespace": "n", "scheme": "https"},
    }

    async with environments(site) as shop:
        made = [tree_of(await sent(shop, of(version), version, V)) for version in ("v1alpha2", "v1")]
        nulls = tree_of(await sent(shop, of("v1alpha2"), "nulls", V | dict.fromkeys(("enableRbac", "environmentId"))))
        balancer = tree_of(await sent(shop, BALANCERS, "b", {"balancerdImageRef": "b"}))
        with_console = tree_of(await sent(shop, CONSOLES, "c", console))

    assert [each["spec"] for each in made] == [STORED, STORED]
    assert nulls["spec"] == STORED
    assert balancer["spec"] == {"balancerdImageRef": "b"}
    assert with_console["spec"] == console | {"authenticatorKind": "None"}


FULL: Tree = V | {
    "environmentdExtraArgs": ["--a"],
    "environmentdExtraEnv": [
        {"name": "A", "value": "1"},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}},
        {"name": "D", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
        {"name": "E", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 1}}},
        {"name": "F", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
    ],
    "environmentdConnectionRoleArn": None,
    "environmentdResourceRequirements": {
        "limits": {"cpu": 1, "memory": "4Gi"},
        "requests": {"cpu": "500m"},
        "claims": [{"name": "gpu", "request": "r"}],
    },
    "environmentdScratchVolumeStorageRequirement": "4Gi",
    "balancerdResourceRequirements": None,
    "balancerdReplicas": 0,
    "consoleReplicas": None,
    "serviceAccountAnnotations": {"a": "b"},
    "podLabels": {},
    "forcePromote": "a" * 64,
    "forceRollout": OTHER.upper(),
    "rolloutStrategy": "ManuallyPromote",
    "rolloutRequestTimeout": "1h 30m",
    "authenticatorKind": "Sasl",
    "enableRbac": True,
    "environmentId": ID.replace("-", "").upper(),
    "systemParameterConfigmapName": "p",
    "internalCertificateSpec": {
        "dnsNames": ["a"],
        "duration": "1h",
        "issuerRef": {"name": "ca", "kind": None},
        "secretTemplate": {"labels": {"a": "b"}, "annotations": None},
        "privateKeyAlgorithm": None,
        "privateKeySize": 256,
    },
    "balancerdExternalCertificateSpec": {"privateKeyAlgorithm": "ECDSA", "issuerRef": None},
}


@everywhere(controllers=False)
async def test_every_field_is_kept_as_it_was_sent(site: Site) -> None:
    async with environments(site) as shop:
        answers = [await sent(shop, of(version), version, FULL) for version in ("v1alpha2", "v1")]

    assert [answer.status for answer in answers] == [201, 201], answers[0].body
    assert [tree_of(answer)["spec"] for answer in answers] == [FULL, FULL]


BAD: dict[str, tuple[Tree, str]] = {
    "no image": ({"environmentdImageRef": None}, "spec.environmentdImageRef"),
    "no Secret": ({"backendSecretName": None}, "spec.backendSecretName"),
    "a strategy nobody knows": ({"rolloutStrategy": "Recreate"}, "spec.rolloutStrategy"),
    "an authenticator nobody knows": ({"authenticatorKind": "none"}, "spec.authenticatorKind"),
    "an id that is no UUID": ({"environmentId": "mine"}, "spec.environmentId"),
    "an empty id": ({"environmentId": ""}, "spec.environmentId"),
    "a request that is no UUID": ({"forceRollout": "again"}, "spec.forceRollout"),
    "fewer than no replicas": ({"balancerdReplicas": -1}, "spec.balancerdReplicas"),
    "replicas in words": ({"consoleReplicas": "two"}, "spec.consoleReplicas"),
    "a number as a label": ({"podLabels": {"a": 1}}, "spec.podLabels.a"),
    "a variable without a name": ({"environmentdExtraEnv": [{"value": "1"}]}, "spec.environmentdExtraEnv[0].name"),
    "a number as a variable": (
        {"environmentdExtraEnv": [{"name": "a", "value": 1}]},
        "spec.environmentdExtraEnv[0].value",
    ),
    "an amount that is none": (
        {"environmentdResourceRequirements": {"limits": {"cpu": "much"}}},
        "spec.environmentdResourceRequirements.limits.cpu",
    ),
    "an issuer without a name": (
        {"internalCertificateSpec": {"issuerRef": {"kind": "Issuer"}}},
        "spec.internalCertificateSpec.issuerRef.name",
    ),
    "a kind of key nobody knows": (
        {"internalCertificateSpec": {"privateKeyAlgorithm": "DSA"}},
        "spec.internalCertificateSpec.privateKeyAlgorithm",
    ),
}


@everywhere(controllers=False)
async def test_what_the_contract_does_not_allow_is_refused(site: Site) -> None:
    async with environments(site) as shop:
        answers = {
            case: refusal(
                await sent(shop, of("v1alpha2"), "bad", {k: v for k, v in (V | spec).items() if v is not None})
            )
            for case, (spec, _) in BAD.items()
        }
        gone = await sent(shop, of("v1alpha2"), "bad", V | {"requestRollout": NIL})

    for case, (_, field) in BAD.items():
        code, reason, causes = answers[case]
        assert (code, reason) == (422, "Invalid"), case
        assert field in {each[0] for each in causes}, case
    assert (gone.status, 'unknown field "spec.requestRollout"' in tree_of(gone)["message"]) == (400, True)


@everywhere(controllers=False)
async def test_an_environment_id_is_filled_in_once_and_stays(site: Site) -> None:
    async with environments(site) as shop:

        async def change(identifier: str | None, version: str = "v1alpha2") -> tuple[int, str]:
            at = shop.at("m", "", of(version))
            answer = tree_of(await shop.send("PATCH", at, {"spec": {"environmentId": identifier}}, kind=MERGE))
            return answer.get("code", 200), answer.get("message", "")

        await sent(shop, of("v1alpha2"), "m", V)
        taken = [
            await change(NIL),
            await change(NIL.replace("-", "")),
            await change(ID),
            await change(ID.upper()),
            await change(ID.replace("-", "")),
            await change(ID, "v1"),
        ]
        refused = [await change(OTHER), await change(NIL), await change(None), await change(OTHER, "v1")]
        other = await shop.send("PATCH", shop.at("m", "", of("v1")), {"spec": {"enableRbac": True}}, kind=MERGE)

    assert taken == [(200, "")] * 6
    assert {code for code, _ in refused} == {422}
    assert all("environmentId cannot change once it is set" in message for _, message in refused)
    assert tree_of(other)["spec"]["environmentId"] == ID


@everywhere(controllers=False)
async def test_a_status_has_what_its_version_requires(site: Site) -> None:
    condition = {
        "type": "UpToDate",
        "status": "True",
        "reason": "Applied",
        "message": "",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
        "observedGeneration": 1,
    }
    status = {"resourceId": "abcdefghij", "activeGeneration": 1, "conditions": [condition]}
    old = status | {"lastCompletedRolloutRequest": NIL, "resourcesHash": "", "lastCompletedRolloutHash": None}

    async def write(shop: Shop, version: str, written: Tree) -> Response:
        return await shop.send("PATCH", shop.at("m", "status", of(version)), {"status": written}, kind=MERGE)

    async with environments(site) as shop:
        await sent(shop, of("v1alpha2"), "m", V)
        partial = await write(shop, "v1alpha2", {"resourceId": "abcdefghij"})
        negative = await write(shop, "v1alpha2", status | {"activeGeneration": -1})
        whole = await write(shop, "v1alpha2", status | {"requestedRolloutHash": "x"})
    async with an_empty_shop(site) as shop:
        await shop.send("DELETE", path_of(CUSTOM_RESOURCES, name=f"{MATERIALIZES.plural}.{GROUP}"))
        await site.until(lambda: f"{MATERIALIZES.plural}.{GROUP}" not in site.history.objects(CUSTOM_RESOURCES))
        await shop.define(only(dict(definitions()[0]), "v1alpha1"))
        await sent(shop, of("v1alpha1"), "m", V)
        lacking = await write(shop, "v1alpha1", status)
        complete = await write(shop, "v1alpha1", old)

    assert [field for field, _, _ in refusal(partial)[2] if field.startswith("status")] == [
        "status.activeGeneration",
        "status.conditions",
    ]
    assert refusal(negative)[0] == 422
    assert tree_of(whole)["status"] == status | {"requestedRolloutHash": "x"}
    assert [field for field, _, _ in refusal(lacking)[2] if field.startswith("status")] == [
        "status.lastCompletedRolloutRequest",
        "status.resourcesHash",
    ]
    assert "lastCompletedRolloutHash" not in tree_of(complete)["status"]
