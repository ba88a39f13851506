"""The record that tests judge by: it waits for what the cluster shows, and for nothing that is gone by then."""

from __future__ import annotations

import asyncio

from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.e2e.clusters import Site, everywhere


@everywhere(controllers=False, on=("sim",))
async def test_an_object_that_goes_while_it_is_listed_is_not_waited_for(site: Site) -> None:
    await site.history.follow(CONFIGMAPS)
    await site.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    await site.history.caught_up()
    listed = {"a": site.history.objects(CONFIGMAPS)["a"]}

    await site.client.call(delete(Ref(CONFIGMAPS, site.namespace, "a")))
    await site.until(lambda: "a" not in site.history.objects(CONFIGMAPS))

    assert site.history._shows(CONFIGMAPS, listed)
    async with asyncio.timeout(10):
        await site.history.caught_up()
