"""`python -m tests`: what its last line says whatever became of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import tests.__main__ as command


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


@pytest.mark.parametrize(
    ("code", "counted"), [(0, "1 passed, 0 failed, 0 skipped"), (1, "0 passed, 1 failed, 0 skipped")]
)
def test_lint_command_counts_as_one(
    code: int, counted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "LINT", ((Path(sys.executable).name, "-c", f"print('its words'); exit({code})"),))

    count = command.lint()

    assert str(count) == counted
    assert ("its words\n" in capsys.readouterr().out.splitlines(keepends=True)) == (code != 0)


def run(folder: Path, content: str, *arguments: str) -> tuple[int, str]:
    """Exit code and last line for a folder with this one file."""
    (folder / "test_it.py").write_text(dedent(content))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests", str(folder), *arguments],
        check=False,
        cwd=command.ROOT,
        text=True,
        capture_output=True,
    )
    return done.returncode, done.stdout.splitlines()[-1]


def test_all_parts_are_counted_and_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_here(): pass\n"
        "@pytest.mark.real\n"
        "def test_there(): assert False, 'its words'\n"
        "@pytest.mark.real\n"
        "def test_there_too(): pass\n"
    )
    (tmp_path / "test_zones_it.py").write_text("import pytest\n@pytest.mark.real\ndef test_zone(): pass\n")
    arguments = (str(tmp_path), "-c", str(command.ROOT / "pyproject.toml"), f"--rootdir={tmp_path}")

    count = command.tests_side_by_side(arguments)

    assert str(count) == "3 passed, 1 failed, 0 skipped"
    assert "its words" in capfd.readouterr().out
