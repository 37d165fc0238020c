"""What a run of a figure leaves: whole files, drawn once for their code and numbers, and drawn anew
where they are not as the record names them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.forks import forks

from jaxtheory import plot
from jaxtheory.claims.result import run_figure
from jaxtheory.cli.main import main
from jaxtheory.cli.words.parsing import _load_figures
from jaxtheory.plotting.drawing import drawing
from jaxtheory.reports import run_files

FIGURES = str(Path(__file__).parents[1] / "data" / "figures.py")
SUFFIXES = (".png", ".pdf", ".svg", ".csv")
FACTS = {"key": 0, "quick": True, "command": "", "seconds": 1.0}
RUN = ["run", FIGURES, "--quick"]
KILLED = """
import os, signal
from jaxtheory.cli import main as cli
from jaxtheory.engine.store import store; from jaxtheory.system import atomic
count, synced, replace = iter(range(10**6)), atomic.synced, os.replace
die = lambda: os.kill(os.getpid(), signal.SIGKILL)
def cut(file, data):
    if next(count) == {n}:
        {half}
    synced(file, data)
def renamed(source, target):
    ours = str(target).endswith((".png", ".pdf", ".svg", ".csv", "good-quick.json"))
    if ours and next(count) == {n}:
        {rename}
    replace(source, target)
if {half!r} != "pass":
    atomic.synced = cut
else:
    os.replace = renamed
cli.main({words!r})
"""
HALF = "synced(file, data[:len(data) // 2]); die()"
POINTS = (  # in the midst of which file, and where
    (0, HALF, "pass"),
    (3, HALF, "pass"),
    (1, "pass", "die()"),
    (2, "pass", "replace(source, target); die()"),
    (4, "pass", "die()"),
)


def digests(folder: Path) -> dict[str, str]:
    """What the record of `good` says of its files."""
    hashes: dict[str, str] = json.loads((folder / "good-quick.json").read_text())["files"]
    return hashes


def agree(folder: Path) -> bool:
    record = json.loads((folder / "good-quick.json").read_text())
    return len(record["files"]) == 4 and run_files.disagreeing(folder, record) == []


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An entry for each drawing that is made."""
    calls: list[int] = []
    monkeypatch.setattr(
        run_files, "drawing", lambda *given, **more: calls.append(1) or drawing(*given, **more)
    )
    return calls


def keep(image: Path, result) -> None:
    run_files.keep_record(
        image.with_suffix(".json"), result, **run_files.keep_drawing(image, result), **FACTS
    )


def test_a_picture_is_drawn_once_for_its_code_and_numbers(tmp_path, drawn):
    def draw_thin(dataset):
        picture, axes = plot.panels()
        plot.series(axes[0, 0], dataset.loss, "step", seeds=True)
        return picture

    image, figure = tmp_path / "good-quick.png", _load_figures(FIGURES)[0]
    result = run_figure(figure, quick=True, store=tmp_path / "run")
    keep(image, result)
    keep(image, run_figure(figure, quick=True, store=tmp_path / "run"))
    assert len(drawn) == 1
    variant = run_figure(figure, quick=True, store=tmp_path / "other", key=1)
    for entry in (variant, result, result._replace(figure=figure._replace(draw=draw_thin)), result):
        keep(image, entry)
    assert len(drawn) == 5
    keep(image, run_figure(figure, quick=True))  # the same numbers, without a store
    assert len(drawn) == 5


LOADED = """
import sys
from pathlib import Path
from jaxtheory.claims.result import run_figure
from jaxtheory.cli.words.parsing import _load_figures
from jaxtheory.reports import run_files
result = run_figure(_load_figures({figures!r})[0], quick=True, store=Path({store!r}))
drawn = run_files.keep_drawing(Path({image!r}), result)
run_files.keep_record(Path({image!r}).with_suffix(".json"), result, **drawn, **{facts!r})
sys.exit(any(name in sys.modules for name in ("matplotlib.figure", "scipy.stats")))
"""


def test_a_finished_figure_loads_neither_matplotlib_nor_scipy_stats(tmp_path):
    image, store = str(tmp_path / "good-quick.png"), str(tmp_path / "run")
    code = LOADED.format(figures=FIGURES, store=store, image=image, facts=FACTS)
    loaded = [subprocess.run([sys.executable, "-c", code], check=False).returncode for _ in "ab"]
    assert loaded == [1, 0] and agree(tmp_path)


def test_a_damaged_file_is_drawn_anew(tmp_path, drawn):
    image = tmp_path / "good-quick.png"
    result = run_figure(_load_figures(FIGURES)[0], quick=True, store=tmp_path / "run")
    keep(image, result)
    originals = digests(tmp_path)
    for suffix in (*SUFFIXES, ".json"):
        file = image.with_suffix(suffix)
        content = file.read_bytes()
        edited = content[:-2] + bytes([content[-2] ^ 1]) + content[-1:]
        for damaged in (b"", content[: len(content) // 2], edited, None):
            before = len(drawn)
            file.unlink() if damaged is None else file.write_bytes(damaged)
            keep(image, result)
            assert len(drawn) == before + 1, suffix
            assert agree(tmp_path) and digests(tmp_path) == originals


def test_a_drawing_has_the_same_bytes_each_time(tmp_path):
    result = run_figure(_load_figures(FIGURES)[0], quick=True)
    first, second = (run_files.keep_drawing(tmp_path / f"{name}.png", result) for name in "ab")
    assert [*first["files"].values()] == [*second["files"].values()]


def test_a_run_that_is_killed_leaves_whole_files(tmp_path):
    """Killed with SIGKILL at several points of writing a figure, one after the other."""
    store, words = tmp_path / "results", [*RUN, "--store", str(tmp_path / "results")]
    ends = {".png": b"IEND\xaeB`\x82", ".pdf": b"%%EOF\n", ".svg": b"</svg>\n", ".csv": b"\r\n"}
    with forks(tmp_path) as forked:
        for n, half, rename in POINTS:
            code, said = forked.run(KILLED.format(n=n, half=half, rename=rename, words=words))
            assert code == -9, said
            for file in store.glob("good-quick.*"):
                assert file.suffix == ".json" or file.read_bytes().endswith(ends[file.suffix])
    assert main(words) == 1
    assert agree(store) and not list(store.glob(".tmp-*"))


def test_report_tells_of_files_that_are_not_as_the_record_names_them(tmp_path, capsys):
    words = [*RUN, "--store", str(tmp_path)]
    assert main(words) == 1
    image = tmp_path / "good-quick.png"
    image.write_bytes(image.read_bytes()[:1000])
    (tmp_path / "good-quick.svg").unlink()
    capsys.readouterr()
    assert main(["report", str(tmp_path)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        "good-quick.json: missing or changed since it was drawn: good-quick.png, good-quick.svg; "
        in line
    )
    assert "missing or changed" in (tmp_path / "report.html").read_text()
    assert main(words) == 1 and agree(tmp_path)
    assert "changed" not in capsys.readouterr().err
