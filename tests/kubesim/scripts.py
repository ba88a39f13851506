"""Scripts against the verbs of an embedded cluster: they need nothing but the cluster and a clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from kubesim.api.verbs import Verbs
from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.patches.patch import MERGE_PATCH
from kubesim.time import run
from tests.kubesim.trees import Tree


def on_a_cluster(script: Callable[[Cluster], Any], *, seed: int = 0) -> Any:
    """The answer of a script that needs nothing but a cluster and a clock."""

    async def main() -> Any:
        answer = script(Cluster(seed=seed))
        return await answer if asyncio.iscoroutine(answer) else answer

    return run(main())


def refused(call: Callable[[], object]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        call()
    return caught.value


def merge(verbs: Verbs, resource: Any, name: str, change: Tree, subresource: str = "") -> Tree:
    body = json.dumps(change).encode()
    return verbs.patch(resource, "default", name, MERGE_PATCH, body, subresource=subresource, user="me")


def kinds_of_events(cluster: Cluster, resource: Any) -> list[str]:
    return [entry.type for entry in cluster.history.of(resource)]
