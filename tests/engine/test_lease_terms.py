"""A downgrade that is allowed, and that is refused all the same where objects are stored in a version unknown to it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from fairlead.engine.contract import Contract, Room
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION, OPERATOR_VERSION
from fairlead.engine.decide.guard import VersionPolicy
from fairlead.engine.lease_terms import VersionTerms
from fairlead.engine.options import OperatorOptions, PartOptions
from kubeloop.client import Client
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.request import create
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.e2e.clusters import CUSTOM_RESOURCES
from tests.engine.world import Log
from tests.widgets.contract import CONTRACT
from tests.widgets.kinds import definition

LEASE = Ref(LEASES, "default", "fairlead-operator", "u-1")
NEWER = {MAX_OPERATOR_VERSION: "1.3.0"}
REGISTERING: Contract = structs.replace(CONTRACT, registers=True, kinds=Room("tests.widgets.kinds", "definitions"))


def options(*, allowed: bool) -> OperatorOptions:
    policy = VersionPolicy(own="1.2.0", minimum="1.0.0", allow_downgrade=allowed)
    return OperatorOptions(process="fairlead", identity="me", parts=(PartOptions(REGISTERING, None),), versions=policy)


async def refusal(cluster: Cluster, log: Log, *, allowed: bool) -> str:
    terms = VersionTerms(options(allowed=allowed), Client(cluster.transport()), log.logger())
    first, again = await terms.refusal(LEASE, NEWER), await terms.refusal(LEASE, NEWER)
    assert first == again
    return first


async def defined(cluster: Cluster, storage: str) -> None:
    tree = definition()
    tree["spec"]["versions"][1]["name"] = storage
    await Client(cluster.transport()).call(create(CUSTOM_RESOURCES, "", msgspec.json.encode(tree)))


def test_lower_version_is_refused_and_says_so_once() -> None:
    async def main() -> None:
        log = Log()
        assert "--allow-downgrade" in await refusal(Cluster(seed=1), log, allowed=False)
        assert len(log.of("the Lease is left alone")) == 1

    run(main(), seed=1)


@pytest.mark.parametrize(("storage", "why"), [("", ""), ("v2", ""), ("v3", "is stored in v3")])
def test_allowed_downgrade_depends_on_what_objects_are_stored_in(storage: str, why: str) -> None:
    async def main() -> None:
        cluster = Cluster(seed=1)
        if storage:
            await defined(cluster, storage)
        found = await refusal(cluster, Log(), allowed=True)
        assert why in found
        assert bool(found) is bool(why)

    run(main(), seed=1)


def test_highest_version_is_noted_only_when_kinds_are_registered() -> None:
    async def main() -> None:
        terms = VersionTerms(options(allowed=False), Client(Cluster(seed=1).transport()), Log().logger())
        assert terms.annotations({}) == {OPERATOR_VERSION: "1.2.0"}
        terms.registered()
        assert terms.annotations({}) == {OPERATOR_VERSION: "1.2.0", MAX_OPERATOR_VERSION: "1.2.0"}

    run(main(), seed=1)
