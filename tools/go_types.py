"""Reads the Go types of the Kubernetes API from its sources, as far as encoding to and from JSON depends on them.

A struct becomes a map from the names of its fields in JSON to their types, in the order of the source. A type is
written as in Go, with the package in the words of OpenAPI (`[]core.v1.Container`); a dot before a name stands for the
package of the struct itself. Behind the type, `?` says that the field is left out where it is empty, `??` where it is
zero. A field `+Name` is a struct that is embedded without a name of its own. Another named type becomes its
definition, and one that decodes itself becomes `!`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fairlead.plane.build import Unavailable

Tree = dict[str, Any]

_MODULES = {"api": "", "apimachinery": "pkg", "apiextensions-apiserver": "pkg"}
"""Modules of k8s.io, and the folder in which their packages lie."""
_IMPORT = re.compile(r'^\s*(?:import\s+)?(\w+)?\s*"(k8s\.io/[^"]+)"', re.MULTILINE)
_STRUCT = re.compile(r"^type (\w+) struct ?\{(?:\}|\n(.*?)^\})", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (?!struct\b|interface\b|func\b)(?:= )?([\w\[\].*]+)\s*(?://.*)?$", re.MULTILINE)
_GROUPED = re.compile(r"^type \(\n(.*?)^\)", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w\[\].*{}]+)\s+`[^`]*json:"([^",]*)([^"]*)"[^`]*`', re.MULTILINE)
_DECODES = re.compile(r"^func \(\w+ \*?(\w+)\) UnmarshalJSON\(", re.MULTILINE)
_WORD = re.compile(r"(?:\b[a-z]\w*\.)?\b\w+")
_PLAIN = ("bool", "bytes", "float64", "int", "int32", "int64", "map", "string")


class Sources:
    """The packages of the three modules in the release of a control plane."""

    def __init__(self, release: str) -> None:
        """`release` is that of Kubernetes: the modules of v1.36.4 are v0.36.4."""
        cache = Path(go("env", "GOMODCACHE")) / "k8s.io"
        number = "v0" + release.removeprefix("v").removeprefix("1")
        self._folders = {name: cache / f"{name}@{number}" for name in _MODULES}
        missing = [str(folder) for folder in self._folders.values() if not folder.is_dir()]
        if missing:
            raise Unavailable(f"there are no Go sources in {', '.join(missing)}")
        self._packages: dict[str, Tree] = {}

    def collected(self, names: Iterable[str]) -> Tree:
        """These types and all that they are made of, by name."""
        found: Tree = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._type(name)
                waiting += _references(name, found[name])
        return {name: found[name] for name in sorted(found)}

    def _type(self, name: str) -> Tree | str:
        package, _, kind = name.rpartition(".")
        types = self._package(package)
        if kind not in types:
            raise Unavailable(f"there is no type {name} in the Go sources")
        found: Tree | str = types[kind]
        return found

    def _package(self, package: str) -> Tree:
        if package not in self._packages:
            self._packages[package] = _read(sorted(self._folder(package).glob("*.go")))
        return self._packages[package]

    def _folder(self, package: str) -> Path:
        path = package.replace(".", "/")
        for module, inside in _MODULES.items():
            for between in ("apis", ""):
                folder = self._folders[module] / inside / between / path
                if folder.is_dir():
                    return folder
        raise Unavailable(f"there is no package {package} in the Go sources")


def go(*arguments: str) -> str:
    """What Go's command prints; Unavailable where there is no Go or it fails."""
    try:
        return subprocess.run(["go", *arguments], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Unavailable(f"go {' '.join(arguments)}: {problem}") from None


def _read(files: Iterable[Path]) -> Tree:
    """The types of a package."""
    types: Tree = {}
    decoding: list[str] = []
    for file in files:
        if file.name.endswith("_test.go"):
            continue
        text = file.read_text(encoding="utf-8")
        packages = {alias or path.rpartition("/")[2]: short_package(path) for alias, path in _IMPORT.findall(text)}
        for name, body in _STRUCT.findall(text):
            types[name] = dict(_fields(packages, body))
        grouped = "".join(
            f"type {line.strip()}\n" for block in _GROUPED.findall(text) for line in block.splitlines() if line.strip()
        )
        for name, definition in _NAMED.findall(text + grouped):
            types[name] = _written(packages, definition)
        decoding += _DECODES.findall(text)
    return types | dict.fromkeys(decoding, "!")


def _fields(packages: dict[str, str], body: str) -> Iterator[tuple[str, str]]:
    for name, kind, tag, options in _FIELD.findall(body):
        if tag == "-":
            continue
        wishes, written = options.split(","), _written(packages, kind)
        if "inline" in wishes or (not name and not tag):
            yield f"+{kind.rpartition('.')[2]}", written
        else:
            yield tag or name, written + ("??" if "omitzero" in wishes else "?" if "omitempty" in wishes else "")


def _written(packages: dict[str, str], kind: str) -> str:
    """A type of Go with the packages in the words of OpenAPI."""

    def word(found: re.Match[str]) -> str:
        alias, _, name = found[0].rpartition(".")
        if alias:
            return f"{packages[alias]}.{name}"
        return name if name in _PLAIN else f".{name}"

    return _WORD.sub(word, kind.replace("[]byte", "bytes"))


def _references(name: str, found: Tree | str) -> Iterator[str]:
    """The types that another refers to, by their full names."""
    package = name.rpartition(".")[0]
    for written in found.values() if isinstance(found, dict) else [found]:
        for dot, word in re.findall(r"(\.?)([A-Za-z][\w.-]*)", written):
            if dot:
                yield f"{package}.{word}"
            elif "." in word:
                yield word


def short_package(path: str) -> str:
    """A package as the names of OpenAPI have it, without what all of them begin with."""
    parts = path.removeprefix("k8s.io/").split("/")
    name = ".".join(parts)
    for prefix in ("api.", "apimachinery.pkg.", "apis.", "apiextensions-apiserver.pkg."):
        name = name.removeprefix(prefix)
    return name
