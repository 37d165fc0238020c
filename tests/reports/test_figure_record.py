"""Records of figures: foreign and damaged ones are skipped with a line."""

import json
import os
from pathlib import Path

import pytest

from jaxtheory.cli.main import main

FIGURES = str(Path(__file__).parents[1] / "data" / "figures.py")
RUN = ["run", FIGURES, "--quick"]

FOREIGN = {
    "empty": b"",
    "list": b"[1]",
    "number": b"3",
    "cut": b'{"figure": "x", "cla',
    "deep": b"[" * 10**5,
    "not text": b"\xff\xfe\x00",
    "half a character": b'{"figure": "\\ud800", "claims": {}}',
    "other": b'{"name": "package", "version": "1.0"}',
    "few": b'{"figure": "x", "claims": {}}',
    "kinds": b'{"figure": 1, "claims": [], "theory": {}}',
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_json_is_skipped_with_a_line(tmp_path, capsys, text):
    (tmp_path / "foreign.json").write_bytes(text)
    assert main(["report", str(tmp_path)]) == 2
    skipped, refused = capsys.readouterr().err.splitlines()
    assert (
        skipped.startswith(f"skipped {tmp_path / 'foreign.json'}: ") and "has no results" in refused
    )
    assert len(skipped) < 300


def test_a_record_with_a_wrong_entry_is_skipped_with_a_line(tmp_path, capsys):
    """Each entry of a record and of a claim missing, and of another kind."""
    assert main([*RUN, "--store", str(tmp_path)]) == 1
    record = json.loads((tmp_path / "bad-quick.json").read_text())
    wrong = tmp_path / "bad-quick.json"
    for name in record:
        for variant in (
            {k: v for k, v in record.items() if k != name},
            record | {name: [1]},
            record | {name: {"x": [None]}},
        ):
            wrong.write_text(json.dumps(variant))
            assert main(["report", str(tmp_path)]) == 0
    (claim,) = record["claims"].values()
    for name in claim:
        for value in ([1], {"x": 1}, True):
            wrong.write_text(json.dumps(record | {"claims": {"wrong": claim | {name: value}}}))
            assert main(["report", str(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "Traceback" not in said and said.count("skipped") > 3 * len(claim)


def test_a_pipe_is_not_waited_for(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.json")
    assert main(["report", str(tmp_path)]) == 2
    assert "pipe.json: not a regular file" in capsys.readouterr().err
