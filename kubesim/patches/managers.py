"""What a request says about who writes, and the configuration that it applies."""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct

from kubeloop.request import Request
from kubesim.bodies import yaml_scalars, yaml_text
from kubesim.bodies.yaml_text import said_twice
from kubesim.errors import Cause, bad_request, invalid_options, not_allowed, required, wrong
from kubesim.patches.patch import APPLY_PATCH
from kubesim.schema import numbers
from kubesim.store.versions import Tree

_LONGEST_MANAGER = 128
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}
_FALSE = ("", "0", "false")


class Manager(Struct, frozen=True):
    """Who writes, as the request says."""

    name: str
    force: bool = False
    """Takes from others what they own."""
    warnings: list[str] = []
    """What whoever writes is told besides the answer."""


def is_apply(request: Request) -> bool:
    """Whether the request applies a configuration."""
    return request.method == "PATCH" and request.content_type.partition(";")[0].strip() == APPLY_PATCH


def manager_of(request: Request, warnings: list[str]) -> Manager:
    """Who writes: whom the request names, else the program that sends it; raises for options that do not fit."""
    query = dict(request.query)
    name, force = query.get("fieldManager", ""), query.get("force")
    if causes := _causes(request, name, force):
        raise invalid_options(_OPTIONS[request.method], causes)
    return Manager(name or _program(request), force is not None and force.lower() not in _FALSE, warnings)


def _causes(request: Request, name: str, force: str | None) -> list[Cause]:
    causes: list[Cause] = []
    if is_apply(request):
        if not name:
            causes.append(required("fieldManager", "is required for apply patch"))
    elif request.method == "PATCH" and force is not None:
        causes.append(not_allowed("force", "may not be specified for non-apply patch"))
    if len(name.encode()) > _LONGEST_MANAGER:
        text = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        causes.append(Cause("FieldValueTooLong", text, "fieldManager"))
    for index, sign in enumerate(name):
        if not sign.isprintable():
            causes.append(wrong("fieldManager", name, f"invalid character U+{ord(sign):04X} (at position {index})"))
    return causes


def _program(request: Request) -> str:
    """The beginning of the user agent, as far as it can be read."""
    agent = next((value for key, value in request.headers if key.lower() == "user-agent"), "")
    name = ""
    for sign in agent.partition("/")[0]:
        if sign.isprintable():
            if len((name + sign).encode()) > _LONGEST_MANAGER:
                break
            name += sign
    return name


# Configurations


def configuration_of(body: bytes) -> tuple[Tree, list[str]]:
    """What a body in JSON or YAML applies, and the keys that it says twice; 400 when it is neither."""
    twice: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> Tree:
        made = dict(found)
        if len(made) < len(found):
            keys = [key for key, _ in found]
            twice.extend(said_twice(1, key) for index, key in enumerate(keys) if key in keys[:index])
        return made

    try:
        tree = json.loads(body, object_pairs_hook=pairs, parse_float=_float)
    except (ValueError, RecursionError):
        try:
            tree, twice = yaml_text.read(body)
        except yaml_text.YamlError as error:
            raise bad_request(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if not isinstance(tree, dict | None):
        kind = {list: "array", str: "string", bool: "bool"}.get(type(tree), "number")
        why = f"error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type"
        raise bad_request(f"error decoding YAML: {why} map[string]interface {{}}")
    return (numbers.read(tree) if numbers.are_unusual(body) else tree) or {}, twice


def _float(text: str) -> float:
    """A number with a fraction or an exponent, of which there is nothing left if it is whole: all bodies are YAML."""
    return yaml_scalars.number(float(text))


def complain(request: Request, twice: list[str], warnings: list[str]) -> None:
    """Refuses what is said twice, or warns about it, as the request wishes."""
    wish = dict(request.query).get("fieldValidation") or "Warn"
    if not twice or wish == "Ignore":
        return
    if wish == "Warn":
        warnings.extend(twice)
        return
    why = "error converting YAML to JSON: yaml: unmarshal errors:\n" + "\n".join(f"  {each}" for each in twice)
    raise bad_request(f"error strict decoding YAML: {why}")
