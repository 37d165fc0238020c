"""Options of executors that do not fit, and the script of a job."""

from pathlib import Path

import pytest

from jaxtheory import cluster
from jaxtheory.cli import main

ROOT = Path(__file__).parents[3]
FILE = ROOT / "docs" / "examples" / "linear_regression.py"


# What is said in one line


def refusal(capsys, *words):
    """What the command line says of words that it refuses."""
    assert main.main(list(map(str, words))) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


WORDS = ("sweep", FILE, "--vary", "eta=.1,.2", "--steps", "5", "--store", "never")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--scheduler", "tcp://a:1"), "--scheduler does not apply to --executor local; use it"),
        (("--executor", "dask", "--job", "cores=1"), "--job does not apply to --executor dask"),
        (
            ("--executor", "dask", "--scheduler", "a", "--workers", "2"),
            "--workers does not apply to a running",
        ),
        (("--executor", "dask", "--workers", "0"), "workers = 0: must be an integer in [1, inf)"),
        (("--executor", "slurm"), "Slurm job: You must specify how much cores and memory"),
        (("--executor", "slurm", "--job", "cores"), "--job 'cores': must be NAME=VALUE, such as"),
        (("--executor", "slurm", "--job", "cores=1", "--job", "cores=2"), "--job cores: takes"),
        (("--executor", "slurm", "--job", "job_directives_skip="), "--job 'job_directives_skip='"),
        (
            ("--executor", "slurm", "--job", "job_extra=--x"),
            "--job job_extra: dask_jobqueue renamed",
        ),
        (("--tls-ca", "x"), "--tls-ca does not apply to --executor local; use it with"),
        (
            ("--executor", "dask", "--tls-ca", "x"),
            "--tls-ca, --tls-cert, --tls-key: must be used with",
        ),
        (
            ("--executor", "slurm", "--job", "cores=1", "--job", "memory=1GB", "--job", "x=1"),
            "--job x: unknown option; ",
        ),
    ],
)
def test_options_that_do_not_fit(words, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert refusal(capsys, *WORDS, *words).startswith(message)
    assert not list(tmp_path.iterdir())


def test_plan_shows_the_script_of_a_job(capsys):
    words = ("plan", *WORDS[1:-2], "--executor", "slurm", "--job", "cores=16", "--job")
    assert main.main(list(map(str, (*words, "memory=64GB")))) == 0
    out = capsys.readouterr().out
    assert "#SBATCH --cpus-per-task=16" in out and "dask_worker SCHEDULER" in out


def test_options_of_a_job_that_are_lists(capsys):
    words = ("plan", *WORDS[1:-2], "--executor", "slurm", "--job", "cores=4", "--job", "memory=8GB")
    lists = {
        "job_extra_directives": ("--gres=gpu:1", "--exclusive"),
        "job_directives_skip": ("--cpus-per-task", "-t "),
        "job_script_prologue": ("module load cuda", "export A=1"),
        "worker_extra_args": ("--resources", "GPU=1"),
    }
    more = [w for name, values in lists.items() for v in values for w in ("--job", f"{name}={v}")]
    assert main.main(list(map(str, (*words, *more)))) == 0
    lines = capsys.readouterr().out.partition("job script")[2].split("\n")
    assert {"#SBATCH --gres=gpu:1", "#SBATCH --exclusive", "#SBATCH --mem=8G"} <= {*lines}
    assert {"module load cuda", "export A=1"} <= {*lines}
    assert not any("--cpus-per-task" in line or "#SBATCH -t" in line for line in lines)
    assert any("dask_worker" in line and "--resources GPU=1" in line for line in lines)
    one = cluster.script({"cores": 4, "memory": "8GB", "job_extra_directives": "--gres=gpu:1"})
    assert "#SBATCH --gres=gpu:1\n" in one
    assert "--protocol tls://" in one and "tls" not in cluster.script(
        {"cores": 4, "memory": "8GB", "security": False}
    )
