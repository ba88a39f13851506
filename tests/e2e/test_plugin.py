"""`kubectl fairlead`: kubectl finds the program by its name and hands everything on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from fairlead.plane.kubectl import find
from tests.e2e.clusters import Site, everywhere
from tests.e2e.programs import Finished, finished
from tests.e2e.rollouts import three_zones


async def plugin(site: Site, folder: Path, *words: str) -> Finished:
    try:
        program = find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    own = {"HOME": str(folder), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return await finished(str(program), "fairlead", *words, kubeconfig=site.server.kubeconfig, environment=own)


@everywhere(controllers=True, on=("served", "real"))
async def test_kubectl_lists_rollouts_as_fairlead_does(site: Site, tmp_path: Path) -> None:
    await three_zones(site)

    listed = await plugin(site, tmp_path, "get", "-n", site.namespace)
    own = await finished("fairlead", "get", "-n", site.namespace, kubeconfig=site.server.kubeconfig)
    wrong = await plugin(site, tmp_path, "get", "--colour")
    helped = await plugin(site, tmp_path, "get", "--help")

    assert (listed.code, listed.err) == (own.code, own.err)
    assert own.code == 0
    assert "ingester" in listed.out
    assert listed.out.splitlines()[0] == own.out.splitlines()[0]
    assert (wrong.code, helped.out.splitlines()[0][:27]) == (2, "usage: kubectl fairlead get")
    assert "kubectl fairlead get --help" in wrong.err
