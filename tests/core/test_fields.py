"""Narrow structs stay narrow: a field that nothing reads costs memory for every object that is watched."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import msgspec
import pytest

import fairlead
import kubeloop
import kubesim
from kubeloop.objects import apps, core, meta

SOURCES = [Path(package.__file__ or "").parent for package in (fairlead, kubeloop, kubesim)]


@cache
def attributes_read() -> frozenset[str]:
    """Every name that is read from some object in the program, structural patterns included."""
    names: set[str] = set()
    for path in (path for folder in SOURCES for path in folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                names.add(node.attr)
            elif isinstance(node, ast.MatchClass):
                names.update(node.kwd_attrs)
    return frozenset(names)


@pytest.mark.parametrize("module", [meta, core, apps], ids=lambda module: module.__name__)
def test_every_field_of_a_watched_object_is_read_somewhere(module: object) -> None:
    structs = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    read = attributes_read()

    unread = [f"{kind.__name__}.{field}" for kind in structs for field in kind.__struct_fields__ if field not in read]

    assert unread == []
