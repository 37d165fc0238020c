"""What lies in a store and is not its own: names that libraries take for addresses, parts and
datasets of other stores, copies, crafted and damaged files. None is taken for this store's.
"""

import json
import os
import pickle
import shutil
from pathlib import Path

import numcodecs.pickles
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, sweep
from jaxtheory.cli.main import main
from jaxtheory.engine.execution import task
from jaxtheory.engine.results import archive, export, store

OPTIONS = {"vary": {"d": [2, 3]}, "seeds": 2, "steps": 3, "dtype": "float64", "buckets": "exact"}
pytestmark = pytest.mark.timeout(300)


def swept(folder: object, key: int = 0) -> xr.Dataset:
    return sweep(THEORY, Config(), store=folder, key=key, **OPTIONS)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, xr.Dataset]]:
    """A store and its dataset for each of two keys."""
    folder = tmp_path_factory.mktemp("made")
    return {key: (folder / str(key), swept(folder / str(key), key)) for key in (0, 1)}


@pytest.fixture
def run(made: dict, tmp_path: Path) -> Path:
    """A finished store of key 0."""
    shutil.copytree(made[0][0], tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list:
    """A list that grows with every chunk that is trained."""
    calls, original = [], task.run_chunk  # which decides no bits
    monkeypatch.setattr(task, "run_chunk", lambda *a, **k: (calls.append(1), original(*a, **k))[1])
    return calls


def parts(run: Path) -> list[Path]:
    return sorted((run / "parts").glob("*.part"))


def unfinished(run: Path) -> None:
    shutil.rmtree(run / "data.zarr")


# names


@pytest.mark.parametrize("name", ["exp::v2", "memory://exp", "~no-such-user"])
def test_names_that_libraries_take_for_addresses(
    name: str, made: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "years of work").write_text("keep")
    shutil.copytree(made[0][0], name)
    unfinished(Path(name))
    assert swept(name).identical(made[0][1]) and swept(name).identical(made[0][1])
    assert (tmp_path / name / "data.zarr" / "zarr.json").is_file()
    assert (tmp_path / "exp" / "years of work").read_text() == "keep"
    for to in ("csv", "netcdf", "parquet"):
        assert main(["export", name, "--format", to]) == 0
        assert main(["export", name, "--format", to, "--to", f"{name}.{to}"]) == 0
        assert (tmp_path / f"{name}.{to}").is_file()
    assert {path.name for path in tmp_path.iterdir()} <= {
        *("exp", name, "memory:"),
        *(f"{name}.{to}" for to in ("csv", "netcdf", "parquet")),
    }


# identity


def test_a_part_of_another_store_is_not_taken(made: dict, run: Path, trained: list) -> None:
    unfinished(run)
    shutil.copy(parts(made[1][0])[0], parts(run)[0])
    assert swept(run).identical(made[0][1]) and len(trained) == 1


def test_a_part_under_the_name_of_another_is_healed(made: dict, run: Path, trained: list) -> None:
    unfinished(run)
    first, second, *_ = parts(run)
    shutil.copy(first, second)
    assert swept(run).identical(made[0][1]) and len(trained) == 1


def test_a_dataset_of_another_store_is_not_taken(made: dict, run: Path, trained: list) -> None:
    unfinished(run)
    shutil.copytree(made[1][0] / "data.zarr", run / "data.zarr")
    shutil.copy(made[1][0] / "data.sum", run / "data.sum")
    with pytest.raises(InputError, match="incomplete or damaged"):
        export.read_store(run)
    assert swept(run).identical(made[0][1]) and not trained
    assert export.read_store(run).identical(made[0][1])


def test_an_older_format_is_refused_in_one_line(run: Path) -> None:
    file = run / "manifest.json"
    manifest = json.loads(file.read_text()) | {"format": store._FORMAT - 1}
    del manifest["digest"]
    file.write_text(json.dumps(manifest | {"digest": store.manifest_checksum(manifest)}))
    with pytest.raises(InputError, match=r"^.*written by another version of jaxtheory[^\n]*$"):
        swept(run)


COPIES = (
    "{} (conflicted copy)",
    "{} (Somebody's conflicted copy 2026-01-01)",
    "{}.sync-conflict-20260101-120000-ABCDEFG",
    "{} (1)",
    "._{}",
    "{}~",
    "Copy of {}",
    "0-1",
    "1-2-3-4",
    "a-b-c",
)


def test_copies_that_other_programs_make_are_left_alone(
    made: dict, run: Path, trained: list
) -> None:
    unfinished(run)
    first = parts(run)[0]
    copies = [first.with_name(f"{name.format(first.stem)}.part") for name in COPIES]
    for copy in copies:
        shutil.copy(first, copy)
    assert swept(run).identical(made[0][1]) and not trained
    assert all(copy.is_file() for copy in copies)


# what was written


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("what", ["loss", "loss/c/0/0/0", "loss/zarr.json", "zarr.json", "."])
def test_what_vanishes_while_it_is_written_is_not_published(
    what: str, made: dict, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished(run)
    written = archive.write_zarr

    def robbed(dataset: xr.Dataset, target: Path) -> None:
        written(dataset, target)
        remove(target / what)

    with monkeypatch.context() as patched:
        patched.setattr(archive, "write_zarr", robbed)
        with pytest.raises(InputError, match=r"^store [^\n]*$"):
            swept(run)
    assert not (run / "data.zarr").exists() and not list(run.glob(".tmp-*"))
    assert swept(run).identical(made[0][1])


# crafted


class Payload:
    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple:
        return Path.touch, (self.mark,)


def crafted(run: Path, mark: Path, consolidated: bool) -> None:
    """A data.zarr of Zarr's second format with a pickle, or a third with a second inside."""
    target = run / "data.zarr"
    shutil.rmtree(target)
    (target / "x").mkdir(parents=True)
    array = {
        "zarr_format": 2,
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "fill_value": None,
        "order": "C",
        "compressor": None,
        "filters": [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 4}],
    }
    named = {"_ARRAY_DIMENSIONS": ["seed"]}
    (target / "x" / ".zarray").write_text(json.dumps(array))
    (target / "x" / ".zattrs").write_text(json.dumps(named))
    (target / "x" / "0").write_bytes(pickle.dumps(Payload(mark)))
    if consolidated:
        group = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        inside = {"x": array | {"attributes": named}}
        group["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": inside,
        }
        (target / "zarr.json").write_text(json.dumps(group))
    else:
        (target / ".zgroup").write_text('{"zarr_format": 2}')
    of = store.mark_of(store.read_manifest(run / "manifest.json"))
    (run / "data.sum").write_text(archive.summed(target, of))


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_no_pickle_is_run(
    consolidated: bool, made: dict, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a numcodecs that would."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True)
    mark = tmp_path / "ran"
    crafted(run, mark, consolidated)
    with pytest.raises(Exception):  # noqa: B017  (what Zarr makes of what the pickle gave)
        xr.open_zarr(str(run / "data.zarr"), consolidated=consolidated).load()
    assert mark.exists()  # so that the store is one that runs it
    mark.unlink()
    with pytest.raises(InputError, match="incomplete or damaged"):
        export.read_store(run)
    assert swept(run).identical(made[0][1]) and not mark.exists()


def test_an_array_that_declares_more_than_is_there_is_not_read(made: dict, run: Path) -> None:
    file = run / "data.zarr" / "loss" / "zarr.json"
    text = json.loads(file.read_text())
    text["shape"][0] = 10**12
    file.write_text(json.dumps(text))
    of = store.mark_of(store.read_manifest(run / "manifest.json"))
    (run / "data.sum").write_text(archive.summed(run / "data.zarr", of))
    with pytest.raises(InputError, match="incomplete or damaged"):
        export.read_store(run)
    assert swept(run).identical(made[0][1])


@pytest.mark.parametrize("text", ["[" * 100_000, '{"request":' * 100_000, "[" * 900 + "]" * 900])
def test_a_deep_manifest_is_one_line(text: str, run: Path) -> None:
    (run / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"^[^\n]*manifest.json cannot be read [^\n]*$"):
        swept(run)
    with pytest.raises(InputError, match="incomplete or damaged"):
        export.read_store(run)


PLACES = ["data.sum", "data.zarr", "data.zarr/zarr.json", "parts/PART", ".lock"]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("place", ["manifest.json", *PLACES])
def test_what_is_not_a_file_is_not_waited_for(kind: str, place: str, made: dict, run: Path) -> None:
    file = run / place.replace("PART", parts(run)[0].name)
    remove(file)
    if place in ("parts/PART", ".lock"):
        unfinished(run)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    try:
        assert swept(run).identical(made[0][1])
    except InputError as error:
        assert place == "manifest.json" or kind == "folder"
        assert "\n" not in str(error) and str(run) in str(error)
    else:
        assert place != "manifest.json"
