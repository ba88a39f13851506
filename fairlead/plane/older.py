"""An API server of an older release that clusters still run: found, or built once; for soak alone.

Nothing else of that release is built: its etcd is that of the pinned control plane, which serves them all.
`$FAIRLEAD_KUBE_APISERVER` names another program.
"""

from __future__ import annotations

from pathlib import Path

from fairlead.plane.build import build_kubernetes_program, kubernetes_source, printed
from fairlead.plane.tool import Tool

OLDER = "1.32.13"
UNUSED = tuple(
    f"k8s.io/{module}"
    for module in (
        "cri-client",
        "csi-translation-lib",
        "endpointslice",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
        "sample-apiserver",
        "sample-cli-plugin",
        "sample-controller",
    )
)
"""Modules of the release that are not in an API server: the proxy need not have them."""


def _build(work: Path) -> None:
    kubernetes_source(OLDER, work / "source", without=UNUSED)
    build_kubernetes_program(OLDER, work / "source", "kube-apiserver", work)


find = Tool(name="Kube-apiserver", version=OLDER, minutes=5, target="older-plane", build=_build).find

if __name__ == "__main__":
    raise SystemExit(printed(find))
