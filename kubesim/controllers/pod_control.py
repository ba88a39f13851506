"""Pods that a controller makes and deletes for a set, one by one, told in Events; a refusal is an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta, Resource
from kubesim.controllers.base import Api, Expectations
from kubesim.errors import StatusError
from kubesim.store.versions import Tree

OPERATIONS = ("CREATE", "UPDATE", "DELETE")
_GONE = 404

T = TypeVar("T")


class Owner(Protocol):
    """The set."""

    @property
    def metadata(self) -> Meta: ...


class EventSink(Protocol):
    """Records an Event about the set."""

    def __call__(self, reason: str, text: str, *, warning: bool = False) -> None: ...


Act = Callable[[], Awaitable[StatusError | None]]
"""Answers with what went wrong."""


def is_of_ending_namespace(error: StatusError) -> bool:
    """Whether a creation was refused because the namespace goes away: every other one would be as well."""
    causes = error.details.get("causes")
    return isinstance(causes, list) and any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


async def together(
    api: Api, resources: Iterable[Resource], namespace: str, acts: Sequence[Callable[[], Awaitable[T]]]
) -> list[T]:
    """The outcomes of acts that write these resources at the same time; what takes no time is done in turn."""
    takes_time = any(
        api.is_reviewed(operation, resource, namespace) for resource in resources for operation in OPERATIONS
    )
    if takes_time and len(acts) > 1:
        return list(await asyncio.gather(*(act() for act in acts)))
    return [await act() for act in acts]


async def slowly(api: Api, namespace: str, acts: Sequence[Act], pause: float | None = None) -> StatusError | None:
    """Acts on pods in batches of 1, 2, 4 and so on, and ends after the first in which something failed.

    With a pause there are so many seconds between two batches.
    """
    size = 1
    while acts:
        outcomes = await together(api, (PODS,), namespace, acts[:size])
        error = next((each for each in outcomes if each is not None), None)
        acts, size = acts[size:], 2 * size
        if error is not None:
            return error
        if acts and pause is not None:
            await asyncio.sleep(pause)
    return None


async def create_pod(
    api: Api, owner: Owner, pod: Tree, tell: EventSink, made: Callable[[Tree], None]
) -> StatusError | None:
    """Makes a pod and hands it to `made`; the answer is why it could not be."""
    try:
        tree = await api.create(PODS, owner.metadata.namespace, pod)
    except StatusError as error:
        if is_of_ending_namespace(error):
            return None  # every attempt would fail, and the set goes as well
        tell("FailedCreate", f"Error creating: {error}", warning=True)
        return error
    made(tree)
    tell("SuccessfulCreate", f"Created pod: {tree['metadata']['name']}")
    return None


async def delete_pod(
    api: Api, key: Hashable, pod: Meta, tell: EventSink, deleted: Expectations, is_leaving: Callable[[], bool]
) -> StatusError | None:
    """Deletes a pod, which must then come to be seen leaving; the answer is why it could not be deleted."""
    try:
        await api.delete(PODS, pod.namespace, pod.name)
    except StatusError as error:
        if error.code == _GONE:
            return None
        tell("FailedDelete", f"Error deleting: {error}", warning=True)
        return error
    deleted.unseen(key, is_leaving)
    tell("SuccessfulDelete", f"Deleted pod: {pod.name}")
    return None
