"""Every kind from its creation to its end: what is filled in, what counts as a change, what a deletion answers."""

from __future__ import annotations

import copy
from typing import Any

from tests.exchanges.case import Case, Step, case, delete, get, patch, post, put
from tests.exchanges.cases.samples import SAMPLES, Sample

_ELSEWHERE = ("customresourcedefinitions",)
"""Whose status the server writes meanwhile."""


def _changed(sample: Sample, **metadata: Any) -> dict[str, Any]:
    tree = copy.deepcopy(sample.object)
    tree["metadata"] |= {"resourceVersion": "<<1.metadata.resourceVersion>>"} | metadata
    return tree


def _life(plural: str, sample: Sample) -> Case:
    one = f"{sample.path}/{sample.name}"
    steps: list[Step] = [
        post(sample.path, sample.object),
        post(sample.path, sample.object),
        put(one, _changed(sample, labels={"step": "two"})),
        put(one, _changed(sample, labels={"step": "three"})),
        patch(one, {"metadata": {"annotations": {"step": "four"}}}),
        delete(one, dryRun="All"),
        delete(one),
    ]
    if plural not in ("namespaces", "pods"):
        steps.append(get(one))
    return case(f"life of {plural}", *steps)


CASES = tuple(_life(plural, sample) for plural, sample in SAMPLES.items() if plural not in _ELSEWHERE)
