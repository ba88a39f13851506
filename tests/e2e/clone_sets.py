"""Who runs CloneSets on a site: OpenKruise's own manager where the cluster has it, else the stand-in."""

from __future__ import annotations

from kubesim.standins.cloneset import CloneSets
from kubesim.standins.cloneset_definition import install
from tests.e2e.clusters import Site


async def run_clone_sets(site: Site) -> None:
    """Those of the namespace, from now on."""
    if not site.runs_clone_sets:
        await install(site.client)
        site.start(CloneSets(site.client_as("admin"), namespace=site.namespace).run())
