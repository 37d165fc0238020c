"""`make decide-gpu`: what each measure for accelerators is worth on the one at hand.

python tests/benchmarks/decide.py [--theories NAME ...] [--minutes M] [--quick]

Every row is a process of its own with an empty compilation cache: the engine as it is, without one
of its measures, without all of them, or with a further one. Columns, in seconds: the first sweep of
32 runs with default records, which compiles; the same again; with two records; 512 runs with two
records; metrics of all records over training. The last column is the largest difference of the mean
loss to the engine as it is. --quick rehearses with few steps, also without an accelerator. At the
given minutes (default 9) nothing more is begun.
"""

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[0] = str(HERE.parent)
AUTOTUNING = {"XLA_FLAGS": "--xla_gpu_autotune_level=4"}
LOOPS = {"XLA_FLAGS": "--xla_gpu_enable_command_buffer=+WHILE"}
KINDS = ("cpu", "gpu", "tpu")
MEASURES = ("one chunk", "compiled side by side", "blocks of steps", "a look once per block")
# name: the measures left out, and the environment
VARIANTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "as it is": ((), {}),
    "before": (MEASURES, AUTOTUNING),
    **{f"without {name}": ((name,), {}) for name in MEASURES},
    "with autotuning": ((), AUTOTUNING),
    "loops in command buffers": ((), LOOPS),
}
COLUMNS = ("first", "default", "two records", "512 runs", "metrics / training", "difference")


def without(measures: tuple[str, ...]) -> contextlib.ExitStack:
    """Take measures from the engine until the stack is closed."""
    from jaxtheory.engine.compute import precompile, program
    from jaxtheory.engine.planning import planner

    patches = {
        "one chunk": lambda: mock.patch.object(planner, "_SHARES", dict.fromkeys(KINDS, 4)),
        "compiled side by side": lambda: mock.patch.object(precompile, "cores", lambda: 1),
        "blocks of steps": lambda: mock.patch.object(program, "block_length", lambda _: 1),
        "a look once per block": lambda: mock.patch.object(program, "keeps", lambda *_: False),
    }
    stack = contextlib.ExitStack()
    for name in measures:
        stack.enter_context(patches[name]())
    return stack


def seconds(call: Callable[[], Any], rounds: int = 3) -> float:
    """The median of some calls."""
    durations = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        durations.append(time.perf_counter() - begun)
    return float(np.median(durations))


def measured(theory: str, quick: bool) -> dict[str, Any]:
    """The columns of a theory in this process, and the mean loss."""
    study = importlib.import_module(f"benchmarks.{theory}").STUDY
    if quick:
        study = study._replace(steps=40, seeds=4)
    row = {"first": seconds(study.sweep, 1), "default": seconds(study.sweep)}
    study.ends()
    row["two records"] = seconds(study.ends)
    row["metrics / training"] = row["default"] / row["two records"] - 1
    large_study = study._replace(seeds=study.seeds * (2 if quick else 16))
    large_study.ends()
    row["512 runs"] = seconds(large_study.ends)
    data = study.sweep()
    curve = next(x for x in data.data_vars.values() if "step" in x.dims and x.dtype.kind == "f")
    curve = data.get("loss", curve)
    row["loss"] = curve.mean([dim for dim in curve.dims if dim != "step"]).values.tolist()
    return row


def row_of_process(variant: str, theory: str, quick: bool, limit: float) -> dict[str, Any]:
    """The columns of a theory, in a process of their own; {"failed": why} if it fails."""
    words = [sys.executable, __file__, "--theories", theory, "--variant", variant]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, **VARIANTS[variant][1]}
        try:
            done = subprocess.run(
                [*words, *(["--quick"] if quick else [])],
                capture_output=True,
                text=True,
                timeout=limit,
                env=environment,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"failed": "no time was left"}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1][:200]}
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    some = ["task_diversity", "in_context_regression", "causal_graph"]
    parser.add_argument("--theories", nargs="+", default=some)
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--quick", action="store_true", help="few steps")
    parser.add_argument("--variant", choices=VARIANTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant is not None:
        with without(VARIANTS[options.variant][0]):
            print(json.dumps(measured(options.theories[0], options.quick)))
        return
    end, losses = time.monotonic() + 60 * options.minutes, {}
    print(f"| theory | variant | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}")
    for variant in VARIANTS:
        for theory in options.theories:
            remaining = end - time.monotonic()
            row = row_of_process(variant, theory, options.quick, remaining) if remaining > 0 else {}
            if "loss" in row:
                mine = losses.setdefault(theory, row["loss"])
                row["difference"] = float(np.max(np.abs(np.subtract(mine, row["loss"]))))
            cells = [f"{row[name]:.3g}" if name in row else "" for name in COLUMNS]
            cells[0] = row.get("failed", cells[0] if row else "no time was left")
            print(f"| {theory} | {variant} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
