"""JAX that cannot be used: by the environment, or in a forked process; one line says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAN = ("-m", "jaxtheory", "plan", "random_walk", "--steps", "2")


def python(*words: str, **variables: str) -> subprocess.CompletedProcess:
    """A Python process of a user, with these variables in its environment."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("JAX")}
    return subprocess.run(
        [sys.executable, *words],
        env=own | {"PYTHONPATH": str(ROOT)} | variables,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


REFUSED = [
    ("JAX_PLATFORMS", "cuda", "it finds no device of JAX_PLATFORMS=cuda"),
    ("JAX_PLATFORMS", "gpu", "it finds no device of JAX_PLATFORMS=gpu"),
    ("JAX_PLATFORMS", "nonsense", "it finds no device of JAX_PLATFORMS=nonsense"),
    ("JAX_ENABLE_X64", "maybe", "correct or unset JAX_ENABLE_X64=maybe"),
    ("JAX_NUM_CPU_DEVICES", "two", "correct or unset JAX_NUM_CPU_DEVICES=two"),
    ("JAX_TRANSFER_GUARD", "never", "correct or unset JAX_TRANSFER_GUARD=never"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_an_environment_in_which_jax_cannot_start(name: str, value: str, message: str) -> None:
    done = python(*PLAN, **{name: value})
    assert done.returncode == 2
    assert done.stderr.startswith("JAX cannot start: ") and message in done.stderr
    assert len(done.stderr.splitlines()) == 1


FORKED = """
import multiprocessing, sys, warnings
import jaxtheory
import jax

theory = jaxtheory.theories.get("random_walk")

def sweep():
    config = theory.Config(num_states=6, length=33)
    return float(jaxtheory.sweep(theory, config, steps=1).accuracy.mean())

def simulate():
    return jaxtheory.simulate(theory, theory.Config(), jaxtheory.run_key(0, 0), steps=1).steps

def plan():
    return jaxtheory.plan(theory, theory.Config(num_states=6, length=33), steps=1).points

def verify():
    return jaxtheory.verify(theory, seeds=1).passed

def run_key():
    return str(jaxtheory.run_key(0, 0))

def job(name):
    try:
        return globals()[name]()
    except jaxtheory.InputError as error:
        return str(error)

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # JAX's own word on forks
    if sys.argv[1] == "used":
        jax.devices()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        for name in sys.argv[2:]:
            print(pool.apply_async(job, (name,)).get(timeout=200))
"""


def test_a_fork_of_a_process_that_uses_jax_is_refused(tmp_path: Path) -> None:
    (tmp_path / "forked.py").write_text(FORKED, encoding="utf-8")
    faces = ("sweep", "simulate", "plan", "verify", "run_key")
    done = python(str(tmp_path / "forked.py"), "used", *faces)
    said = done.stdout.splitlines()
    assert len(said) == len(faces), done.stderr
    assert all(line.startswith("JAX was already running when this process") for line in said)
    assert all("multiprocessing.get_context('spawn')" in line for line in said)


def test_a_fork_before_jax_is_used_computes(tmp_path: Path) -> None:
    (tmp_path / "forked.py").write_text(FORKED, encoding="utf-8")
    done = python(str(tmp_path / "forked.py"), "unused", "sweep", "sweep")
    assert len({float(line) for line in done.stdout.splitlines()}) == 1, done.stderr


GUARDED = """
import jaxtheory
theory = jaxtheory.theories.get("attention_pruning")
config = theory.Config()
asked = dict(vary=dict(regularization=[0.1, 0.2]), seeds=2, steps=2)
print(jaxtheory.sweep(theory, config, **asked).sizes["seed"])
print(jaxtheory.plan(theory, config, **asked).runs)
jaxtheory.simulate(theory, config, jaxtheory.run_key(0, 0), steps=2)
print("done")
"""


def test_a_guard_of_transfers_does_not_matter() -> None:
    done = python("-c", GUARDED, JAX_TRANSFER_GUARD="disallow")
    assert done.stdout.split() == ["2", "4", "done"], done.stderr


def test_an_unknown_platform_is_one_line():
    code = (
        "import jaxtheory, sys\nfrom jaxtheory.cli.main import main\nsys.exit(main(['sweep', "
        "'random_walk', '--steps', '1']) - 2)"
    )
    own = {**os.environ, "JAX_PLATFORMS": "abacus"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=own,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (
        done.returncode == 0 and done.stderr.count("\n") == 1 and "JAX_PLATFORMS" in done.stderr
    ), done.stderr
