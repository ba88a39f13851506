"""Pods that a controller makes and deletes for a set, one by one, told in Events; a refusal is an answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta
from kubesim.controllers.base import Api, Expectations
from kubesim.errors import StatusError
from kubesim.store.versions import Tree

_GONE = 404


class Owner(Protocol):
    """The set."""

    @property
    def metadata(self) -> Meta: ...


class EventSink(Protocol):
    """Records an Event about the set."""

    def __call__(self, reason: str, text: str, *, warning: bool = False) -> None: ...


def is_of_ending_namespace(error: StatusError) -> bool:
    """Whether a creation was refused because the namespace goes away: every other one would be as well."""
    causes = error.details.get("causes")
    return isinstance(causes, list) and any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def create_pod(api: Api, owner: Owner, pod: Tree, tell: EventSink, made: Callable[[Tree], None]) -> StatusError | None:
    """Makes a pod and hands it to `made`; the answer is why it could not be."""
    try:
        tree = api.create(PODS, owner.metadata.namespace, pod)
    except StatusError as error:
        if is_of_ending_namespace(error):
            return None  # every attempt would fail, and the set goes as well
        tell("FailedCreate", f"Error creating: {error}", warning=True)
        return error
    made(tree)
    tell("SuccessfulCreate", f"Created pod: {tree['metadata']['name']}")
    return None


def delete_pod(
    api: Api, key: Hashable, pod: Meta, tell: EventSink, deleted: Expectations, is_leaving: Callable[[], bool]
) -> StatusError | None:
    """Deletes a pod, which must then come to be seen leaving; the answer is why it could not be deleted."""
    try:
        api.delete(PODS, pod.namespace, pod.name)
    except StatusError as error:
        if error.code == _GONE:
            return None
        tell("FailedDelete", f"Error deleting: {error}", warning=True)
        return error
    deleted.unseen(key, is_leaving)
    tell("SuccessfulDelete", f"Deleted pod: {pod.name}")
    return None
