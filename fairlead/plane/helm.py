"""Helm: found, or built once. `$FAIRLEAD_HELM` names another one."""

from __future__ import annotations

from pathlib import Path

from fairlead.plane.build import KUBERNETES, go, printed
from fairlead.plane.tool import Tool

HELM = "3.22.0"
MODULE = "helm.sh/helm/v3"


def _build(work: Path) -> None:
    go(work, "install", "-p=1", "-trimpath", f"-ldflags={_stamp()}", f"{MODULE}/cmd/helm@v{HELM}", GOBIN=str(work))


def _stamp() -> str:
    """Without a cluster to ask, Helm renders for the Kubernetes of its stamp, and unstamped for one of years ago."""
    major, minor, _ = KUBERNETES.split(".")
    names = {
        "internal/version.version": f"v{HELM}",
        "pkg/chartutil.k8sVersionMajor": major,
        "pkg/chartutil.k8sVersionMinor": minor,
        "pkg/lint/rules.k8sVersionMajor": major,
        "pkg/lint/rules.k8sVersionMinor": minor,
    }
    return "-s -w " + " ".join(f"-X {MODULE}/{name}={value}" for name, value in names.items())


find = Tool(name="Helm", version=HELM, minutes=2, target="control-plane", build=_build).find

if __name__ == "__main__":
    raise SystemExit(printed(find))
