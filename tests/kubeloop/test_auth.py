from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from kubeloop.auth import Auth, Credential, auth_of
from kubeloop.errors import ConfigError
from kubeloop.kubeconfig import ClusterConfig, ExecPlugin
from kubeloop.request import Request, Response
from kubesim.time import run

T = TypeVar("T")
SERVER = "https://dev:6443"
V1 = "client.authentication.k8s.io/v1"


def asked(config: ClusterConfig) -> Credential:
    return asyncio.run(auth_of(config).credential())


def test_a_token_wins_over_a_password() -> None:
    token = asked(ClusterConfig(server=SERVER, token="t", username="u", password="p"))
    password = asked(ClusterConfig(server=SERVER, username="u", password="p"))
    nothing = asked(ClusterConfig(server=SERVER))

    assert token.authorization == "Bearer t"
    assert password.authorization == "Basic dTpw"
    assert nothing == Credential()


def test_a_client_certificate_may_stand_beside_a_token() -> None:
    config = ClusterConfig(server=SERVER, token="t", certificate=b"c", key=b"k")

    assert asked(config) == Credential("Bearer t", b"c", b"k")


def test_secrets_of_a_credential_are_not_printed() -> None:
    assert "hush" not in repr(Credential("Bearer hush", b"hush", b"hush"))


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")

    async def scenario() -> list[str]:
        auth = auth_of(ClusterConfig(server=SERVER, token_file=str(path)))
        seen = [(await auth.credential()).authorization]
        path.write_text("two")
        await asyncio.sleep(59)
        seen.append((await auth.credential()).authorization)
        await asyncio.sleep(1)
        seen.append((await auth.credential()).authorization)
        return seen

    assert run(scenario()) == ["Bearer one", "Bearer one", "Bearer two"]


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")

    async def scenario() -> tuple[bool, bool, Credential]:
        auth = auth_of(ClusterConfig(server=SERVER, token_file=str(path)))
        first = await auth.credential()
        same = await auth.renewed(first)
        path.write_text("two")
        return same, await auth.renewed(first), await auth.credential()

    same, renewed, credential = run(scenario())

    assert not same
    assert renewed
    assert credential.authorization == "Bearer two"


def test_a_file_that_vanishes_leaves_the_last_token_in_use(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")

    async def scenario() -> Credential:
        auth = auth_of(ClusterConfig(server=SERVER, token_file=str(path)))
        await auth.credential()
        path.unlink()
        await asyncio.sleep(100)
        return await auth.credential()

    assert run(scenario()).authorization == "Bearer one"


def test_a_file_that_was_never_there_is_an_error_unless_a_token_stands_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "token"

    with pytest.raises(ConfigError, match=f"{path} cannot be read: No such file"):
        asked(ClusterConfig(server=SERVER, token_file=str(path)))

    assert asked(ClusterConfig(server=SERVER, token_file=str(path), token="t")).authorization == "Bearer t"


def test_the_token_file_wins_over_the_token_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("file")

    found = asked(ClusterConfig(server=SERVER, token_file=str(tmp_path / "token"), token="t"))

    assert found.authorization == "Bearer file"


def test_certificate_files_are_read_again_too(tmp_path: Path) -> None:
    certificate, key = tmp_path / "crt", tmp_path / "key"
    certificate.write_text("c1")
    key.write_text("k1")

    async def scenario() -> list[Credential]:
        config = ClusterConfig(server=SERVER, certificate_file=str(certificate), key_file=str(key))
        auth = auth_of(config)
        seen = [await auth.credential()]
        certificate.write_text("c2")
        await asyncio.sleep(60)
        return [*seen, await auth.credential()]

    assert run(scenario()) == [Credential("", b"c1", b"k1"), Credential("", b"c2", b"k1")]


def a_program(folder: Path, *, status: object = None, version: str = V1, body: str = "", **more: object) -> ExecPlugin:
    """A credentials program that counts its runs, keeps what it was told and prints a status."""
    path = folder / "login"
    printed = msgspec.json.encode({"apiVersion": version, "kind": "ExecCredential", "status": status}).decode()
    path.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        f"open({str(folder / 'runs')!r}, 'a').write('x')\n"
        f"open({str(folder / 'told')!r}, 'w').write(json.dumps([dict(os.environ), sys.argv[1:], sys.stdin.read()]))\n"
        f"{body}\n"
        f"print({printed!r})\n"
    )
    path.chmod(0o755)
    plugin = ExecPlugin(V1, str(path), interactive_mode="Never")
    return msgspec.structs.replace(plugin, **more)


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text())


def using(plugin: ExecPlugin, work: Callable[[Auth], Awaitable[T]], **config: str) -> T:
    async def scenario() -> T:
        auth = auth_of(ClusterConfig(server=SERVER, user="dev", exec=plugin, **config))  # type: ignore[arg-type]
        try:
            return await work(auth)
        finally:
            await auth.close()

    return asyncio.run(scenario())


async def once(auth: Auth) -> Credential:
    return await auth.credential()


async def twice(auth: Auth) -> Credential:
    await auth.credential()
    return await auth.credential()


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def test_a_program_is_asked_once_for_a_token_that_does_not_expire(tmp_path: Path) -> None:
    plugin = a_program(tmp_path, status={"token": "printed"})

    assert using(plugin, twice) == Credential("Bearer printed")
    assert runs(tmp_path) == 1


@pytest.mark.parametrize(("seconds", "expected"), [(3600, 1), (100, 1), (-1, 2)])
def test_a_program_is_asked_again_when_its_token_expires(tmp_path: Path, seconds: float, expected: int) -> None:
    plugin = a_program(tmp_path, status={"token": "t", "expirationTimestamp": in_seconds(seconds)})

    using(plugin, twice)

    assert runs(tmp_path) == expected


def test_a_token_is_replaced_shortly_before_it_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = a_program(tmp_path, status={"token": "t", "expirationTimestamp": in_seconds(3600)})
    later = timedelta(0)
    monkeypatch.setattr("kubeloop.auth.now", lambda: datetime.now(UTC) + later)

    async def as_time_passes(auth: Auth) -> tuple[int, int]:
        nonlocal later
        await auth.credential()
        later = timedelta(seconds=3560)
        await auth.credential()
        before = runs(tmp_path)
        later = timedelta(seconds=3575)
        await auth.credential()
        return before, runs(tmp_path)

    assert using(plugin, as_time_passes) == (1, 2)


@pytest.mark.parametrize("second", ["sys.exit(3)", "import time; time.sleep(600)"], ids=["fails", "hangs"])
def test_a_program_that_cannot_replace_a_token_which_still_serves_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    """An operator would lose its Lease although its token is good for half a minute."""
    body = f"if os.path.getsize({str(tmp_path / 'runs')!r}) > 1:\n    {second}"
    plugin = a_program(tmp_path, status={"token": "t", "expirationTimestamp": in_seconds(3600)}, body=body)
    later = timedelta(0)
    monkeypatch.setattr("kubeloop.auth.now", lambda: datetime.now(UTC) + later)
    monkeypatch.setattr("kubeloop.auth.PATIENCE_SECONDS", 0.5)

    async def as_time_passes(auth: Auth) -> list[Credential]:
        nonlocal later
        await auth.credential()
        later = timedelta(seconds=3575)
        return [await asyncio.wait_for(auth.credential(), 5) for _ in range(20)]

    assert using(plugin, as_time_passes) == [Credential("Bearer t")] * 20
    assert runs(tmp_path) == 2


def test_a_program_that_hangs_is_ended_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"if os.path.getsize({str(tmp_path / 'runs')!r}) == 1:\n    import time; time.sleep(600)"
    plugin = a_program(tmp_path, status={"token": "t"}, body=body)
    monkeypatch.setattr("kubeloop.auth.LONGEST_RUN_SECONDS", 1.0)

    async def asked_twice(auth: Auth) -> Credential:
        with pytest.raises(ConfigError, match="did not end within 1 seconds: see what it waits for"):
            await auth.credential()
        return await auth.credential()

    assert using(plugin, asked_twice) == Credential("Bearer t")


def test_a_refused_credential_makes_the_program_run_again(tmp_path: Path) -> None:
    new = msgspec.json.encode({"apiVersion": V1, "status": {"token": "new"}}).decode()
    body = f"if os.path.getsize({str(tmp_path / 'runs')!r}) > 1:\n    sys.exit(print({new!r}))"
    plugin = a_program(tmp_path, status={"token": "old"}, body=body)

    async def refused(auth: Auth) -> tuple[bool, Credential]:
        return await auth.renewed(await auth.credential()), await auth.credential()

    assert using(plugin, refused) == (True, Credential("Bearer new"))
    assert runs(tmp_path) == 2


def test_all_who_wait_share_one_run(tmp_path: Path) -> None:
    plugin = a_program(tmp_path, status={"token": "t"})

    async def together(auth: Auth) -> list[Credential]:
        return await asyncio.gather(*(auth.credential() for _ in range(5)))

    assert using(plugin, together) == [Credential("Bearer t")] * 5
    assert runs(tmp_path) == 1


def test_one_who_gives_up_does_not_stop_a_login(tmp_path: Path) -> None:
    """A person may still be typing a password when the first request's time is over."""
    gate = tmp_path / "gate"
    body = f"import time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    plugin = a_program(tmp_path, status={"token": "t"}, body=body)

    async def impatient(auth: Auth) -> Credential:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await auth.credential()
        gate.touch()
        return await auth.credential()

    assert using(plugin, impatient) == Credential("Bearer t")
    assert runs(tmp_path) == 1


def test_closing_ends_a_program_that_still_runs(tmp_path: Path) -> None:
    started = tmp_path / "started"
    plugin = a_program(tmp_path, body=f"open({str(started)!r}, 'w')\nimport time\ntime.sleep(600)")

    async def leave(auth: Auth) -> None:
        waiting = asyncio.create_task(auth.credential())
        while not started.exists():  # noqa: ASYNC110  (another process says so by a file)
            await asyncio.sleep(0.01)
        await auth.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    using(plugin, leave)


def test_a_program_may_print_a_client_certificate(tmp_path: Path) -> None:
    plugin = a_program(tmp_path, status={"clientCertificateData": "CRT", "clientKeyData": "KEY"})

    assert using(plugin, once) == Credential("", b"CRT", b"KEY")


def test_a_program_is_told_of_the_cluster_when_it_asks(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("PEM")
    plugin = msgspec.structs.replace(
        a_program(tmp_path, status={"token": "t"}),
        provide_cluster_info=True,
        config={"audience": "a"},
        args=("--x",),
        env=(("REGION", "north"),),
    )

    using(plugin, once, ca_file=str(tmp_path / "ca"), tls_server_name="api")
    environment, arguments, read = msgspec.json.decode((tmp_path / "told").read_bytes())

    assert arguments == ["--x"]
    assert environment["REGION"] == "north"
    assert "PATH" in environment
    assert read == ""
    assert msgspec.json.decode(environment["KUBERNETES_EXEC_INFO"]) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": SERVER,
                "tls-server-name": "api",
                "certificate-authority-data": "UEVN",
                "config": {"audience": "a"},
            },
        },
    }


def test_a_program_that_does_not_ask_is_not_told(tmp_path: Path) -> None:
    using(a_program(tmp_path, status={"token": "t"}), once)
    environment, *_ = msgspec.json.decode((tmp_path / "told").read_bytes())

    assert msgspec.json.decode(environment["KUBERNETES_EXEC_INFO"])["spec"] == {"interactive": False}


def test_a_program_is_not_asked_where_a_token_is_given(tmp_path: Path) -> None:
    plugin = a_program(tmp_path, status={"token": "printed"})

    assert using(plugin, once, token="given") == Credential("Bearer given")
    assert not (tmp_path / "runs").exists()


def test_a_missing_program_is_answered_with_its_hint(tmp_path: Path) -> None:
    hinted = ExecPlugin(V1, str(tmp_path / "gone"), install_hint="get it from the shop", interactive_mode="Never")
    bare = msgspec.structs.replace(hinted, install_hint="")

    with pytest.raises(ConfigError, match=r"gone' of user 'dev' cannot be started \(No such file.*\): get it from"):
        using(hinted, once)
    with pytest.raises(ConfigError, match="install it or put it on the PATH"):
        using(bare, once)


@pytest.mark.parametrize(
    ("status", "version", "body", "complaint"),
    [
        (None, V1, "sys.exit('first\\nlog in first\\n')", "ended with code 1: log in first"),
        (None, V1, "sys.exit(3)", "ended with code 3: no message"),
        (None, V1, "sys.exit(print('token'))", "did not print an ExecCredential"),
        (None, V1, "", "printed neither a token nor a client certificate"),
        ({"clientKeyData": "k"}, V1, "", "printed only one of clientCertificateData and clientKeyData"),
        ({"token": "t"}, "client.authentication.k8s.io/v1beta1", "", "make them the same"),
    ],
)
def test_a_program_that_fails_is_quoted(
    tmp_path: Path, status: object, version: str, body: str, complaint: str
) -> None:
    plugin = a_program(tmp_path, status=status, version=version, body=body)

    with pytest.raises(ConfigError, match=complaint) as caught:
        using(plugin, once)

    assert str(caught.value).startswith(f"the credentials program '{tmp_path / 'login'}' of user 'dev' ")


def test_a_program_that_must_ask_a_person_needs_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = a_program(tmp_path, status={"token": "t"}, interactive_mode="Always")
    monkeypatch.setattr("sys.stdin", None)

    with pytest.raises(ConfigError, match="the standard input is not a terminal"):
        using(plugin, once)


def test_nothing_that_holds_credentials_shows_them() -> None:
    plugin = ExecPlugin(api_version="v1", command="login", env=(("TOKEN", "s3cret"),))
    config = ClusterConfig(server="https://here", token="s3cret", password="s3cret", key=b"s3cret", exec=plugin)

    shown = [repr(each) for each in (plugin, config, Credential("Bearer s3cret", b"", b"s3cret"))]

    assert "s3cret" not in "".join(shown)


def test_what_goes_over_the_wire_is_shown_without_its_content() -> None:
    sent = Request("PUT", "/api/v1/namespaces/ns/secrets/a", body=b"s3cret", headers=(("Authorization", "s3cret"),))

    assert repr(sent) == "Request(PUT /api/v1/namespaces/ns/secrets/a, 6 bytes)"
    assert repr(Response(200, b"s3cret", {"set-cookie": "s3cret"})) == "Response(200, 6 bytes)"
