"""kubectl: found, or built once, in the release of the control plane and in an old one that clients still have.

It is built from kubectl's own module, which needs far fewer others than all of Kubernetes; of an old release not all of
those can be had any more. `$FAIRLEAD_KUBECTL` names another program for both.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fairlead.plane.build import KUBERNETES, Say, go, kubernetes_stamp, printed
from fairlead.plane.tool import Tool

OLD = "1.32.13"
RELEASES = (KUBERNETES, OLD)

MAIN = """package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
"""


def _build(release: str, work: Path) -> None:
    (work / "go.mod").write_text("module kubectl.local\n")
    (work / "main.go").write_text(MAIN)
    tag = "v0." + release.partition(".")[2]
    modules = ("kubectl", "client-go", "component-base")
    go(work, "get", *(f"k8s.io/{module}@{tag}" for module in modules))
    target = ("-o", str(work / "kubectl"), ".")
    go(work, "build", "-p=1", "-mod=mod", "-trimpath", f"-ldflags={kubernetes_stamp(release)}", *target)


def find(say: Say, *, release: str = KUBERNETES, build: bool = True) -> Path:
    """The program; raises Unavailable with what would help."""
    made = partial(_build, release)
    tool = Tool(name="Kubectl", version=release, minutes=2, target="control-plane", build=made)
    return tool.find(say, build=build)


if __name__ == "__main__":
    raise SystemExit(max(printed(partial(find, release=release)) for release in RELEASES))
