"""`python -m tests`: what its last line says whatever became of the tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import tests.__main__ as command
from tests import shards

ROOT = command.ROOT


def test_last_line_counts_every_outcome(tmp_path: Path) -> None:
    """Errors in fixtures count as failures; a test that fails and cannot clean up counts once."""
    code, last = run(
        tmp_path,
        """
        import pytest

        def test_passes(): pass
        def test_passes_too(): pass
        def test_fails(): assert False
        def test_skips(): pytest.skip("why")

        @pytest.fixture
        def broken(): raise LookupError
        def test_errs(broken): pass

        @pytest.fixture
        def sticky():
            yield
            raise LookupError
        def test_fails_and_errs(sticky): assert False
        def test_errs_at_the_end(sticky): pass
        """,
    )

    assert last == "2 passed, 4 failed, 1 skipped"
    assert code == 1


def test_all_passed_is_success(tmp_path: Path) -> None:
    code, last = run(tmp_path, "def test_passes(): pass")

    assert (code, last) == (0, "1 passed, 0 failed, 0 skipped")


def test_crash_of_the_interpreter_is_a_failure(tmp_path: Path) -> None:
    code, last = run(tmp_path, "import os\ndef test_passes(): pass\ndef test_crashes(): os._exit(0)")

    assert (code, last) == (1, "0 passed, 1 failed, 0 skipped")


def test_file_that_cannot_be_imported_is_a_failure(tmp_path: Path) -> None:
    code, last = run(tmp_path, "import nothing_of_that_name")

    assert (code, last) == (1, "0 passed, 1 failed, 0 skipped")


def test_selecting_nothing_is_a_failure(tmp_path: Path) -> None:
    code, last = run(tmp_path, "def test_passes(): pass", "-k", "other")

    assert (code, last) == (1, "0 passed, 1 failed, 0 skipped")


def run(folder: Path, content: str, *arguments: str) -> tuple[int, str]:
    """Exit code and last line for a folder with this one file."""
    (folder / "test_it.py").write_text(dedent(content))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests", str(folder), *arguments],
        check=False,
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    return done.returncode, done.stdout.splitlines()[-1]


def test_programs_of_tests_hear_ctrl_c_also_when_the_tests_run_in_the_background(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(
        "import signal, subprocess, sys\n"
        "def test_it():\n"
        "    code = 'import signal; signal.raise_signal(signal.SIGINT)'\n"
        "    ended = subprocess.run([sys.executable, '-c', code], stderr=subprocess.DEVNULL)\n"
        "    assert ended.returncode == -signal.SIGINT\n"
    )
    background = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    command = (*background, sys.executable, "-m", "pytest", "-p", "tests.conftest", str(file))

    done = subprocess.run(command, check=False, cwd=ROOT, text=True, capture_output=True)

    assert done.returncode == 0, done.stdout


class Suite:
    """A project of its own, whose tests all run: each file's lines by its name."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        monkeypatch.setattr(command, "ROOT", folder)
        monkeypatch.setattr(command, "LINT", ())
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\nmarkers =\n    real\n")

    def write(self, **files: str) -> None:
        for name, content in files.items():
            (self._folder / f"{name}.py").write_text(f"import os, pytest\n{dedent(content)}")


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    return Suite(tmp_path, monkeypatch)


def test_all_shards_are_counted_and_those_that_fail_are_shown(
    suite: Suite, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever files there are: none has to be registered anywhere."""
    monkeypatch.setattr(shards, "SECONDS", {("test_slow.py", False): 3 * shards.LENGTH[False]})
    suite.write(
        test_here="""
            def test_here(): print("not to be seen")
            @pytest.mark.real
            def test_there(): assert False, "its words"
            @pytest.mark.real
            def test_there_too(): pass
            """,
        test_slow="""
            @pytest.mark.parametrize("number", range(7))
            def test_slow(number): pass
            """,
        test_skipping="""def test_skips(): pytest.skip("its reason")""",
    )

    code = command.main(())

    shown = capsys.readouterr().out
    assert code == 1
    assert shown.splitlines()[-1] == "9 passed, 1 failed, 1 skipped"
    assert "its words" in shown
    assert "its reason" in shown
    assert "not to be seen" not in shown
    assert re.search(
        r"^ok     test_slow.py \(2 of 3\): 2 passed, 0 failed, 0 skipped \(\d+ s, \d+ s of CPU\)$", shown, re.MULTILINE
    )
    assert "FAILED test_here.py, real API server: 1 passed, 1 failed, 0 skipped" in shown


def test_a_shard_that_crashes_is_named_and_counts_as_failed(
    suite: Suite, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "SECONDS", {("test_b.py", False): 2 * shards.LENGTH[False]})
    suite.write(
        test_a="def test_a(): pass",
        test_b="""
            def test_passes(): pass
            def test_crashes(): os._exit(0)
            """,
    )

    code = command.main(())

    shown = capsys.readouterr().out
    assert (code, shown.splitlines()[-1]) == (1, "2 passed, 1 failed, 0 skipped")
    assert "FAILED test_b.py (2 of 2): 0 passed, 1 failed, 0 skipped" in shown
    assert "told the outcome of 0 tests of 1" in shown


def test_a_test_that_is_collected_and_does_not_run_is_a_failure(
    suite: Suite, capsys: pytest.CaptureFixture[str]
) -> None:
    suite.write(
        test_it="""
            def test_passes(): pass
            @pytest.mark.parametrize("number", [os.getpid()])
            def test_has_another_name_in_each_process(number): pass
            """
    )

    code = command.main(())

    shown = capsys.readouterr().out
    assert (code, shown.splitlines()[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert "told the outcome of 1 tests of 2" in shown


def test_others_run_beside_a_file_that_cannot_be_imported(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    suite.write(test_a="def test_a(): pass", test_b="import nothing_of_that_name")

    code = command.main(())

    shown = capsys.readouterr().out
    assert (code, shown.splitlines()[-1]) == (1, "1 passed, 1 failed, 0 skipped")
    assert "nothing_of_that_name" in shown


def test_no_test_at_all_is_a_failure(suite: Suite, capsys: pytest.CaptureFixture[str]) -> None:
    code = command.main(())

    assert (code, capsys.readouterr().out.splitlines()[-1]) == (1, "0 passed, 1 failed, 0 skipped")


@pytest.mark.parametrize(
    ("code", "counted"), [(0, "2 passed, 0 failed, 0 skipped"), (1, "1 passed, 1 failed, 0 skipped")]
)
def test_lint_command_counts_as_one(
    code: int, counted: str, suite: Suite, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "LINT", ((Path(sys.executable).name, "-c", f"print('its ' 'words'); exit({code})"),))
    suite.write(test_it="def test_it(): pass")

    assert command.main(()) == code

    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == counted
    assert ("its words" in shown) == (code != 0)
