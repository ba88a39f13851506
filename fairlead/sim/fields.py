"""What becomes of fields that a schema does not know: refused, warned about or passed over, as the request wishes.

They are pruned in any case. Only custom resources have schemas here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import msgspec

from fairlead.api.meta import Resource
from fairlead.kube.request import Request
from fairlead.sim.errors import bad_request, invalid, invalid_options, unsupported, wrong
from fairlead.sim.registry import Kind
from fairlead.sim.schema import prune
from fairlead.sim.store import Tree

_WISHES = ("Ignore", "Strict", "Warn")
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_NOTHING = Resource("", "", "", "")


def examiner(request: Request, kind: Kind, subresource: str, warnings: list[str]) -> Callable[[Tree], None]:
    """Looks at a tree that a request sends, or makes by a patch; adds to the warnings, or raises."""
    wish = dict(request.query).get("fieldValidation") or "Warn"
    if wish not in _WISHES:
        cause = unsupported("fieldValidation", wish, ("", *_WISHES))
        raise invalid_options(_OPTIONS[request.method], [cause])
    custom = kind.custom
    if custom is None or subresource == "scale" or wish == "Ignore":
        return lambda tree: None

    def examine(tree: Tree) -> None:
        unknown = [f'unknown field "{path}"' for path in prune(copy.deepcopy(tree), custom.root)]
        if not unknown:
            return
        if wish == "Warn":
            warnings.extend(unknown)
            return
        why = f"strict decoding error: {', '.join(unknown)}"
        if request.method == "PATCH":
            raise invalid(_NOTHING, "", [wrong("patch", msgspec.json.encode(tree).decode(), why)])
        name = kind.resource.kind
        raise bad_request(f'{name} in version "{kind.resource.version}" cannot be handled as a {name}: {why}')

    return examine
