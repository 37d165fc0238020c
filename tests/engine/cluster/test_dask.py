"""Sweeps on a real cluster of two worker processes: the same dataset, and nothing is lost with a
worker or a client. Clients and workers are processes of their own, as a user's are.
"""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.stores import parts

import jaxtheory
from jaxtheory import cluster
from jaxtheory.cli import main

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docs" / "examples" / "linear_regression.py"
SERVER = """
import sys, distributed
if __name__ == "__main__":
    options = dict(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None)
    with distributed.LocalCluster(**options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def environment(**more):
    """What a user's process has: nothing that this one set for JAX, but its XLA_FLAGS."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("JAX") and k != "NPROC"}
    return own | {"PYTHONPATH": str(ROOT)} | more


def started(*words, **options):
    """A Python process with pipes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, *map(str, words)], text=True, env=environment(**options), **pipes
    )


def finished(process):
    """What a process wrote, by line."""
    out, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors[-3000:]
    return out.splitlines()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    file = tmp_path_factory.mktemp("server") / "server.py"  # spawned workers read it again
    file.write_text(SERVER)
    server = started(file)
    server_address = server.stdout.readline().strip()
    assert server_address, server.communicate()[1][-3000:]
    yield server_address
    server.communicate(timeout=60)


CLIENT = """
import os, signal, sys
import distributed, jaxtheory
from jaxtheory.engine.cluster import pickling
from jaxtheory.engine.compute import compiled
from jaxtheory.engine.planning import planner

planner._CHUNK_SECONDS = 1e-9  # a slot at a time
theory = jaxtheory.theories.load({file!r}).THEORY
client = distributed.Client({address!r}, timeout=30)
on = jaxtheory.cluster.on(client)

def sweep(eta=(.02, .05, .1, .2), steps=500, **more):
    return jaxtheory.sweep(theory, theory.Config(dimension=4), vary=dict(eta=eta, B=(2, 4)),
        seeds=4, steps=steps, buckets="exact", **more)
"""


def client(code, address):
    return started("-c", CLIENT.format(file=str(FILE), address=address) + code)


SAME = """
want = sweep()
print(sweep(execute=on).identical(want))
print(sweep(execute=on, store={store!r}).identical(want))
count = lambda: len(compiled._compiled)
before = client.run(count)
sweep(eta=(.03, .06, .12, .25), execute=on)
print(client.run(count) == before and all(before.values()))

pack = pickling.pack
def of_another(work, chunks):
    import pickle
    sent = pickle.loads(pack(work, chunks))
    return pickle.dumps(sent | dict(versions=sent["versions"] | dict(jax="0.1")))
pickling.pack = of_another
try:
    sweep(execute=on)
except jaxtheory.InputError as error:
    print(error)
"""


def test_the_dataset_is_that_of_the_sweep_in_one_process(address, tmp_path):
    lines = finished(client(SAME.format(store=str(tmp_path / "store")), address))
    assert lines[:3] == ["True", "True", "True"]  # in memory, in a store, nothing compiled again
    assert lines[3].startswith("worker ") and "the sweep 0.1; install" in lines[3]
    assert len(lines) == 4


LOST = """
first = []
def kill(event):
    if event.phase == "run" and event.done_points and not first:
        first.extend(client.run(os.getpid).values())
        os.kill(first[0], signal.SIGKILL)
data = sweep(steps=20000, execute=on, store={store!r}, progress=kill)
parts = len([name for name in os.listdir({store!r} + "/parts") if name.endswith(".part")])
print(len(first), parts > 6, data.identical(sweep(steps=20000)))
"""


def test_a_killed_worker_loses_nothing(address, tmp_path):
    assert finished(client(LOST.format(store=str(tmp_path)), address)) == ["2 True True"]


BEGUN = """
def told(event):
    if event.done_points:
        print(event.phase, flush=True)
    if event.done_points > 2:
        signal.pause()
sweep(steps=2000, execute=on, store={store!r}, progress=told)
"""
AGAIN = """
phases = []
told = lambda event: phases.append(event.phase)
data = sweep(steps=2000, execute=on, store={store!r}, progress=told)
print(phases[0], data.identical(sweep(steps=2000)))
"""


@pytest.mark.slow
def test_a_killed_client_loses_nothing(address, tmp_path):
    store = tmp_path / "store"
    one = client(BEGUN.format(store=str(store)), address)
    assert one.stdout.readline() == "run\n"
    os.kill(one.pid, signal.SIGKILL)
    one.communicate()
    timestamps = {part: part.stat().st_mtime_ns for part in parts(store)}
    assert timestamps and not (store / "data.zarr").exists()
    assert finished(client(AGAIN.format(store=str(store)), address)) == ["resume True"]
    assert timestamps.items() <= {part: part.stat().st_mtime_ns for part in timestamps}.items()


SBATCH = """#!{python}
import os, subprocess, sys
log = open("{folder}/log", "a")
options = dict(stdout=log, stderr=log, start_new_session=True)
script = open(sys.argv[-1].strip()).read()  # the file is removed when this process ends
job = subprocess.Popen(["bash", "-c", script], **options)
print("Submitted batch job", job.pid)
"""
SCANCEL = "#!/usr/bin/env bash\nkill -- -$1\n"


@pytest.mark.slow
def test_jobs_of_slurm(tmp_path):
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        file = tmp_path / name
        file.write_text(text.format(python=sys.executable, folder=tmp_path))
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    store = tmp_path / "store"
    words = ["sweep", FILE, "--vary", "eta=.1,.2", "--steps", "5", "--store", store]
    words += ["--executor", "slurm", "--job", "cores=1", "--job", "memory=4GB"]
    shared = tmp_path / "shared"
    shared.mkdir()
    words += ["--job", f"shared_temp_directory={shared}"]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    out = finished(started("-m", "jaxtheory", *words, PATH=path))
    assert out[0] == f"store     {store}" and (store / "data.zarr").is_dir()
    assert list(shared.iterdir()) == []  # neither a key nor a certificate


def test_the_folder_of_keys_is_private_and_removed(tmp_path):
    with pytest.raises(ZeroDivisionError), cluster._secret_folder(tmp_path) as folder:
        (folder / "key.pem").write_text("secret")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder.parent == tmp_path
        _ = 1 / 0
    assert list(tmp_path.iterdir()) == []


def test_keys_of_a_killed_command_are_removed_by_the_next(tmp_path):
    orphan = tmp_path / ".tmp-0123456789abcdef"
    orphan.mkdir()
    (orphan / "lock").touch()
    (orphan / "key.pem").write_text("secret")
    with cluster._secret_folder(tmp_path):
        assert not orphan.exists()


def test_a_folder_of_keys_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    for parent in (tmp_path / "absent", tmp_path / "file", tmp_path / ("x" * 300), "a\0b"):
        with (
            pytest.raises(jaxtheory.InputError, match=r"\A[^\n\0]+\Z"),
            cluster._secret_folder(parent),
        ):
            raise AssertionError


# What is said in one line


def refusal(capsys, *words):
    """What the command line says of words that it refuses."""
    assert main.main(list(map(str, words))) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


WORDS = ("sweep", FILE, "--vary", "eta=.1,.2", "--steps", "5", "--store", "never")


def test_a_scheduler_that_is_not_there(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "_ANSWER_SECONDS", 0.5)
    said = refusal(capsys, *WORDS, "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1")
    assert said.startswith("no scheduler answers at tcp://127.0.0.1:1 (")
    said = refusal(capsys, *WORDS, "--executor", "dask", "--scheduler", "a:b:c")
    assert said.startswith("no scheduler answers at a:b:c (")
    assert not list(tmp_path.iterdir())


def test_without_the_extra(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = refusal(capsys, *WORDS, "--executor", "dask")
    assert said == "clusters need the package distributed: pip install 'jaxtheory[cluster]'"


def test_what_is_no_client():
    with pytest.raises(jaxtheory.InputError, match=r"client = 3: must be a distributed\.Client"):
        cluster.on(3)


# By TLS


SECURE = """
import sys, distributed
from pathlib import Path
if __name__ == "__main__":
    security = distributed.Security.temporary()
    names = {"ca": security.tls_ca_file, "cert": security.tls_client_cert}
    for name, text in {**names, "key": security.tls_client_key}.items():
        Path(sys.argv[1], name).write_text(text)
    options = dict(n_workers=1, threads_per_worker=1, memory_limit=0, dashboard_address=None)
    with distributed.LocalCluster(**options, security=security, protocol="tls://") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """The address of a scheduler by TLS, and the folder of its certificates."""
    folder = tmp_path_factory.mktemp("secure")
    (folder / "server.py").write_text(SECURE)
    server = started(folder / "server.py", folder)
    server_address = server.stdout.readline().strip()
    assert server_address.startswith("tls://"), server.communicate()[1][-3000:]
    yield server_address, folder
    server.communicate(timeout=60)


def test_a_sweep_by_tls(secure, tmp_path):
    address, folder = secure
    options = [f"--tls-{name}={folder / name}" for name in ("ca", "cert", "key")]
    words = [*WORDS[:-1], tmp_path / "store", "--executor", "dask", "--scheduler", address]
    assert finished(started("-m", "jaxtheory", *words, *options))[0].startswith("store")
    assert (tmp_path / "store" / "data.zarr").is_dir()


def test_who_has_no_certificate_of_the_cluster_is_refused(secure, capsys, monkeypatch, tmp_path):
    from distributed import Security

    monkeypatch.setattr(cluster, "_ANSWER_SECONDS", 3)
    monkeypatch.chdir(tmp_path)
    address, folder = secure
    credentials = Security.temporary()
    for name, text in (("cert", credentials.tls_client_cert), ("key", credentials.tls_client_key)):
        (tmp_path / name).write_text(text)
    before = sorted(tmp_path.iterdir())
    words = (*WORDS, "--executor", "dask", "--scheduler")
    strange = (f"--tls-{name}={tmp_path / name}" for name in ("cert", "key"))
    for place, options in (
        (address, ()),
        (address.replace("tls", "tcp"), ()),
        (address, (f"--tls-ca={folder / 'ca'}",)),
        (address, (f"--tls-ca={folder / 'ca'}", *strange)),
    ):
        assert refusal(capsys, *words, place, *options).startswith(
            f"no scheduler answers at {place} ("
        )
    said = refusal(capsys, *words, address, "--tls-ca", tmp_path / "none")
    assert said.startswith(f"{tmp_path / 'none'} is not a file; give the path of a")
    assert sorted(tmp_path.iterdir()) == before


# A cluster without workers, or without its scheduler


LONELY = """
import sys, distributed
if __name__ == "__main__":
    options = dict(threads_per_worker=1, memory_limit=0, dashboard_address=None)
    with distributed.LocalCluster(n_workers=0, **options) as cluster:
        print(cluster.scheduler_address, flush=True)
        for line in sys.stdin:
            cluster.scale(int(line))
"""


@pytest.fixture
def lonely(tmp_path):
    """A scheduler without a worker; a number on its stdin is how many it shall have."""
    (tmp_path / "lonely.py").write_text(LONELY)
    server = started(tmp_path / "lonely.py")
    yield server, server.stdout.readline().strip()
    if server.poll() is None:
        server.communicate(timeout=60)


def commanded(address, store, seconds):
    """The command line in a process, with another time in which a cluster has to answer."""
    code = "from jaxtheory import cluster; from jaxtheory.cli import main; "
    code += f"cluster._ANSWER_SECONDS = {seconds}; main.entry()"
    words = (*WORDS[:-1], store, "--executor", "dask", "--scheduler", address)
    return started("-c", code, *words)


def test_a_cluster_without_a_worker_is_told_of_and_waited_for(lonely, tmp_path):
    server, address = lonely
    sweep = commanded(address, tmp_path / "store", 1)
    said = sweep.stderr.readline()
    assert said.endswith(f"no worker is connected to {address}; the sweep waits for one\n")
    server.stdin.write("1\n")
    server.stdin.flush()
    _, errors = sweep.communicate(timeout=200)
    assert (sweep.returncode, errors) == (0, "")
    assert (tmp_path / "store" / "data.zarr").is_dir()


def test_a_scheduler_that_dies_is_told_of_in_one_line(lonely, tmp_path):
    server, address = lonely
    sweep = commanded(address, tmp_path / "store", 1)
    assert "no worker is connected" in sweep.stderr.readline()
    server.kill()
    server.communicate()
    _, errors = sweep.communicate(timeout=200)
    assert sweep.returncode == 2
    assert len(errors.splitlines()) == 1 and f"{address} is gone" in errors


# What workers leave behind


TRAVELS = """
print(sweep(steps=5, execute=on).sizes["seed"])
inside = lambda: [n for n in sys.path if os.path.basename(n).startswith("jaxtheory-")]
kept = client.run(lambda dask_worker: (inside(), dask_worker.local_directory))
print(all(path.startswith(place) for paths, place in kept.values() for path in paths))
print(sum(len(paths) for paths, _ in kept.values()) > 0)
"""


def test_what_travels_lies_in_the_folder_of_the_worker(address):
    assert finished(client(TRAVELS, address)) == ["4", "True", "True"]
