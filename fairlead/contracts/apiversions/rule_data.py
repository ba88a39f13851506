"""A rule set with the schemas that it is about, as data: what another process needs to convert by it, and to try it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, convert
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected, kind_of, read_rules
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.rule_files import code_of
from fairlead.engine.conversion.review import ConversionRule, Made, Rules

MAKER = f"{__name__}:made"
TESTER = f"{__name__}:tested"


class SetData(Struct, frozen=True):
    rules: dict[str, Any]
    definition: dict[str, Any]
    is_trusted: bool = False
    """Whether the rules may name code."""

    def kind(self) -> KindConversion:
        """Raises RulesRejected."""
        rules = read_rules(self.rules)
        return kind_of(rules, self.definition, code_of(rules) if self.is_trusted else None)

    def rule(self) -> ConversionRule:
        """Raises RulesRejected."""
        return conversion_rule(self.definition["metadata"]["name"], self.kind())


def essence(definition: Tree) -> Tree:
    """What conversion reads of a definition, and nothing else: a change of anything else changes nothing here."""
    spec = definition["spec"]
    versions = [{key: each[key] for key in ("name", "schema") if key in each} for each in spec["versions"]]
    names = {"kind": spec["names"]["kind"]}
    return {
        "metadata": {"name": definition["metadata"]["name"]},
        "spec": {"group": spec["group"], "names": names, "versions": versions},
    }


def joined(own: Tree, live: Tree | None) -> Tree:
    """An own definition with the versions that only the cluster has."""
    if live is None:
        return own
    versions = [*own["spec"]["versions"]]
    known = {each["name"] for each in versions}
    versions += [each for each in live["spec"]["versions"] if each["name"] not in known]
    version = {"resourceVersion": live["metadata"].get("resourceVersion", "")}
    return {**own, "metadata": own["metadata"] | version, "spec": {**own["spec"], "versions": versions}}


def conversion_rule(crd: str, kind: KindConversion) -> ConversionRule:
    """The rules of one kind, as reviews use them."""
    start = len(kind.group) + 1

    def converted(tree: Tree, desired: str) -> Made:
        found = convert(tree, desired[start:], kind)
        return Made(found.tree, found.discarded, found.carried_bytes, found.is_beyond)

    versions = tuple(f"{kind.group}/{each}" for each in kind.versions)
    return ConversionRule(kind.kind, versions, converted, ConversionRefused, crd)


def read(data: bytes) -> SetData:
    return msgspec.json.decode(data, type=SetData)


def made(data: bytes) -> Rules:
    """The rules of several sets, which have been found good before."""
    return tuple(each.rule() for each in msgspec.json.decode(data, type=list[SetData]))


def tested(data: bytes) -> bytes:
    """All that is wrong with a set, as a list of sentences."""
    return msgspec.json.encode(problems_of(read(data)))


def problems_of(given: SetData) -> list[str]:
    try:
        return list(self_test.problems_of(read_rules(given.rules), given.kind()))
    except RulesRejected as error:
        return list(error.problems)
