"""Names in DNS that nobody answers for hold up who asks for them, and nobody else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread, Timer
from typing import Any

import pytest

from kubeloop import lookups
from kubeloop.calls import Call, NoReply, TooLate
from kubeloop.http_caller import HttpCaller
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from tests.kubeloop import serving as api
from tests.kubeloop.called import a_caller, echo, serving

PODS = 40
"""More than there are threads that all of asyncio shares."""
IN_TIME = 10.0


class Names:
    """Names that end with `.dead` are looked up until the end of the test."""

    def __init__(self) -> None:
        self.answers = Event()
        self.asked: list[str] = []
        self.most = self._now = 0

    def look(self, host: str, *arguments: Any, **more: Any) -> Any:
        if not str(host).endswith(".dead"):
            return _REAL("127.0.0.1" if str(host).endswith(".here") else host, *arguments, **more)
        self.asked.append(host)
        self._now += 1
        self.most = max(self.most, self._now)
        self.answers.wait()
        self._now -= 1
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


_REAL = socket.getaddrinfo


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Names]:
    found = Names()
    monkeypatch.setattr(socket, "getaddrinfo", found.look)
    end = Timer(3 * IN_TIME, found.answers.set)  # so that what waits for them fails, and does not hang
    end.start()
    yield found
    end.cancel()
    found.answers.set()


async def in_vain(caller: HttpCaller, number: int) -> None:
    with pytest.raises(TooLate):
        await caller(Call(method="GET", url=f"http://pod-{number}.dead/prepare", timeout=0.3))


def test_the_api_server_is_asked_while_no_pod_is_found(
    names: Names, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token of the account is read from its file now and then, in a thread."""
    monkeypatch.setattr("kubeloop.auth.FILES_LAST", 0.0)
    (tmp_path / "token").write_text("secret")

    async def scenario() -> int:
        async with a_caller() as caller, api.serving(api.ok) as address:
            transport = HttpTransport(ClusterConfig(server=address, token_file=str(tmp_path / "token")))
            await asyncio.gather(*(in_vain(caller, number) for number in range(PODS)))
            async with asyncio.timeout(IN_TIME):
                response = await transport.send(api.GET)
            await transport.close()
            return response.status

    assert asyncio.run(scenario()) == 200
    assert names.asked
    assert not names.answers.is_set(), "the end of the process waited for names"


def test_no_more_names_are_looked_up_at_once_than_there_is_room_for(names: Names) -> None:
    async def scenario() -> None:
        async with a_caller() as caller:
            for _ in range(2):
                await asyncio.gather(*(in_vain(caller, number) for number in range(PODS)))

    asyncio.run(scenario())

    assert names.most == lookups.MOST < PODS


def test_a_name_is_called_or_told_as_none(names: Names) -> None:
    async def scenario() -> tuple[int, str]:
        async with a_caller() as caller, serving(echo) as address:
            port = address.rpartition(":")[2]
            reply = await caller(Call(method="GET", url=f"http://pod.here:{port}/", timeout=IN_TIME))
            names.answers.set()
            with pytest.raises(NoReply) as caught:
                await caller(Call(method="GET", url="http://pod.dead/", timeout=IN_TIME))
            return reply.status, str(caught.value)

    status, said = asyncio.run(scenario())

    assert status == 418
    assert said.endswith("no such host")


def test_a_process_that_may_have_no_more_threads_says_so_and_looks_names_up_once_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a container with a limit of processes: no turn is lost to lookups that never began."""

    def none_to_be_had(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scenario() -> str:
        found = lookups.Lookups()
        with monkeypatch.context() as limited:
            limited.setattr(Thread, "start", none_to_be_had)
            for _ in range(PODS):
                with pytest.raises(OSError, match="start new thread"):
                    await asyncio.wait_for(found.getaddrinfo("127.0.0.1", 80), IN_TIME)
        ((*_, address), *_) = await asyncio.wait_for(found.getaddrinfo("127.0.0.1", 80), IN_TIME)
        return str(address[0])

    assert asyncio.run(scenario()) == "127.0.0.1"
