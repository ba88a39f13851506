"""Running our programs as processes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.e2e.programs import Finished, finished, running
from tests.plane.processes import alive

WAITS = "import signal; print('ready', flush=True); signal.pause()"


def test_exit_code_and_both_outputs_are_kept() -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"

    ended = asyncio.run(finished("python", "-c", code))

    assert ended == Finished(3, "out\n", "err\n")


@pytest.mark.parametrize("given", [Path("/given/config"), None])
def test_program_sees_the_given_kubeconfig_and_never_that_of_the_user(
    given: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/user/.kube/config")

    ended = asyncio.run(finished("python", "-c", "import os; print(os.environ['KUBECONFIG'])", kubeconfig=given))

    assert ended.out == f"{given or os.devnull}\n"


def test_program_that_does_not_end_is_killed() -> None:
    async def scenario() -> int:
        async with running("python", "-c", WAITS) as process:
            assert process.stdout is not None
            await process.stdout.readline()
        return process.pid

    pid = asyncio.run(scenario())

    assert not alive(pid)


def test_program_that_takes_too_long_fails_the_test() -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(finished("python", "-c", WAITS, within=0.5))
