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
from helpers.stores import dataset_folder, lose_dataset, parts
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, merge, open_store, sweep
from jaxtheory.cli.main import main
from jaxtheory.engine.execution import chunk_task
from jaxtheory.engine.store import archive, datasets

OPTIONS = {"vary": {"d": [2, 3]}, "seeds": 2, "steps": 3, "dtype": "float64", "buckets": "exact"}
pytestmark = pytest.mark.timeout(300)


def swept(folder: object, key: int = 0) -> xr.Dataset:
    return sweep(THEORY, Config(), store=folder, key=key, **OPTIONS)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, xr.Dataset]]:
    """A store and its dataset for each of two keys."""
    folder = tmp_path_factory.mktemp("made")
    return {key: (folder / str(key), swept(folder / str(key), key)) for key in (0, 1)}


@pytest.fixture
def run(stores: dict, tmp_path: Path) -> Path:
    """A finished store of key 0."""
    shutil.copytree(stores[0][0], tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list:
    """A list that grows with every chunk that is trained."""
    calls, original = [], chunk_task.run_chunk  # which decides no bits
    monkeypatch.setattr(
        chunk_task, "run_chunk", lambda *a, **k: (calls.append(1), original(*a, **k))[1]
    )
    return calls


# names


@pytest.mark.parametrize("name", ["exp::v2", "memory://exp", "~no-such-user"])
def test_names_that_libraries_take_for_addresses(
    name: str, stores: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "years of work").write_text("keep")
    shutil.copytree(stores[0][0], name)
    lose_dataset(Path(name))
    assert swept(name).identical(stores[0][1]) and swept(name).identical(stores[0][1])
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


def test_a_part_of_another_store_is_not_taken(stores: dict, run: Path, trained: list) -> None:
    lose_dataset(run)
    first, foreign_parts = parts(run)[0], parts(stores[1][0])
    shutil.copy(foreign_parts[0], first)
    for foreign_part in foreign_parts:
        shutil.copy(foreign_part, run / "parts" / foreign_part.name)  # beside it
    assert swept(run).identical(stores[0][1]) and len(trained) == 1


def test_a_part_under_the_name_of_another_is_healed(stores: dict, run: Path, trained: list) -> None:
    lose_dataset(run)
    first, second, *_ = parts(run)
    shutil.copy(first, second)
    assert swept(run).identical(stores[0][1]) and len(trained) == 1


def test_a_dataset_of_another_store_is_not_taken(stores: dict, run: Path, trained: list) -> None:
    target = dataset_folder(run)
    shutil.rmtree(target)
    shutil.copytree(dataset_folder(stores[1][0]), target)
    with pytest.raises(InputError, match="incomplete or damaged"):
        open_store(run)
    assert swept(run).identical(stores[0][1]) and not trained
    assert open_store(run).identical(stores[0][1])


def test_a_store_of_the_format_before_is_read_and_refused_in_one_line(
    stores: dict, run: Path, capsys: pytest.CaptureFixture
) -> None:
    data = stores[0][1]
    old = run.parent / "old"
    shutil.copytree(dataset_folder(run), old)
    content = {"format": 3, "request": {}, "plan": [], "keys": "", "versions": {}}
    (old / "data.sum").write_text(archive.summed(old / "data.zarr", datasets.mark_of(content)))
    (old / "manifest.json").write_text(json.dumps({**content, "digest": "x"}))
    assert open_store(old).identical(data)
    assert main(["export", str(old), "--format", "csv"]) == 0
    with pytest.raises(InputError, match=r"^.*another version .*open_store[^\n]*$"):
        swept(old)
    with pytest.raises(InputError, match=r"another version"):
        merge([old, run])


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
    stores: dict, run: Path, trained: list
) -> None:
    lose_dataset(run)
    first = parts(run)[0]
    copies = [first.with_name(f"{name.format(first.stem)}.part") for name in COPIES]
    for copy in copies:
        shutil.copy(first, copy)
    assert swept(run).identical(stores[0][1]) and not trained
    assert all(copy.is_file() for copy in copies)


# what was written


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("what", ["loss", "loss/c/0/0/0", "loss/zarr.json", "zarr.json", "."])
def test_what_vanishes_while_it_is_written_is_not_published(
    what: str, stores: dict, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_dataset(run)
    write = archive.write_zarr

    def robbed(dataset: xr.Dataset, target: Path) -> None:
        write(dataset, target)
        remove(target / what)

    with monkeypatch.context() as patched:
        patched.setattr(archive, "write_zarr", robbed)
        with pytest.raises(InputError, match=r"^store [^\n]*$"):
            swept(run)
    assert not (run / "data.zarr").exists() and not list(run.rglob(".tmp-*"))
    assert swept(run).identical(stores[0][1])


# crafted


class Payload:
    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self) -> tuple:
        return Path.touch, (self.mark,)


def crafted(run: Path, mark: Path, consolidated: bool) -> None:
    """A data.zarr of Zarr's second format with a pickle, or a third with a second inside."""
    target = dataset_folder(run) / "data.zarr"
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
    store_mark = datasets.mark_of(datasets.request_of(run)["request"])
    (target.parent / "data.sum").write_text(archive.summed(target, store_mark))


@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_no_pickle_is_run(
    consolidated: bool, stores: dict, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a numcodecs that would."""
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True)
    mark = tmp_path / "ran"
    crafted(run, mark, consolidated)
    with pytest.raises(Exception):  # noqa: B017  (what Zarr makes of what the pickle gave)
        xr.open_zarr(str(dataset_folder(run) / "data.zarr"), consolidated=consolidated).load()
    assert mark.exists()  # so that the store is one that runs it
    mark.unlink()
    with pytest.raises(InputError, match="incomplete or damaged"):
        open_store(run)
    assert swept(run).identical(stores[0][1]) and not mark.exists()


def test_an_array_that_declares_more_than_is_there_is_not_read(stores: dict, run: Path) -> None:
    target = dataset_folder(run) / "data.zarr"
    file = target / "loss" / "zarr.json"
    text = json.loads(file.read_text())
    text["shape"][0] = 10**12
    file.write_text(json.dumps(text))
    store_mark = datasets.mark_of(datasets.request_of(run)["request"])
    (target.parent / "data.sum").write_text(archive.summed(target, store_mark))
    with pytest.raises(InputError, match="incomplete or damaged"):
        open_store(run)
    assert swept(run).identical(stores[0][1])


@pytest.mark.parametrize("text", ["[" * 100_000, '{"request":' * 100_000, "[" * 900 + "]" * 900])
def test_a_deep_manifest_is_one_line(text: str, run: Path) -> None:
    (run / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=r"^[^\n]*manifest.json cannot be read [^\n]*$"):
        swept(run)
    with pytest.raises(InputError, match="incomplete or damaged"):
        open_store(run)


PLACES = ["data/X/data.sum", "data/X", "data/X/data.zarr", "data/X/data.zarr/zarr.json"]
PLACES += ["parts/PART", ".lock", ".claims", "data/newest", "data/begun", "data/X.json"]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("place", ["manifest.json", *PLACES])
def test_what_is_not_a_file_is_not_waited_for(
    kind: str, place: str, stores: dict, run: Path
) -> None:
    named = place.replace("PART", parts(run)[0].name).replace("X", dataset_folder(run).name)
    file = run / named
    if place in ("parts/PART", ".lock", ".claims", "data/X.json"):
        lose_dataset(run)
    remove(file)
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        file.mkdir()
    try:
        assert swept(run).identical(stores[0][1])
    except InputError as error:
        assert place == "manifest.json" or kind == "folder"
        assert "\n" not in str(error) and str(run) in str(error)
    else:
        assert place != "manifest.json"
