"""Logs of a running sweep: a table, and files of events for TensorBoard."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, Progress, log, sweep

ASKED = {"vary": {"eta": [0.1, 0.2, 1e60]}, "seeds": 2, "steps": 8, "dtype": "float64"}


def event(step: int, at: dict, **metrics: float) -> Progress:
    return Progress("run", 0, 4, step, 8, None, 0.5, metrics, at, 6)


def test_a_table_has_a_row_for_each_record_of_each_chunk(tmp_path: Path) -> None:
    data = sweep(THEORY, Config(), progress=log.csv(tmp_path / "new" / "log.csv"), **ASKED)
    table = pd.read_csv(tmp_path / "new" / "log.csv")
    assert list(table.columns) == "learning_rate seed step runs loss rounded_loss".split()
    assert sorted(set(table.step)) == data.step.values.tolist()
    assert table[table.step == 8].runs.sum() == data.diverged_at.size
    for _, row in table.iterrows():
        at = {
            "learning_rate": [float(x) for x in str(row.learning_rate).split(", ")],
            "seed": [int(x) for x in str(row.seed).split(", ")],
        }
        want = np.nanmean(data.loss.sel(at).sel(step=row.step).values)
        np.testing.assert_allclose(row.loss, want, rtol=1e-12)


def test_a_table_is_continued_by_the_same_sweep_alone(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    log.csv(file)(event(0, {"p": [0.5], "seed": [*range(9)]}, b=2.0, a=float("nan")))
    log.csv(file)(event(1, {"p": ["=1", "x"], "seed": [3]}, b=3.0, a=1.0))
    want = ["p,seed,step,runs,a,b", "0.5,0 to 8 (9 values),0,6,,2.0", '"\'=1, x",3,1,6,1.0,3.0']
    assert file.read_text().splitlines() == want  # and no formula
    with pytest.raises(InputError, match="is the log of another sweep; choose another file"):
        log.csv(file)(event(1, {"q": [1], "seed": [3]}, b=3.0))
    assert file.read_text().splitlines() == want
    log.csv(file)(Progress("run", 1, 4, 8, 8, None))  # not a record
    assert file.read_text().splitlines() == want


def test_nothing_is_written_before_the_first_record(tmp_path: Path) -> None:
    log.csv(tmp_path / "log.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["csv", "tensorboard"])
def test_a_place_that_cannot_be_written_is_refused_at_once(kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "below", "/proc/none/log"):
        with pytest.raises(InputError, match=r"^log .*; choose a writable file or folder$"):
            getattr(log, kind)(place)
    with pytest.raises(InputError, match="Is a directory" if kind == "csv" else "File exists"):
        getattr(log, kind)(tmp_path if kind == "csv" else tmp_path / "file")


def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match=r"^log /dev/zero: Not a regular file; choose"):
        log.csv("/dev/zero")


def test_a_disk_that_fills_up_ends_a_sweep_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(cells: list) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log, "_row", full)
    with pytest.raises(InputError, match=r"^log .*log\.csv: No space left on device; choose"):
        sweep(THEORY, Config(), steps=2, progress=log.csv(tmp_path / "log.csv"))


def events(folder: Path) -> dict[tuple[str, int], float]:
    """The numbers in the files of events of a folder, by tag and step."""
    from tensorboardX.proto.event_pb2 import Event

    numbers = {}
    for file in folder.glob("events*"):
        data = file.read_bytes()
        while data:  # length, its checksum, the event, its checksum
            size = int.from_bytes(data[:8], "little")
            record, data = Event.FromString(data[12 : 12 + size]), data[16 + size :]
            numbers |= {(v.tag, record.step): v.simple_value for v in record.summary.value}
    return numbers


def test_each_chunk_is_a_run_of_tensorboard(tmp_path: Path) -> None:
    messages: list[Progress] = []

    def listen(progress: Progress, write=log.tensorboard(tmp_path)) -> None:  # noqa: B008
        write(progress)
        messages.append(progress)

    sweep(THEORY, Config(), progress=listen, **ASKED)
    records = [one for one in messages if one.metrics is not None]
    runs = {folder.name: events(folder) for folder in tmp_path.iterdir()}
    assert set(runs) == {
        f"learning_rate={','.join(map(str, one.at['learning_rate']))}_seed="
        f"{','.join(map(str, one.at['seed']))}"
        for one in records
    }
    wanted = sum(not np.isnan(mean) for one in records for mean in one.metrics.values())
    assert sum(map(len, runs.values())) == wanted
    (first,) = {one.metrics["loss"] for one in records if one.step == 0}
    assert {np.float32(numbers["loss", 0]) for numbers in runs.values()} == {np.float32(first)}


def test_many_chunks_need_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_OPEN", 2)
    write = log.tensorboard(tmp_path)
    for step in (0, 1):
        for first in range(4):
            at = {"p": ["a/b", first], "seed": [*range(first, first + 9)]}
            write(event(step, at, loss=float(first)))
    folders = sorted(tmp_path.iterdir())
    assert len(folders) == 4 and folders[0].name.startswith("p=a_b,0_seed=0_to_8_9_values_")
    assert [events(folder) for folder in folders] == [
        {("loss", 0): first, ("loss", 1): first} for first in range(4)
    ]


def test_a_missing_package_is_told_of_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX.event_file_writer", None)
    with pytest.raises(InputError, match=r"need the package .*: pip install 'jaxtheory\[tensorb"):
        log.tensorboard(tmp_path / "events")
    assert list(tmp_path.iterdir()) == []
