"""Which kinds of objects a rollout or an application may be about.

Whoever writes one has rights in its namespace, and the operator has its own everywhere. What it reads, makes and
changes for them is in that namespace. It is no Secret, which they need not be allowed to read, and no right, of which
the API server asks whether whoever gives it has it: that would be the operator.
"""

from __future__ import annotations

from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Resource

RIGHTS = "rbac.authorization.k8s.io"


def is_secret(resource: Resource) -> bool:
    return (resource.group, resource.plural) == (SECRETS.group, SECRETS.plural)


def out_of_reach(resource: Resource) -> str:
    """Why none of its objects is touched; empty where they may be."""
    if not resource.namespaced:
        return f"a {resource.kind} is in no namespace, and only what is in that of the application is made for it"
    if resource.group == RIGHTS:
        return f"a {resource.kind} gives rights that whoever writes an application need not have: create it yourself"
    if is_secret(resource):
        return "the contents of a Secret would be readable in the component and in what was applied: create it yourself"
    return ""
