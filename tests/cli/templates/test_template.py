"""`jaxtheory new` writes a theory that verifies and runs."""

from pathlib import Path

import pytest

from jaxtheory.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_writes_a_theory_that_verifies_and_runs(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(["new", "my_theory"]) == 0
    assert "jaxtheory verify my_theory.py" in capsys.readouterr().out
    assert main(["verify", "my_theory.py", "--seeds", "2"]) == 0
    assert "22 of 22 checks passed" in capsys.readouterr().out
    assert main(["run", "my_theory.py", "--quick", "--store", "out"]) == 0
    assert (folder / "out" / "my_theory-quick.png").is_file()
