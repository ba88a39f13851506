"""Every object of an environment is accepted by an API server as it is, and applying it again changes nothing."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments.decide.objects.environment import environment_objects
from fairlead.contracts.environments.decide.objects.generation import generation_objects, public_service
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted, encoded
from fairlead.contracts.environments.install.definitions import definitions
from fairlead.contracts.environments.kinds import BALANCERS, CERTIFICATES, CONSOLES, MANAGER
from fairlead.contracts.environments.settings import Settings
from kubeloop.request import apply
from tests.contracts.environments.decide.objects.samples import (
    AWS,
    HASH,
    LOCAL,
    OLD,
    Tree,
    all_objects,
    an_environment,
    everything,
    old,
    tree,
)
from tests.e2e.clusters import Site, everywhere
from tests.e2e.installing import define

CERTIFICATE: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "certificates.cert-manager.io"},
    "spec": {
        "group": CERTIFICATES.group,
        "scope": "Namespaced",
        "names": {
            "kind": CERTIFICATES.kind,
            "listKind": "CertificateList",
            "plural": "certificates",
            "singular": "certificate",
        },
        "versions": [
            {
                "name": CERTIFICATES.version,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        ],
    },
}
COMPANIONS = tuple(f"{each.plural}.{each.group}" for each in (BALANCERS, CONSOLES))


def at(site: Site, environment: Environment) -> Environment:
    return msgspec.structs.replace(environment, namespace=site.namespace)


async def installed(site: Site) -> None:
    """The kinds of the companions and cert-manager's."""
    kinds = [dict(each) for each in definitions() if each["metadata"]["name"] in COMPANIONS]  # type: ignore[index]
    await define(site, *kinds, CERTIFICATE)


async def applied(site: Site, wanted: Wanted) -> Tree:
    answer = await site.client.call(apply(wanted.ref, wanted.body, MANAGER, force=True))
    stored: Tree = msgspec.json.decode(answer.body)
    return stored


def lost(wanted: Any, stored: Any, path: str = "") -> list[str]:
    """Paths of what was applied and is not stored as it was said; what the server adds does not matter."""
    if isinstance(wanted, dict) and isinstance(stored, dict):
        return [each for key, value in wanted.items() for each in lost(value, stored.get(key), f"{path}.{key}")]
    if isinstance(wanted, list) and isinstance(stored, list) and len(wanted) == len(stored):
        pairs = enumerate(zip(wanted, stored, strict=True))
        return [each for index, (one, other) in pairs for each in lost(one, other, f"{path}[{index}]")]
    said_to_be_empty = wanted == {} and stored is None
    return [] if wanted == stored or said_to_be_empty else [f"{path}: {wanted!r} became {stored!r}"]


SAMPLES = pytest.mark.parametrize(
    ("environment", "settings"),
    [
        pytest.param(an_environment(), LOCAL, id="minimal"),
        pytest.param(everything(), AWS, id="everything"),
        pytest.param(old(), OLD, id="old"),
    ],
)


@SAMPLES
@everywhere(controllers=False)
async def test_every_object_is_accepted_as_it_is_and_only_once(
    site: Site, environment: Environment, settings: Settings
) -> None:
    await installed(site)
    objects = all_objects(at(site, environment), 1, settings)

    first = [await applied(site, each) for each in objects]
    second = [await applied(site, each) for each in objects]

    assert [lost(tree(each), stored) for each, stored in zip(objects, first, strict=True)] == [[]] * len(objects)
    versions = [[each["metadata"]["resourceVersion"] for each in stored] for stored in (first, second)]
    assert versions[0] == versions[1]


@everywhere(controllers=False)
async def test_a_generation_can_be_overwritten_and_the_public_service_moved(site: Site) -> None:
    before, after = at(site, an_environment()), at(site, everything())
    for each in (*generation_objects(before, 1, "one", LOCAL), public_service(before, 1, LOCAL)):
        await applied(site, each)

    overwriting = generation_objects(after, 1, "two", AWS)
    changed = [await applied(site, each) for each in overwriting]
    moved = await applied(site, public_service(after, 2, AWS))

    assert [lost(tree(each), stored) for each, stored in zip(overwriting, changed, strict=True)] == [[]] * 4
    assert moved["spec"]["selector"] == {"materialize.cloud/name": "mzabcdefgh12-environmentd-2"}
    assert (moved["spec"]["clusterIP"], changed[0]["spec"]["clusterIP"] == "None") == ("None", False)


@everywhere(controllers=False)
async def test_an_annotation_that_is_taken_out_of_the_spec_leaves_the_account(site: Site) -> None:
    marked, plain = (at(site, an_environment(service_account_annotations=given)) for given in ({"a": "b"}, None))

    given = await applied(site, environment_objects(marked, LOCAL)[0])
    taken = await applied(site, environment_objects(plain, LOCAL)[0])

    assert given["metadata"]["annotations"] == {"a": "b"}
    assert "annotations" not in taken["metadata"]


@everywhere(controllers=False)
async def test_a_headless_service_of_a_generation_is_taken_over_as_it_is(site: Site) -> None:
    """Operators of earlier versions made it so, and whether a Service is headless can never be changed."""
    service = generation_objects(at(site, an_environment()), 1, HASH, LOCAL)[0]
    body = tree(service)
    headless = Wanted(
        service.resource,
        service.namespace,
        service.name,
        encoded(body | {"spec": body["spec"] | {"clusterIP": "None"}}),
    )
    await applied(site, headless)

    stored = await applied(site, service)

    assert lost(body, stored) == []
    assert stored["spec"]["clusterIP"] == "None"
