"""`jaxtheory new --flax` writes a network that verifies and runs."""

from pathlib import Path

import pytest

from jaxtheory.cli.main import main


def test_new_writes_a_network_that_verifies_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "my_network", "--flax"]) == 0
    assert "jaxtheory verify my_network.py" in capsys.readouterr().out
    assert 'name="my_network"' in Path("my_network.py").read_text()
    assert main(["verify", "my_network.py", "--seeds", "2"]) == 0
    assert "4 of 4 checks passed" in capsys.readouterr().out
    assert main(["run", "my_network.py", "--quick", "--store", "out"]) == 0
    assert (tmp_path / "out" / "my_network-quick.png").is_file()
