"""Odd CustomResourceDefinitions are refused alike on both clusters, to the word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairlead.kube.request import path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import an_empty_shop, refusal
from tests.e2e.odd_definitions import DEFINITIONS

_ANSWERS = Path(__file__).parent / "definition_answers.json"


@everywhere(controllers=False)
async def test_odd_definitions_are_refused_in_the_servers_words(site: Site) -> None:
    found: dict[str, list[Any]] = {}

    async with an_empty_shop(site) as shop:
        for name, tree in DEFINITIONS.items():
            answer = await shop.send("POST", path_of(CUSTOM_RESOURCES), tree, dryRun="All")
            assert answer.status == 422, (name, answer.body)
            found[name] = [list(cause) for cause in refusal(answer)[2]]

    wanted = json.loads(_ANSWERS.read_text())
    assert {name: each for name, each in found.items() if each != wanted.get(name)} == {}
    assert list(found) == list(wanted)
