"""Recorded rounds of environments: they are decided again alike, and hold no secret."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from fairlead.cli import exits
from fairlead.cli.main import main
from fairlead.engine.recording import files_in
from kubesim.time import run
from tests.contracts.environments.test_environments import LICENSE, NEXT, OWN, PASSWORD, a_scene


def test_records_of_a_rollout_hold_no_secret_and_are_decided_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def play() -> None:
        async with a_scene(record=str(tmp_path)) as scene:
            await scene.patch(OWN, {"spec": {"environmentdImageRef": NEXT}})
            await scene.promoted(2)

    run(play(), seed=1)
    kept = b"".join(each.read_bytes() for each in files_in(tmp_path))
    code = main(["replay", str(tmp_path)])

    assert b"sealed:" in kept
    for secret in (PASSWORD, LICENSE):
        plain = secret.encode()
        assert plain not in kept
        assert b64encode(plain).rstrip(b"=") not in kept
    assert code == exits.OK
    assert "0 decided otherwise" in capsys.readouterr().out
