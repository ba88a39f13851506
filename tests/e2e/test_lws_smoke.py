"""Sets roll on both clusters."""

from __future__ import annotations

from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.leaderworkers import Operator, admit, define_sets


@everywhere(controllers=True)
async def test_smoke(site: Site) -> None:
    await define_sets(site)
    await admit(site)
    operator = Operator(site)
    site.start_operator(operator)
    made = a_set("a", replicas=2, template={"size": 4})
    made["metadata"]["namespace"] = site.namespace
    await site.create(LEADER_WORKER_SETS, made)

    async def is_available() -> bool:
        found = await site.get(LEADER_WORKER_SETS, "a")
        print(found.get("status"))
        return any(
            c["type"] == "Available" and c["status"] == "True"
            for c in (found.get("status") or {}).get("conditions", ())
        )

    try:
        await site.until(is_available, every=2)
    finally:
        for line in operator.log.records[-60:]:
            print(line)
        print(await site.get(STATEFULSETS, "a"))
