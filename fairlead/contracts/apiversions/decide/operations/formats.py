"""Texts with named parts: cut by a pattern, put together by a template."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.operations.base import BadRule, Here, Op, Step
from fairlead.contracts.apiversions.decide.operations.format_proof import unproven
from fairlead.contracts.apiversions.decide.pointers import Pointer
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.schemas.patterns import BadPattern, Parts, parts

_FIELD = re.compile(r"\{(\w+)\}")


class Format(Op, frozen=True, tag="format", rename={"source": "from"}):
    source: str
    to: dict[str, str]
    """By pointer, the name of the group."""
    pattern: str
    template: str

    def step(self, here: Here) -> Step:
        pattern = _pattern(self.pattern, self.template, self.to, self.source)
        targets = {here.pair(self.source, each)[1]: group for each, group in self.to.items()}
        return cut(here.pointer(self.source), targets, pattern)

    def back(self, _: Here) -> Op:
        return Compose(self.to, self.source, self.pattern, self.template)


class Compose(Op, frozen=True, tag="compose", rename={"sources": "from"}):
    """The way back of `format`."""

    sources: dict[str, str]
    to: str
    pattern: str
    template: str

    def step(self, here: Here) -> Step:
        _pattern(self.pattern, self.template, self.sources, self.to)
        sources = {here.pointer(each): group for each, group in self.sources.items()}
        return composed(sources, here.pointer(self.to), self.template)

    def back(self, _: Here) -> Op:
        return Format(self.to, self.sources, self.pattern, self.template)


def _pattern(pattern: str, template: str, groups: Mapping[str, str], text: str) -> Parts:
    try:
        found = parts(pattern)
    except BadPattern as error:
        raise BadRule(str(error)) from None
    named = set(groups.values())
    if not named or named != set(fields_of(template)) or not named <= set(found.names):
        raise BadRule(f"format of {text}: pattern, template and pointers must name the same groups")
    if problem := unproven(pattern, template):
        raise BadRule(f"format of {text}: {problem}")
    return found


def fields_of(template: str) -> list[str]:
    return _FIELD.findall(template)


def filled(template: str, parts: Mapping[str, str]) -> str:
    return _FIELD.sub(lambda found: parts[found[1]], template)


def cut(source: Pointer, targets: Mapping[Pointer, str], pattern: Parts) -> Step:
    """A text that the pattern does not match as a whole stays, and is carried where its place is gone."""

    def step(body: Tree) -> None:
        for place in pointers.last_first(body, source):
            value = pointers.at(body, place)
            parts = pattern.of(value) if isinstance(value, str) else None
            if parts is None:
                continue
            pointers.take(body, place)
            for target, group in targets.items():
                if group in parts:
                    pointers.put(body, pointers.bound(target, source, place), parts[group])

    return step


def composed(sources: Mapping[Pointer, str], target: Pointer, template: str) -> Step:
    """Only where all parts are there."""
    first = next(iter(sources))

    def step(body: Tree) -> None:
        for place in pointers.last_first(body, first):
            found = {group: pointers.bound(each, first, place) for each, group in sources.items()}
            parts = {group: pointers.at(body, each) for group, each in found.items()}
            if not all(isinstance(each, str) for each in parts.values()):
                continue
            if pointers.put(body, pointers.bound(target, first, place), filled(template, parts)):
                for each in found.values():
                    pointers.take(body, each)

    return step
