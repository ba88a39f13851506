"""Lists as questions of a decision: page by page, in a named version, metadata only; on both clusters."""

from __future__ import annotations

import json

from fairlead.core.ask import Ask, Bad, Good, Listing
from fairlead.engine.driver.questions import AskContext, asker
from kubeloop.client import Client
from tests.e2e.clusters import Site, everywhere
from tests.e2e.conversions import V1, V2, a_factory, a_gadget
from tests.e2e.definitions import Tree

NAMES = ["a", "b", "c", "d", "e"]


async def answer_of(client: Client, listing: Listing) -> Tree:
    answer = await asker(AskContext(client))(Ask(listing))
    assert isinstance(answer, Good), answer
    body: Tree = json.loads(answer.value)
    return body


@everywhere(controllers=False)
async def test_list_is_walked_page_by_page_at_one_resource_version(site: Site) -> None:
    async with a_factory(site) as factory:
        for name in NAMES:
            await factory.create(a_gadget(name, colour="red"))
        pages = [await answer_of(site.client, Listing(V1, site.namespace, limit=2))]
        await factory.create(a_gadget("f", colour="red"))
        while cursor := pages[-1]["metadata"].get("continue"):
            pages.append(await answer_of(site.client, Listing(V1, site.namespace, limit=2, cursor=cursor)))

    assert [[item["metadata"]["name"] for item in page["items"]] for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert len({page["metadata"]["resourceVersion"] for page in pages}) == 1


@everywhere(controllers=False)
async def test_list_is_answered_in_the_version_that_it_names(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("a", colour="red"))
        old, new = [await answer_of(site.client, Listing(version, site.namespace)) for version in (V1, V2)]

    assert [item["spec"].get("colour") for item in old["items"]] == ["red"]
    assert [item["spec"]["paint"] for item in new["items"]] == [{"colour": "red"}]


@everywhere(controllers=False)
async def test_list_of_metadata_has_nothing_else_whole_and_in_pages(site: Site) -> None:
    async with a_factory(site) as factory:
        for name in NAMES[:3]:
            await factory.create(a_gadget(name, colour="red"))
        whole = await answer_of(site.client, Listing(V2, site.namespace, metadata_only=True))
        page = await answer_of(site.client, Listing(V2, site.namespace, limit=2, metadata_only=True))

    assert [list(item) for item in whole["items"]] == [["metadata"]] * 3
    assert [item["metadata"]["name"] for item in whole["items"]] == NAMES[:3]
    assert all(item["metadata"]["uid"] and item["metadata"]["resourceVersion"] for item in whole["items"])
    assert page["items"] == whole["items"][:2]
    assert page["metadata"]["continue"]


@everywhere(controllers=False)
async def test_cursor_that_the_server_does_not_know_is_an_answer(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("a"))
        answer = await asker(AskContext(site.client))(Ask(Listing(V1, site.namespace, limit=1, cursor="nonsense")))

    assert isinstance(answer, Bad)
    assert answer.code in (400, 410)
