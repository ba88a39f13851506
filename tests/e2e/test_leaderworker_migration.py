"""The commands of docs/migrate-from-lws.md, as they stand there, by the real kubectl and the real Helm.

That the processes take each other's place is scenario 30; here it is what a person types.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from bench.managers import definitions
from fairlead.plane import helm, kubectl, lws
from fairlead.plane.build import Unavailable
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SECRETS
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.clusters import Site, everywhere
from tests.e2e.installing import define, put
from tests.e2e.programs import finished
from tests.e2e.test_leaderworker_helm import image_of, trusted

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "migrate-from-lws.md"
OURS = "example.test/fairlead:7"
BUNDLE = "dGhlaXJz"


def commands() -> list[str]:
    """Of all blocks for a shell, in their order."""
    blocks = re.findall(r"```sh\n(.+?)```", PAGE.read_text(), re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


def command(words: str) -> str:
    """The only one that has these words."""
    (found,) = (line for line in commands() if words in line)
    return found


class Shell:
    """Of somebody with kubectl, Helm and fairlead on the path, in the root of the repository."""

    def __init__(self, site: Site, folder: Path) -> None:
        try:
            programs = kubectl.find(lambda _line: None, build=False), helm.find(lambda _line: None, build=False)
        except Unavailable as problem:
            pytest.skip(str(problem))
        for program, name in zip(programs, ("kubectl", "helm"), strict=True):
            (folder / name).symlink_to(program)
        path = f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
        self._environment = {**os.environ, "PATH": path, "HOME": str(folder)}
        self._site = site

    async def __call__(self, line: str) -> str:
        """What it prints; the namespace of the page is that of the site."""
        repository, _, tag = OURS.rpartition(":")
        typed = line.replace("lws-system", self._site.namespace).replace("REPOSITORY", repository).replace("TAG", tag)
        done = await finished(
            "/bin/bash",
            "-o",
            "pipefail",
            "-c",
            f"cd {ROOT} && {typed}",
            kubeconfig=self._site.server.kubeconfig,
            environment=self._environment,
        )
        assert done.code == 0, f"{typed}\n{done.err}"
        return done.out


async def with_a_set(site: Site) -> None:
    """The kinds of upstream's release and a set, which is there before its webhooks are."""
    await define(site, *definitions())
    tree = a_set()
    tree["metadata"]["namespace"] = site.namespace
    await put(site, tree)


SEEN = "kubectl get lws -A -o jsonpath={.items[*].metadata.uid}{.items[*].spec}{.items[*].metadata.generation}"


async def installed_image(site: Site) -> str:
    deployment = await site.get(DEPLOYMENTS, "lws-controller-manager")
    assert deployment is not None
    return image_of(deployment)


@everywhere(controllers=False, on=("real",))
async def test_a_helm_release_is_swapped_and_taken_back(site: Site, tmp_path: Path) -> None:
    shell = Shell(site, tmp_path)
    await with_a_set(site)
    await shell(f"helm install lws {lws.source() / 'charts/lws'} --namespace lws-system --skip-crds")
    theirs = await installed_image(site)
    trust = await trusted(site, BUNDLE)
    before = await shell(SEEN)

    await shell(command("fairlead crds"))
    await shell(command("helm upgrade"))

    assert await installed_image(site) == OURS
    assert await shell(SEEN) == before
    assert "a " in await shell(command("kubectl get lws"))
    await shell(command("kubectl get pods"))
    assert await trusted(site) == trust, "no webhook is without its authority for a moment"

    await shell(command("kubectl scale"))
    await shell(command("helm rollback"))

    assert await installed_image(site) == theirs
    assert await shell(SEEN) == before
    assert await trusted(site) == trust
    await shell(command("kubectl delete lws"))
    assert await shell(SEEN) == before, "it has no slice"


@everywhere(controllers=False, on=("real",))
async def test_release_manifests_are_swapped_and_none_is_left_over(site: Site, tmp_path: Path) -> None:
    shell = Shell(site, tmp_path)
    await with_a_set(site)
    theirs = f"kubectl kustomize {lws.source() / 'config/default'} | sed s/lws.system/{site.namespace}/g"
    apply = f"{theirs} | kubectl apply --server-side --force-conflicts -f -"
    await shell(apply)
    image = await installed_image(site)
    trust = await trusted(site, BUNDLE)
    data = '{"data":{"ca.crt":"' + BUNDLE + '"}}'
    await shell(f"kubectl patch secret lws-webhook-server-cert -n lws-system --type merge -p '{data}'")
    before = await shell(SEEN)
    names = set((await shell(f"{theirs} | kubectl get -o name -f -")).split())

    await shell(command("fairlead crds"))
    applied = await shell(command("fairlead manifests"))

    assert await installed_image(site) == OURS
    made = {line.split()[0] for line in applied.splitlines()}
    left = {each for each in names - made if not each.startswith(("customresourcedefinition", "namespace/"))}
    assert left == set(), "every object is replaced"
    secret = await site.get(SECRETS, "lws-webhook-server-cert")
    assert secret is not None
    assert secret["data"] == {"ca.crt": BUNDLE}
    assert await trusted(site) == trust
    assert await shell(SEEN) == before

    await shell(command("kubectl scale"))
    await shell(apply)

    assert await installed_image(site) == image
    assert await shell(SEEN) == before


def test_every_command_of_the_page_is_played() -> None:
    played = set(re.findall(r'command\("([^"]+)"\)', Path(__file__).read_text()))

    assert {line for words in played for line in commands() if words in line} == set(commands())
