"""Errors of the cluster in one sentence for people: what happened, to whom, and what would help."""

from __future__ import annotations

import re
from typing import cast

import msgspec

from kubeloop.errors import (
    ApiError,
    Forbidden,
    Garbled,
    KubeError,
    NotFound,
    ServerError,
    Throttled,
    TransportError,
    Unauthorized,
)

_REFUSED = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]*)")?'
)


_OF_THE_CLUSTER = frozenset(
    {
        "clusterrolebindings",
        "clusterroles",
        "customresourcedefinitions",
        "mutatingwebhookconfigurations",
        "namespaces",
        "nodes",
        "validatingwebhookconfigurations",
    }
)
"""Resources that commands list and that no namespace has; the refusal itself does not tell them from others."""

_DENIED = "denied the request: "
"""What the API server says before the words of an admission webhook: no role would help."""


def sentence(error: KubeError, server: str = "", context: str = "", *, chooses: bool = True) -> str:
    """One line; `server` and `context` are those that were used, as far as they are known.

    Errors without an answer of the cluster say what would help where they arise.

    `chooses` says that the program has `--context`, `--as` and `-n`, so that choosing otherwise is a way out.
    """
    cluster = f"the cluster {server}" if server else "the cluster"
    match error:
        case Unauthorized():
            used = f" of context {context}" if context else ""
            text = (
                f"{cluster} does not accept the credentials{used}; they may have expired:"
                f" {'log in again, or choose another context with --context' if chooses else 'renew them'}"
            )
        case Forbidden() if _DENIED in error.message:
            text = f"{cluster} refused the request ({error})"
        case Forbidden():
            text = _forbidden(error, chooses=chooses)
        case TransportError() if server and _is_garbled(error):
            text = _no_kubernetes(error, server)
        case ApiError(status=404 | 405, reason="") if server:
            text = _no_kubernetes(error, server)  # a Kubernetes API says no in its own form
        case NotFound():
            text = f"{error}: {cluster} does not have it; check the version of the cluster and the namespace"
        case Throttled() | ServerError():
            text = f"{cluster} could not answer ({error.status}, {error}): try again in a moment"
        case ApiError():
            text = f"{cluster} refused the request ({error.status}, {error})"
        case _:
            text = str(error)
    return " ".join(text.split())


def _is_garbled(error: TransportError) -> bool:
    """Whether there was an answer, which nobody can read."""
    return isinstance(error, Garbled) or isinstance(error.__cause__, msgspec.DecodeError | UnicodeDecodeError)


def _no_kubernetes(error: KubeError, server: str) -> str:
    return f"no Kubernetes API answers at {server} ({error}): check the server's address in the kubeconfig"


def _forbidden(error: Forbidden, *, chooses: bool) -> str:
    found = _REFUSED.search(error.message)
    otherwise = ", or act as another user with --as or --context" * chooses
    if found is None:
        return f"not allowed ({error}): ask for a role that allows it{otherwise}"
    user, verb = found["user"], found["verb"]
    what = f"{found['resource']}.{found['group']}" if found["group"] else found["resource"]
    if verb == "impersonate":
        return f'user "{user}" may not act as other {what}: leave out --as, or ask for a role that allows it'
    if found["namespace"] is not None:
        where, choice = f'in namespace "{found["namespace"]}"', "choose another namespace with -n, "
    elif verb in ("list", "watch") and found["resource"] not in _OF_THE_CLUSTER:
        where, choice = "in all namespaces", "choose one namespace with -n, "
    else:  # what has no namespace
        where, choice = "in the cluster", ""
    return f'user "{user}" may not {verb} {what} {where}: {choice * chooses}ask for a role that allows it{otherwise}'


def first_of(group: ExceptionGroup[Exception]) -> KubeError:
    """The first error of a group of tasks; raises those that are not the cluster's: the output's, or our mistakes."""
    mistakes = group.subgroup(lambda error: not isinstance(error, KubeError | ExceptionGroup))
    if mistakes is not None:
        unwritten, other = mistakes.split(OSError)
        raise other or _leaf(unwritten or mistakes)
    return cast("KubeError", _leaf(group))


def _leaf(group: ExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    return _leaf(error) if isinstance(error, ExceptionGroup) else error
