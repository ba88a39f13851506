"""Manifests of others go to an old version and back: every object and every comment is there again."""

from __future__ import annotations

from collections import Counter

import yaml

from fairlead.contracts.apiversions.decide.plain_rules import plain_rules
from fairlead.contracts.apiversions.decide.rule_sets import kind_of
from fairlead.contracts.apiversions.manifests.conversions import ManifestWish, converted
from fairlead.contracts.apiversions.manifests.positions import comments
from fairlead.engine.object_files import documents_in
from tests.contracts.apiversions.real_definitions import ECK, definitions_of, folder_of

MODULE = ECK[-1]


def comments_of(text: str) -> Counter[str]:
    return Counter(each.text for each in comments(text, [*yaml.compose_all(text, Loader=yaml.SafeLoader)]))


def test_samples_of_eck_come_back_with_all_their_comments() -> None:
    found = [each for each in definitions_of(MODULE).values() if len(each["spec"]["versions"]) > 1]
    kinds = {(each.group, each.kind): each for each in (kind_of(plain_rules(one), one) for one in found)}
    there = ManifestWish(kinds=kinds, version="v1beta1")
    back = ManifestWish(kinds=kinds, version="v1")
    rewritten = 0

    for path in sorted((folder_of(MODULE.name) / "config" / "samples").rglob("*.yaml")):
        text = path.read_text()
        old = converted(text, path.name, there)
        again = converted(old.text, path.name, back)

        assert (old.problems, again.problems) == ((), ()), path
        assert documents_in(again.text, path.name) == documents_in(text, path.name), path
        assert comments_of(again.text) == comments_of(old.text) == comments_of(text), path
        rewritten += old.text != text

    assert rewritten > 5
