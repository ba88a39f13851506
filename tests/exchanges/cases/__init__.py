"""All cases, by area."""

from __future__ import annotations

from tests.exchanges.case import Case
from tests.exchanges.cases import (
    access,
    admission,
    changing,
    creating,
    custom,
    definitions,
    empties,
    kinds,
    lists,
    patches,
    warned,
    workloads,
)

AREAS: dict[str, tuple[Case, ...]] = {
    "access": access.CASES,
    "admission": admission.CASES,
    "changing": changing.CASES,
    "creating": creating.CASES,
    "custom": custom.CASES,
    "definitions": definitions.CASES,
    "empties": empties.CASES,
    "kinds": kinds.CASES,
    "lists": lists.CASES,
    "patches": patches.CASES,
    "workloads": (*workloads.CASES, *warned.CASES),
}
