"""The command line: what it prints, writes and refuses, also as a process."""

import errno
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr
from helpers.processes import ENVIRONMENT, jaxtheory_process
from helpers.stores import lose_dataset
from helpers.strangers import strangers  # noqa: F401

import jaxtheory
from jaxtheory.cli.main import _program, main
from jaxtheory.engine.store.store import Store

ROOT = Path(__file__).parents[2]
REGRESSION, FIGURES = (
    str(ROOT / "docs" / "examples" / "linear_regression.py"),
    str(ROOT / "tests" / "data" / "figures.py"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# refusals: exit code 2, a few lines that name the culprit, nothing written

SWEEPS = [
    ("random_walks --steps 3", "random_walk"),
    (f"{REGRESSION} --vary foo=1,2 --steps 3", "foo"),
    (f"{REGRESSION} --vary dimensions=1,2 --steps 3", "did you mean 'dimension'"),
    (f"{REGRESSION} --vary d --steps 3", "NAME=VALUES"),
    (f"{REGRESSION} --vary d= --steps 3", "dimension (d)"),
    (f"{REGRESSION} --vary d=two --steps 3", "'two' is not a number"),
    (f"{REGRESSION} --vary d=2 --vary dimension=3 --steps 3", "dimension: given twice"),
    (f"{REGRESSION} --vary d=2 --zip d=3 --steps 3", "dimension"),
    (f"{REGRESSION} --vary d=2,2 --steps 3", "dimension"),
    (f"{REGRESSION} --vary d=2.5 --steps 3", "dimension (d) = 2.5: must be an integer in [1, inf)"),
    (f"{REGRESSION} --vary d=1:4:0 --steps 3", "dimension (d)"),
    (
        f"{REGRESSION} --vary eta=-1 --steps 3",
        "learning_rate (eta) = -1.0: must be a number in (0, inf)",
    ),
    (f"{REGRESSION} --vary eta=nan --steps 3", "learning_rate (eta) = nan"),
    (f"{REGRESSION} --vary eta=log:0:1:3 --steps 3", "learning_rate (eta)"),
    (
        f"{REGRESSION} --set eta=0 --steps 3",
        "learning_rate (eta) = 0.0: must be a number in (0, inf)",
    ),
    (f"{REGRESSION} --set eta=1,2 --steps 3", "learning_rate"),
    (f"{REGRESSION} --set steps=3", "--steps"),
    (f"{REGRESSION} --zip eta=1,2 --zip sigma=1 --zip d= --steps 3", "dimension (d)"),
    (f"{REGRESSION} --vary d=2", "steps"),
    (f"{REGRESSION} --steps -1", "steps = -1"),
    (f"{REGRESSION} --steps x", "--steps"),
    (f"{REGRESSION} --vary steps=3,-1", "steps = -1"),
    (f"{REGRESSION} --steps 3 --seeds 0", "seeds = 0"),
    (f"{REGRESSION} --steps 3 --seeds -2", "seeds = -2"),
    (f"{REGRESSION} --steps 3 --seeds 1.5", "seeds = 1.5"),
    (f"{REGRESSION} --steps 3 --seeds 3,3", "seeds = [3, 3]"),
    (f"{REGRESSION} --steps 3 --seeds some", "seeds"),
    (f"{REGRESSION} --steps 3 --record 0", "record"),
    (f"{REGRESSION} --steps 3 --record 0,9", "record"),
    (f"{REGRESSION} --steps 3 --record 1 --record 2", "record"),
    (f"{REGRESSION} --steps 3 --record lose=0,3", "lose"),
    (f"{REGRESSION} --steps 3 --algorithm adam", "'adam'"),
    (f"{REGRESSION} --vary algorithm=adam --steps 3", "'adam'"),
    (f"{REGRESSION} --steps 3 --dtype float16", "float16"),
    (f"{REGRESSION} --steps 3 --buckets none", "none"),
    (f"{REGRESSION} --steps 3 --key x", "--key"),
    ("missing.py --steps 3", "missing.py: no such file"),
    ("random_walk --vary N=1 --steps 3", "length (N) = 1: must be an integer in [2, inf)"),
    (
        "random_walk --vary p=-.1,.5 --steps 3",
        "clockwise_probability (p) = -0.1: must be a number in [0, 1]",
    ),
    ("random_walk --vary p=1.5 --steps 3", "clockwise_probability (p) = 1.5"),
    ("random_walk --set K=2 --steps 3", "num_states (K) = 2: must be an integer in [3, inf)"),
    (
        "random_walk --set ell=cross --steps 3",
        "loss_function (ell) = 'cross': choose among log, square, hinge",
    ),
    ("random_walk --set M=50 --steps 3", "encoding_dim"),
    (
        "attention_pruning --vary rho=1 --steps 3",
        "pruning_ratio (rho) = 1.0: must be a number in [0, 1)",
    ),
    (
        "attention_pruning --set lambda=0 --steps 3",
        "regularization (lambda) = 0.0: must be a number in (0, inf)",
    ),
    ("attention_pruning --set L=0 --steps 3", "length (L) = 0: must be an integer in [1, inf)"),
]


@pytest.mark.parametrize(
    ("words", "named"), SWEEPS, ids=[words.removeprefix(REGRESSION) for words, _ in SWEEPS]
)
@pytest.mark.parametrize("command", ["sweep", "plan"])
def test_bad_sweeps_are_refused(
    command: str, words: str, named: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main([command, *words.split()]) == 2
    output = capsys.readouterr()
    assert named in output.out + output.err
    assert "Traceback" not in output.err
    assert list(folder.iterdir()) == []


def test_uneven_zips_are_refused(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["sweep", REGRESSION, "--steps", "3", "--zip", "d=1,2 eta=.1,.2,.3"]) == 2
    assert "dimension has 2 values, learning_rate has 3" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["show", "nothing"], "nothing"),
        (["run", "nothing"], "nothing"),
        (["run", REGRESSION], "FIGURE"),
        (["verify", "nothing"], "nothing"),
        (["verify", REGRESSION, "--seeds", "0"], "seeds"),
        (["frobnicate"], "frobnicate"),
        (["run"], "NAME"),
        ([], "the command is missing"),
    ],
    ids=["show", "run", "run file", "verify", "verify seeds", "unknown", "no name", "nothing"],
)
def test_bad_commands_are_refused(
    words: list[str], named: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(words) == 2
    output = capsys.readouterr()
    assert named in output.out + output.err
    assert list(folder.iterdir()) == []


FAILING = """import jax
from jaxtheory import Check
from jaxtheory.cli.templates.template import THEORY

def loss(params, batch, problem, config):
    return params.weights @ batch.inputs

def check(key, config):
    return {}

THEORY = THEORY._replace({})
"""


@pytest.mark.parametrize(
    ("check", "replaced", "named"),
    [
        ("1", "loss=loss", "template.loss: TypeError: dot_general requires contracting"),
        ("1", "loss=loss", "(mine.py, line 6)"),
        ("key", "checks=(Check('f: x', '', 'equal', check),)", "check 'f: x' returns a "),
        ("1.0, 2.0", "checks=(Check('f: x', '', 'sample', check),)", "(got, want, standard error)"),
        ("(1.0, 2.0), (1.0,)", "checks=(Check('f: x', '', 'equal', check),)", "[2, 1] arrays"),
        ("config.nothing", "checks=(Check('f: x', '', 'equal', check),)", "no attribute 'nothing'"),
    ],
)
def test_a_theory_that_fails_is_told_of_in_one_line(
    check: str, replaced: str, named: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(FAILING.format(check, replaced))
    assert main(["verify", "mine.py"]) == 2
    errors = capsys.readouterr().err
    assert named in errors and len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    "command", ["sweep mine.py --steps 2", "plan mine.py --steps 2 --compile", "verify mine.py"]
)
def test_a_mistake_in_a_theory_shows_no_traceback(
    command: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "mine.py").write_text(
        FAILING.format("1", "metrics=lambda params, problem, config: {'error': loss.nothing}")
    )
    assert main(command.split()) == 2
    errors = capsys.readouterr().err
    assert "AttributeError: 'function' object has no attribute 'nothing'" in errors
    assert "(mine.py, line 11)" in errors and len(errors.splitlines()) == 1


LARGE = "{'error': params.weights[0] * jnp.sort(jnp.arange(2.0**40).reshape(-1, 8), axis=0)[3, 2]}"


@pytest.mark.parametrize(
    "command", ["sweep mine.py --steps 2", "plan mine.py --steps 2 --compile", "verify mine.py"]
)
def test_memory_that_is_used_up_is_a_line_with_the_bytes_and_a_remedy(
    command: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    text = FAILING.format("1", f"metrics=lambda params, problem, config: {LARGE}")
    (folder / "mine.py").write_text(f"import jax.numpy as jnp\n{text}")
    assert main(command.split()) == 2
    errors = capsys.readouterr().err
    assert re.search(r"not enough memory: an array of \d{13,} bytes cannot be allocated", errors)
    assert "reduce the sizes" in errors and len(errors.splitlines()) == 1


def test_memory_that_numpy_lacks_is_a_line(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("Unable to allocate 8.00 TiB for an array")

    monkeypatch.setattr("jaxtheory.engine.store.datasets.open_store", fail)
    assert main(["export", "store", "--format", "csv"]) == 2
    errors = capsys.readouterr().err
    assert "an array of 8.00 TiB cannot" in errors and len(errors.splitlines()) == 1


@pytest.mark.parametrize("store", ["taken", "taken/below"])
def test_a_store_that_cannot_be_written_is_refused(
    store: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "taken").write_text("a file")
    for command in (["sweep", REGRESSION, "--steps", "3"], ["run", FIGURES]):
        assert main([*command, "--store", store]) == 2
        assert "taken" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["taken"]


# what works


def test_sweep_writes_a_labeled_dataset_and_resumes(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    words = [
        "sweep",
        REGRESSION,
        "--vary",
        "d=2,4",
        "--zip",
        "eta=.1,.2 sigma=0,1",
        "--seeds",
        "3,5",
        "--steps",
        "4",
        "--record",
        "0,4",
    ]
    assert main(words) == 0
    (store,) = (folder / "results").iterdir()
    printed = capsys.readouterr()
    assert str(store.relative_to(folder)) in printed.out
    assert "diverged  " not in printed.out
    assert printed.err == ""
    data = xr.open_zarr(store / "data.zarr")
    assert dict(data.loss.sizes) == {"dimension": 2, "learning_rate": 2, "seed": 2, "step": 2}
    assert data.seed.values.tolist() == [3, 5]
    assert data.noise.values.tolist() == [0, 1]
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()} == before


def test_the_default_store_is_named_by_the_request_and_the_theory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = []

    def remember(*args: object, store: Path, **options: object) -> xr.Dataset:
        stores.append(store)
        return xr.Dataset({"diverged_at": -1})

    monkeypatch.setattr(jaxtheory, "sweep", remember, raising=False)
    for words in (
        "--set d=2",
        "--set dimension=2",
        "--set d=3",
        "--set d=2 --key 1",
        "--set d=2 --seeds 2",
    ):
        assert main(["sweep", REGRESSION, "--steps", "2", *words.split()]) == 0
    assert stores[0] == stores[1]
    assert len(set(stores)) == 4
    edited = folder / "edited.py"
    for text in (
        "",
        "# a comment\n",
        "_old = THEORY.coords\nTHEORY = THEORY._replace(coords=lambda config: "
        "dict(_old(config)))\n",
    ):
        edited.write_text(Path(REGRESSION).read_text() + text)
        assert main(["sweep", str(edited), "--steps", "2"]) == 0
    assert stores[-3] == stores[-2] != stores[-1] and len(set(stores)) == 6
    assert all(
        store.parent == Path("results") and store.name.startswith("linear_regression-")
        for store in stores
    )


def test_diverged_runs_are_counted(capsys: pytest.CaptureFixture) -> None:
    assert main(["sweep", REGRESSION, "--set", "eta=1e30", "--steps", "40", "--seeds", "2"]) == 0
    assert "diverged  2 of 2 runs" in capsys.readouterr().out


def test_plan_counts_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert (
        main(
            [
                "plan",
                REGRESSION,
                "--vary",
                "d=2,4",
                "--vary",
                "eta=.1,.2,.3",
                "--vary",
                "steps=5,9",
                "--buckets",
                "pad",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "points       12" in printed
    assert "compilations 1" in printed
    assert " bucket " in printed and "…" not in printed
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_verify_passes(capsys: pytest.CaptureFixture) -> None:
    assert main(["verify", REGRESSION]) == 0
    assert "22 of 22 checks passed" in capsys.readouterr().out


def test_verify_fails(folder: Path, capsys: pytest.CaptureFixture) -> None:
    wrong = folder / "wrong.py"
    wrong.write_text(
        Path(REGRESSION)
        .read_text()
        .replace("/ (2 * config.batch_size.real)", "/ config.batch_size.real")
    )
    assert main(["verify", str(wrong)]) == 1
    assert "20 of 22 checks passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "my_theory",
            "my_theory: a theory, a figure or a file of this name exists; choose another",
        ),
        ("low_rank", "choose another"),
        ("mean", "choose another"),
        ("no-name", "a Python name"),
        ("lambda", "a Python name"),
        ("", "a Python name"),
        ("folder/name", "a Python name"),
        ("my_theory.py", "a Python name"),
        ("numpy", "a Python module of this name exists, which numpy.py would hide"),
    ],
)
@pytest.mark.usefixtures("strangers")
def test_new_refuses_a_name(
    name: str, words: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    (folder / "my_theory.py").write_text("mine")
    before = sorted(folder.iterdir())
    assert main(["new", name]) == 2
    errors = capsys.readouterr().err
    assert words in errors and len(errors.splitlines()) == 1
    assert sorted(folder.iterdir()) == before and (folder / "my_theory.py").read_text() == "mine"


def test_an_interruption_says_how_to_resume(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def interrupted(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(jaxtheory, "sweep", interrupted, raising=False)
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert main(["sweep", REGRESSION, "--zip", "d=1,2 eta=1,2", "--steps", "3"]) == 130
    assert (
        f"jaxtheory sweep {REGRESSION} --zip 'd=1,2 eta=1,2' --steps 3" in capsys.readouterr().err
    )


def test_a_command_that_is_not_on_the_path_is_named_by_its_own(monkeypatch, folder: Path) -> None:
    """As in `make reproduce`, which calls .venv/bin/jaxtheory."""
    monkeypatch.setenv("PATH", str(folder))
    for called, program in (
        (".venv/bin/jaxtheory", ".venv/bin/jaxtheory"),
        ("/usr/lib/jaxtheory/__main__.py", "jaxtheory"),
    ):
        monkeypatch.setattr(sys, "argv", [called])
        assert _program() == program
    (folder / "jaxtheory").touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(folder / "jaxtheory")])
    assert _program() == "jaxtheory"


@pytest.mark.slow
def test_figures_in_processes_end_together_when_they_are_asked_to(folder: Path) -> None:
    """As `make reproduce` does when it gets SIGTERM; none of its processes is left."""
    file = folder / "headlines.py"
    file.write_text(
        "import sys\nfrom jaxtheory.cli import main\nfrom jaxtheory.engine.execution import "
        "processes\nfrom jaxtheory.cli import run\nprocesses.count_processes = lambda jobs: 2\n"
        "if __name__ == '__main__':\n    sys.argv = ['jaxtheory', 'run', 'task_diversity']\n"
        "    main.entry()\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(
        [sys.executable, str(file)], env=environment, start_new_session=True, **pipes
    )
    while len(members(process.pid)) < 3:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert errors.endswith("terminated; resume with: jaxtheory run task_diversity\n")
    for _ in range(100):
        if not members(process.pid):
            return
        time.sleep(0.1)
    raise AssertionError(f"left: {members(process.pid)}")


def members(session: int) -> list[int]:
    """The running processes of a session."""
    processes = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            processes.append(int(file.parent.name))
    return processes


def test_a_full_disk_is_told_of_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def full(*args: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "drawing.png")

    monkeypatch.setattr(jaxtheory, "sweep", full, raising=False)
    assert main(["sweep", REGRESSION, "--steps", "3"]) == 2
    said = "OSError: [Errno 28] No space left on device: 'drawing.png'"
    assert capsys.readouterr().err.strip().partition(" (")[0] == said


# as a process of its own


@pytest.mark.parametrize(
    "command",
    [
        *("list", "show", "run", "report", "sweep", "export", "explore", "merge", "boundary"),
        *("rerun", "plan", "verify", "prune", "new", "doctor"),
    ],
)
def test_help_fits_into_a_terminal_of_100_columns(
    command: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main([command, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and max(map(len, lines)) <= 100
    words = " ".join(lines)
    assert "--out" not in words.split()
    assert "--to {" not in words and ("--format {" in words) == (command == "export")
    assert not re.search(r"default: (None|False)?\)|\bNone\b|\bSTR\b", words)


def test_the_help_of_all_commands_has_one_sentence_for_each(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for first in ("Describe a theory or a figure, on one screen.", "Train at every combination of"):
        assert first in printed
    assert "exit code" not in printed and len(printed.splitlines()) < 40


def test_help_loads_no_jax() -> None:
    code = (
        "import sys; from jaxtheory.cli.main import main; main(['sweep', '--help']); "
        "sys.exit(bool({'jax', 'xarray', 'matplotlib'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0


def test_dask_is_loaded_only_where_it_is_needed(folder: Path) -> None:
    code = """
import sys
from jaxtheory.cli.main import main
assert main(["sweep", "task_diversity", "--steps", "1", "--store", "kept"]) == 0
assert not any(name.partition(".")[0] == "dask" for name in sys.modules)
import dask
"""
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0


def test_a_mistake_shows_no_traceback(folder: Path) -> None:
    process = jaxtheory_process("sweep", "random_walk", "--vary", "p=2", "--steps", "3")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "clockwise_probability (p) = 2.0" in errors
    assert len(errors.splitlines()) <= 4
    assert list(folder.iterdir()) == []


def test_without_waiting_the_runs_of_other_processes_are_missing(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    words = ["sweep", REGRESSION, "--vary", "eta=0.1,0.2", "--seeds", "4", "--steps", "2"]
    assert main([*words, "--store", "shared"]) == 0
    lose_dataset(folder / "shared")
    store = Store(folder / "shared")
    (rectangle,) = store.rectangles()
    store.file(rectangle, rectangle.chunks[0]).unlink()
    capsys.readouterr()
    with store.claim(rectangle, rectangle.chunks[0]):
        assert main([*words, "--store", "shared", "--no-wait"]) == 0
    printed = capsys.readouterr().out
    assert "of 8 runs, which other processes compute" in printed and "data.zarr" not in printed
    assert main([*words, "--store", "shared", "--no-wait"]) == 0
    assert "dataset   shared/data.zarr" in capsys.readouterr().out
