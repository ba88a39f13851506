"""Tables of objects, as the `Table` of meta.k8s.io."""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.errors import bad_request, wrong
from kubesim.kinds import views
from kubesim.kinds.registry import Kind
from kubesim.store.versions import Tree
from kubesim.tables import cluster, networks, pods, workloads
from kubesim.tables.printing import Printer

METADATA, OBJECT, NOTHING = "Metadata", "Object", "None"
"""What a row carries of its object."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_PRINTERS = cluster.PRINTERS | networks.PRINTERS | pods.PRINTERS | workloads.PRINTERS
_SCALE = "scale"
_SHOWN_ALONE = "deprecated.daemonset.template.generation"
"""An annotation that the server makes up when it shows the whole object."""


def included(wish: str) -> str:
    """What rows carry when a client wishes so; 400 for a wish nobody knows."""
    if wish not in ("", METADATA, OBJECT, NOTHING):
        cause = wrong("includeObject", wish, "must be 'Metadata', 'Object', 'None', or empty")
        raise bad_request(f"Unable to convert to Table as requested: {cause.field}: {cause.message}")
    return wish or METADATA


def printer_of(kind: Kind, subresource: str) -> Printer:
    """How objects of the kind, or of a subresource of it, are printed."""
    if subresource == _SCALE:
        return _PRINTERS["Scale"] if kind.custom is None else workloads.CUSTOM_SCALE
    if kind.custom is not None:
        return kind.custom.printer
    return _PRINTERS.get(kind.resource.kind, cluster.CREATED)


def table(
    kind: Kind,
    trees: Sequence[Tree],
    metadata: Tree,
    *,
    version: str,
    include: str,
    subresource: str = "",
    with_columns: bool = True,
) -> Tree:
    """A table of trees as they are stored; those of custom resources, as clients of the kind see them."""
    printer = printer_of(kind, subresource)
    rows = [_row(kind, printer, tree, version, include) for tree in trees]
    shown = [column.tree() for column in printer.columns] if with_columns else None
    head = {"kind": "Table", "apiVersion": f"meta.k8s.io/{version}", "metadata": metadata}
    return head | {"columnDefinitions": shown, "rows": rows}


def _row(kind: Kind, printer: Printer, tree: Tree, version: str, include: str) -> Tree:
    row: Tree = {"cells": printer.cells(tree)}
    if printer.conditions is not None and (conditions := printer.conditions(tree)):
        row["conditions"] = conditions
    return row | {"object": _object(kind, tree, version, include)}


def _object(kind: Kind, tree: Tree, version: str, include: str) -> Tree | None:
    if include == OBJECT:
        return {"kind": kind.resource.kind, "apiVersion": kind.resource.api_version} | views.outward(kind, tree)
    # The end of the first events is told by an annotation, so that one object is never left out.
    marked = ((tree.get("metadata") or {}).get("annotations") or {}).get(INITIAL_EVENTS_END)
    return partial(tree, version) if include == METADATA or marked else None


def partial(tree: Tree, version: str) -> Tree:
    """The metadata of an object alone, as it is stored."""
    head = {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}"}
    metadata: Tree = tree.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if _SHOWN_ALONE in annotations:
        left = {key: value for key, value in annotations.items() if key != _SHOWN_ALONE}
        metadata = {key: value for key, value in metadata.items() if key != "annotations"}
        metadata |= {"annotations": left} if left else {}
    return head | {"metadata": metadata}
