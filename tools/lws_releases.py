"""Upstream's releases of LeaderWorkerSet as managers: their programs, kinds and webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlead.plane import lws
from fairlead.plane.build import Say
from tools.lws_managers import HOME, Manager, documents

Tree = dict[str, Any]

WITHOUT_FILE = "0.5."
"""Releases that take no configuration file."""
NAMES = {"MutatingWebhookConfiguration": "mutating", "ValidatingWebhookConfiguration": "validating"}


def upstream(version: str, say: Say) -> Manager:
    """That release with its own kinds and webhooks, as an administrator."""
    source = lws.source(version)
    secret = {"name": "lws-webhook-server-cert", "namespace": HOME}
    return Manager(
        objects=({"apiVersion": "v1", "kind": "Secret", "metadata": secret},),
        reads_file=not version.startswith(WITHOUT_FILE),
        command=(str(lws.find(say, release=version)),),
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
