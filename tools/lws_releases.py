"""Upstream's releases of LeaderWorkerSet: their programs, built once into the user's cache, and what they install."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from fairlead.plane.build import Say, Unavailable, go
from fairlead.plane.tool import Tool
from tools.lws_managers import HOME, Manager, documents

Tree = dict[str, Any]

MODULE = "sigs.k8s.io/lws"
WITHOUT_FILE = "0.5."
"""Releases that take no configuration file."""
NAMES = {"MutatingWebhookConfiguration": "mutating", "ValidatingWebhookConfiguration": "validating"}


def module_folder(version: str) -> Path:
    """Upstream's sources in the Go module cache."""
    listed = go(Path.cwd(), "mod", "download", "-json", f"{MODULE}@v{version}")
    found = re.search(r'"Dir": "([^"]+)"', listed)
    if found is None:
        raise Unavailable(f"go mod download {MODULE}@v{version} named no folder; is the Go module proxy reachable?")
    return Path(found[1])


def program(version: str, say: Say) -> Path:
    """Upstream's manager of that release."""
    build = partial(_build, version)
    return Tool(name="LWS", version=version, minutes=4, target="control-plane", build=build).find(say)


def _build(version: str, work: Path) -> None:
    (work / "go.mod").write_text("module lws.local\n")
    go(work, "get", f"{MODULE}/cmd@v{version}")
    go(work, "build", "-p=1", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(work / "lws"), f"{MODULE}/cmd")


def upstream(version: str, say: Say) -> Manager:
    """That release with its own kinds and webhooks, as an administrator."""
    source = module_folder(version)
    secret = {"name": "lws-webhook-server-cert", "namespace": HOME}
    return Manager(
        objects=({"apiVersion": "v1", "kind": "Secret", "metadata": secret},),
        reads_file=not version.startswith(WITHOUT_FILE),
        command=(str(program(version, say)),),
        definitions=documents(*sorted((source / "config/crd/bases").glob("*.yaml"))),
        webhooks=tuple(_webhooks(source)),
    )


def _webhooks(source: Path) -> Iterator[Tree]:
    """Those of its manifests, with the changes that its kustomization makes to those of pods."""
    folder = source / "config/webhook"
    for each in documents(folder / "manifests.yaml"):
        name = NAMES[each["kind"]]
        changes = documents(folder / f"{name}-patch.yaml")[0]
        entries = {entry["name"]: entry for entry in each["webhooks"]}
        entries |= {change["value"]["name"]: change["value"] for change in changes}
        # Under the usual name the oldest release would put an authority of its own into it.
        yield each | {"metadata": {"name": f"by-address-{name}"}, "webhooks": list(entries.values())}
