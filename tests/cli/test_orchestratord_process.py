"""The process `orchestratord`: variables, keys, exit codes, help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fairlead.cli import exits
from fairlead.cli.flags.clap import parse
from fairlead.cli.process import orchestratord as main
from fairlead.contracts.environments.options import PROGRAM, options_of
from fairlead.engine.options import OperatorOptions
from kubeloop.errors import Forbidden
from tests.cli.environments import CONTRACT, OWN, REQUIRED, options, sentence, settings


class TestVariables:
    def test_every_flag_may_be_a_variable(self) -> None:
        made = settings(
            ORCHESTRATORD_SEGMENT_API_KEY="k",
            ORCHESTRATORD_CREATE_CONSOLE="on",
            ORCHESTRATORD_CREATE_BALANCERS="0",
            ORCHESTRATORD_ENVIRONMENTD_SQL_PORT="1",
            ORCHESTRATORD_ENVIRONMENTD_AVAILABILITY_ZONES="a, b",
            ORCHESTRATORD_ENVIRONMENTD_NODE_SELECTOR="x=1,y=2",
            ORCHESTRATORD_ENVIRONMENTD_TOLERATION='[{"key":"a"},{"key":"b"}]',
        )

        assert made.segment_api_key == "k"
        assert (made.create_console, made.create_balancers) == (True, False)
        assert made.ports.sql == 1
        assert made.availability_zones == ("a", "b")
        assert made.environmentd.node_selector == {"x": "1", "y": "2"}
        assert made.environmentd.tolerations == ({"key": "a"}, {"key": "b"})

    def test_required_flags_too(self) -> None:
        variables = {f"ORCHESTRATORD_{name.upper().replace('-', '_')}": value for name, value in REQUIRED.items()}

        made = options_of(parse(PROGRAM.name, PROGRAM.flags, [], variables, PROGRAM.variables), variables)

        assert made.home == "materialize"

    def test_the_flag_wins(self) -> None:
        assert settings("--sentry-dsn=flag", ORCHESTRATORD_SENTRY_DSN="variable").sentry_dsn == "flag"
        assert settings("--create-console=false", ORCHESTRATORD_CREATE_CONSOLE="true").create_console is False

    def test_an_empty_one_does_not_count(self) -> None:
        assert settings(ORCHESTRATORD_AWS_ACCOUNT_ID="").aws_account_id is None

    def test_those_that_clusters_set_for_services_are_not_read(self) -> None:
        assert options(ORCHESTRATORD_PORT="tcp://10.0.0.1:8001", ORCHESTRATORD_SERVICE_HOST="10.0.0.1") is not None

    def test_a_mistake_names_the_variable(self) -> None:
        assert sentence(ORCHESTRATORD_CONSOLE_HTTP_PORT="x") == (
            'ORCHESTRATORD_CONSOLE_HTTP_PORT is "x": set it to a port from 1 to 65535'
        )


class TestLicenseKeys:
    def test_public_keys_are_read_in_order(self, tmp_path: Path) -> None:
        pems = [self.pem(rsa.generate_private_key(65537, 2048).public_key()) for _ in range(2)]
        names = [str(tmp_path / f"{number}.pem") for number in range(2)]
        for name, pem in zip(names, pems, strict=True):
            Path(name).write_bytes(pem)

        made = settings(*(f"--license-key-public-key={name}" for name in names))

        assert made.license_keys == tuple(pems)

    def test_what_is_no_rsa_key_is_refused(self, tmp_path: Path) -> None:
        other = tmp_path / "other.pem"
        other.write_bytes(self.pem(ec.generate_private_key(ec.SECP256R1()).public_key()))
        text = tmp_path / "text.pem"
        text.write_text("no key")

        for path in (other, text):
            assert sentence(f"--license-key-public-key={path}") == (
                f"--license-key-public-key names {path}, which is no RSA public key in PEM:"
                " license keys are signed with RSA"
            )

    @staticmethod
    def pem(key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> bytes:
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[OperatorOptions]:
    """What the process would run with, instead of running it."""
    ran: list[OperatorOptions] = []
    run = ModuleType("fairlead.engine.process")
    run.run = ran.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fairlead.engine.process", run)
    return ran


def words_of(given: Mapping[str, str]) -> list[str]:
    return [word for name, value in given.items() for word in (f"--{name}", value)]


def test_the_process_runs_with_its_options(started: list[OperatorOptions]) -> None:
    assert main(words_of(REQUIRED), {"HOSTNAME": "pod"}) == exits.OK

    assert started == [options(HOSTNAME="pod")]


def test_a_mistake_is_one_line_and_code_2(started: list[OperatorOptions], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], {}) == exits.USAGE

    said = capsys.readouterr()
    assert said.err.startswith("orchestratord: --cloud-provider is missing: set it to one of local, ")
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert started == []


@pytest.mark.parametrize(
    "words",
    [
        ["--segment-api-key", "geheim", "geheim"],
        ["--segment-api-key=a", "geheim"],
        ["geheim"],
        ["--segment-api-key=geheim", "--segment-api-key=geheim"],
        ["--sentry-dsn=geheim", "--region="],
        ['--default-certificate-specs={"internal": "geheim"'],
    ],
)
def test_secrets_are_never_repeated(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, *words_of(REQUIRED)], {}) == exits.USAGE

    assert "geheim" not in capsys.readouterr().err


def test_what_keeps_it_from_running_is_said_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has neither `--as` nor `-n` to advise."""

    def refused(_: OperatorOptions) -> None:
        message = 'User "u" cannot list resource "materializes" in API group "materialize.cloud" at the cluster scope'
        raise Forbidden(403, "Forbidden", message)

    run = ModuleType("fairlead.engine.process")
    run.run = refused  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fairlead.engine.process", run)

    assert main(words_of(REQUIRED), {}) == exits.ERROR

    assert capsys.readouterr().err == (
        'orchestratord: user "u" may not list materializes.materialize.cloud in all namespaces:'
        " ask for a role that allows it\n"
    )


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_lists_every_flag(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--region", "x", word], {}) == exits.OK

    said = capsys.readouterr()
    shown = {line.split()[0].removeprefix("--") for line in said.out.splitlines() if line.startswith("  --")}
    assert shown == CONTRACT | OWN
    assert "(default [::]:3100)" in said.out
    assert "ORCHESTRATORD_CLOUD_PROVIDER" in said.out
    assert said.err == ""


def test_version_is_that_of_the_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"], {}) == exits.OK
    assert capsys.readouterr().out.startswith("orchestratord 0.")


def test_help_imports_nothing_heavy() -> None:
    heavy = ("asyncio", "aiohttp", "cryptography", "structlog", "yaml", "fairlead.engine.options")
    code = "import sys; from fairlead.cli.process import orchestratord as main; main(['--help'], {})\n"
    code += f"sys.stderr.write('imported: ' + ','.join(m for m in {heavy!r} if m in sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr == "imported: "
