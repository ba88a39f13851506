"""Writes the table by which the embedded cluster reads protobuf bodies, as the release's sources define them.

    python -m tools.protos

reads the `.proto` files and the Go types beside them from the Go module cache, where building the control plane puts
them, and writes what the served kinds need into `kubesim/data/wire.json`: for every message its fields by number,
with the name that JSON has for them. A Go type may write a message into the object around it (`inline`) and leave out
values that are zero (`omitempty`); both are said in the table. Each message is one line, so that the difference between
two releases can be read. Run it again when the release changes, or when a group is added to the registry.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fairlead.plane.build import KUBERNETES
from tools.keeping import keep, without_options

TARGET = Path(__file__).parent.parent / "kubesim" / "data" / "wire.json"
Fields = dict[str, list[str]]
"""By number: the name in JSON (empty when inline), the type, and `0` where a value of zero is left out."""

_ROOTS = ("k8s.io.api.", "k8s.io.apimachinery.pkg.", "k8s.io.apiextensions_apiserver.pkg.apis.")
_GROUPS = [
    "admissionregistration",
    "apps",
    "authentication",
    "authorization",
    "autoscaling",
    "batch",
    "certificates",
    "coordination",
    "core",
    "discovery",
    "events",
    "extensions",
    "flowcontrol",
    "networking",
    "node",
    "policy",
    "rbac",
    "resource",
    "scheduling",
    "storage",
]
_SCALARS = ("string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float")
_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s+(repeated |optional )?(map<string, *[\w.]+>|[\w.]+) (\w+) = (\d+);", re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAGS = re.compile(r"^\t(?:\w+ +)?(\*?)[^`\n]*`([^`\n]*)`", re.MULTILINE)
_IN_JSON = re.compile(r'json:"([^"]*)"')
_IN_PROTOBUF = re.compile(r'protobuf:"\w+,(\d+),')
_GROUP = re.compile(r"GroupName *= *\"([^\"]*)\"")
_TEMPLATES = ("TemplateSpec", "ClaimTemplate")
_OPTIONS = [
    "NodeProxyOptions",
    "PodAttachOptions",
    "PodExecOptions",
    "PodLogOptions",
    "PodPortForwardOptions",
    "PodProxyOptions",
    "RangeAllocation",
    "SerializedReference",
    "ServiceProxyOptions",
]


class Tag(NamedTuple):
    """What JSON calls a field (nothing: it is written into the object around), and which zero it leaves out."""

    called: str
    omits: str


class Unavailable(Exception):
    """The sources are not there."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file; answers with 1 when there are no sources to read."""
    without_options("protos", __doc__, arguments)
    try:
        folders = sources()
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    keep(TARGET, printed(collected(folders)))
    return 0


def sources() -> list[Path]:
    """The folders of the release that hold messages."""
    go = shutil.which("go")
    if go is None:
        raise Unavailable("there is no go command, which knows where the sources are")
    found = subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, check=True, text=True)
    cache, number = Path(found.stdout.strip()) / "k8s.io", KUBERNETES.removeprefix("v").partition(".")[2]
    machinery = cache / f"apimachinery@v0.{number}" / "pkg"
    folders = [cache / f"api@v0.{number}" / group for group in _GROUPS]
    folders = [version for group in folders for version in sorted(group.glob("v*")) if version.is_dir()]
    folders += [machinery / part for part in ("apis/meta/v1", "api/resource", "util/intstr", "runtime")]
    definitions = cache / f"apiextensions-apiserver@v0.{number}" / "pkg" / "apis" / "apiextensions"
    folders += [definitions / version for version in ("v1", "v1beta1")]
    missing = [str(folder) for folder in folders if not (folder / "generated.proto").exists()]
    if missing or len(folders) < len(_GROUPS):
        raise Unavailable(f"the sources of {KUBERNETES} are not in the module cache: {', '.join(missing) or cache}")
    return folders


def collected(folders: Iterable[Path]) -> dict[str, dict[str, object]]:
    """The package and the kinds of each version, and every type that the kinds of stable versions are made of."""
    types: dict[str, Fields] = {}
    kinds: dict[str, list[str]] = {}
    for folder in folders:
        proto = (folder / "generated.proto").read_text(encoding="utf-8")
        package = short(re.search(r"^package (\S+);", proto, re.MULTILINE)[1])  # type: ignore[index]
        found = dict(messages(proto, package, tags(folder)))
        types |= found
        group = next(
            (m[1] for path in sorted(folder.glob("register.go")) if (m := _GROUP.search(path.read_text()))), None
        )
        if group is not None:
            version = f"{group}/{folder.name}" if group else folder.name
            kinds[version] = [package, *(name.rpartition(".")[2] for name in found if _is_kind(name, found[name]))]
    stable = [
        f"{package}.{name}"
        for version, (package, *names) in kinds.items()
        for name in names
        if re.search(r"v\d+$", version) and not name.endswith("List")
    ]
    needed = dict(sorted(closure(types, [*stable, "meta.v1.DeleteOptions", "runtime.Unknown"]).items()))
    return {"kinds": dict(sorted(kinds.items())), "types": needed}  # type: ignore[dict-item]


def _is_kind(name: str, fields: Fields) -> bool:
    """Whether the message is an object, a list, or options with a version of their own."""
    last = name.rpartition(".")[2]
    if last.endswith(_TEMPLATES) or name.startswith("meta."):
        return last in ("DeleteOptions", "CreateOptions", "PatchOptions", "UpdateOptions", "ListOptions", "Status")
    first = fields.get("1", ["", ""])
    return (first[0] == "metadata" and first[1].startswith("meta.v1.")) or last in _OPTIONS


def tags(folder: Path) -> dict[tuple[str, str], Tag]:
    """What the Go types say of each field, by struct and number."""
    found: dict[tuple[str, str], Tag] = {}
    for path in sorted(folder.glob("*.go")):
        for name, body in _STRUCT.findall(path.read_text(encoding="utf-8")):
            for star, text in _TAGS.findall(body):
                called, number = _IN_JSON.search(text), _IN_PROTOBUF.search(text)
                if called is not None and number is not None:
                    first, *words = called[1].split(",")
                    omits = "omitzero" if "omitzero" in words else "omitempty" if "omitempty" in words else ""
                    found[name, number[1]] = Tag(first, "" if star else omits)
    return found


def messages(proto: str, package: str, known: dict[tuple[str, str], Tag]) -> Iterator[tuple[str, Fields]]:
    """Every message of a file, by its short name."""
    for name, body in _MESSAGE.findall(proto):
        fields: Fields = {}
        for label, written, called, number in _FIELD.findall(body):
            tag = known.get((name, number), Tag(called, ""))
            is_map = written.startswith("map<")
            mark = "{}" if is_map else "[]" if label.strip() == "repeated" else ""
            kind = written[:-1].partition(",")[2].strip() if is_map else written
            entry = [tag.called, mark + _typed(kind, package)]
            omits = not mark and (tag.omits == "omitzero" or (kind in _SCALARS and tag.omits == "omitempty"))
            fields[number] = [*entry, "0"] if omits else entry
        yield f"{package}.{name}", fields


def _typed(kind: str, package: str) -> str:
    if kind in _SCALARS:
        return kind
    return short(kind.lstrip(".")) if "." in kind else f"{package}.{kind}"


def short(name: str) -> str:
    """The name of a package or type without the folders that all of them lie in."""
    for root in _ROOTS:
        name = name.removeprefix(root)
    return name.removeprefix("apis.").removeprefix("util.").removeprefix("api.")


def closure(types: dict[str, Fields], names: Iterable[str]) -> dict[str, Fields]:
    """These types and all that they refer to."""
    found: dict[str, Fields] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in types and name not in found:
            found[name] = types[name]
            waiting += [entry[1].lstrip("[]{}") for entry in types[name].values()]
    return found


def printed(document: dict[str, dict[str, object]]) -> str:
    """As JSON with a line for each version and type."""

    def lines(entries: dict[str, object]) -> str:
        return ",\n".join(
            f"{json.dumps(key)}:{json.dumps(each, separators=(',', ':'))}" for key, each in entries.items()
        )

    return f'{{"kinds":{{\n{lines(document["kinds"])}\n}},\n"types":{{\n{lines(document["types"])}\n}}}}\n'


if __name__ == "__main__":
    sys.exit(main())
