"""kubectl, the real program in both releases, as a user of a cluster: a command, and what its answer must say."""

from __future__ import annotations

import re
import shlex
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import msgspec
import pytest
import yaml

from fairlead.plane.build import Unavailable
from fairlead.plane.kubectl import RELEASES, find
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.programs import finished, running

both_releases = pytest.mark.parametrize("release", RELEASES)
"""For tests with `release`, which they give to `Kubectl`."""

PICTURE = "app:1"
"""The image of every pod; nobody looks for it."""


class Kubectl:
    """One user at one shell: files of its own, the scenario's namespace as the default.

    `@name` in a command is the file of that name.
    """

    def __init__(self, site: Site, release: str, folder: Path) -> None:
        try:
            self._program = find(lambda _line: None, release=release, build=False)
        except Unavailable as problem:
            pytest.skip(str(problem))
        self._site = site
        self._folder = folder
        self._kubeconfig = site.server.kubeconfig

    async def __call__(
        self,
        command: str,
        *patterns: str,
        code: int = 0,
        absent: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Runs it; every pattern must be found in what it says, `absent` must not, and the exit code is this one."""
        own = {"HOME": str(self._folder), **(environment or {})}
        words = self._words(command)
        answer = await finished(*words, kubeconfig=self._kubeconfig, environment=own, within=120.0)
        said = answer.out + answer.err
        shown = f"kubectl {command}\n{said}"
        assert answer.code == code, f"exit code {answer.code}, not {code}, of {shown}"
        for pattern in patterns:
            assert re.search(pattern, said, re.MULTILINE), f"{pattern!r} is not in the answer to {shown}"
        assert not absent or not re.search(absent, said, re.MULTILINE), f"{absent!r} is in the answer to {shown}"
        return answer.out

    def running(self, command: str) -> AbstractAsyncContextManager[Process]:
        """While it runs; it is killed afterwards."""
        return running(*self._words(command), kubeconfig=self._kubeconfig, environment={"HOME": str(self._folder)})

    def _words(self, command: str) -> tuple[str, ...]:
        words = (str(self._folder / word[1:]) if word.startswith("@") else word for word in shlex.split(command))
        return (str(self._program), "--namespace", self._site.namespace, *words)

    async def all(self, *steps: tuple[str, ...]) -> None:
        """Runs commands one after the other, each with the patterns of its answer."""
        for command, *patterns in steps:
            await self(command, *patterns)

    async def read(self, command: str) -> Tree:
        """The object that `get` finds."""
        tree: Tree = msgspec.json.decode(await self(f"get {command} -o json"))
        return tree

    def write(self, name: str, *objects: Tree) -> None:
        """Writes a manifest."""
        (self._folder / name).write_text(yaml.safe_dump_all(objects))


def container(name: str = "app", image: str = PICTURE, **more: object) -> Tree:
    return {"name": name, "image": image, **more}


def pod(name: str, **spec: object) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container()], **spec},
    }


def workload(kind: str, name: str, **spec: object) -> Tree:
    """A Deployment, StatefulSet or DaemonSet of pods labelled with its name."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container()]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec},
    }


def config_map(name: str, **data: str) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def definition() -> Tree:
    """Of gadgets.example.com, with a schema, a column, status, scale and a short name."""
    size = {"type": "integer", "description": "How large the gadget is.", "minimum": 1}
    schema = {
        "type": "object",
        "description": "A thing with a size.",
        "properties": {
            "spec": {"type": "object", "properties": {"size": size, "replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    names = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "shortNames": ["gd"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": "Namespaced", "versions": [version]},
    }


def gadget(name: str, **spec: object) -> Tree:
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}
