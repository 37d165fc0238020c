"""A run's numbers do not depend on padding, on the sweep, bucket, chunk or device it runs in."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from helpers.contract import ALGORITHMS, CASES, bare, close, config_of, inside, padding

import jaxtheory
from jaxtheory.core.config import fields
from jaxtheory.theories import get

STEPS = 6

# Arrays of a problem that are computed from draws, so that padding may change their last bits;
# everything else is bit for bit
DERIVED = {
    "attention_pruning": {"query", "key", "weights"},
    "contextual_bigram": {"transition", "stationary", "context", "pretrained"},
    "nearest_neighbor": {"x", "q", "t"},
    "group_sparse": {"truth", "downstream_truth"},
    "low_rank": {
        "tokens",
        "basis",
        # tokens over norms, and Gram-Schmidt; Gaussian tokens are bit for bit
        # (tests/theories/low_rank)
    },
}


@pytest.mark.parametrize(("name", "i"), CASES)
def test_padded_draws_are_bit_for_bit_the_unpadded_ones(name, i):
    """padded[slices of unpadded.shape] == unpadded for problem and batch, and the rest is zero."""
    theory, config = get(name), config_of(name, i)

    def draws(config):
        problem = theory.problem(jaxtheory.run_key(5, 1), config)
        return problem, theory.sample(jaxtheory.run_key(5, 2), problem, config)

    # bits are those of optimised programs, as a user's: without optimisation some depend on the
    # width of an array; level 2 has the bits of 3 in a quarter of the time
    draws = jax.jit(draws, compiler_options={"xla_backend_optimization_level": 2})
    plain, padded = draws(config), draws(padding(config))
    for (path, a), b in zip(jax.tree.leaves_with_path(padded), jax.tree.leaves(plain), strict=True):
        if getattr(path[-1], "name", None) in DERIVED.get(name, ()):
            assert close(inside(a, b), b), path
        else:
            np.testing.assert_array_equal(inside(a, b), b, err_msg=str(path))
        rest = np.array(a)
        rest[tuple(slice(n) for n in np.shape(b))] = 0
        assert not rest.any()


def second_value(field, value):
    """Another valid value of a traced field near the first, or None."""
    for factor in (0.9, 1.1):
        if (
            not field.integer
            and value != 0
            and factor * value in field.valid
            and value not in (field.valid.low, field.valid.high)
        ):
            return factor * value
    return None


@pytest.mark.parametrize(("name", "i", "algorithm"), ALGORITHMS)
def test_a_padded_lane_of_a_sharded_sweep_is_the_run_alone(name, i, algorithm):
    """All sizes padded, up to four traced or evaluation axes of two values, seeds, two numbers of
    steps: lanes against simulate.

    Everything that is looked at for the first two examples and the default algorithm, the loss for
    the others.
    """
    theory, config = get(name), get(name).examples[i]
    if i > 1 or algorithm != next(iter(theory.algorithms)):
        theory = bare(theory)
    table = {n: f for n, f in fields(type(config)).items() if f.kind in ("traced", "evaluation")}
    vary = {n: [v, w] for n, f in table.items() if (w := second_value(f, v := getattr(config, n)))}
    axes = dict(list(vary.items())[-4:])
    options = {"record": 2, "algorithm": algorithm, "dtype": "float64"}
    data = jaxtheory.sweep(
        theory,
        padding(config),
        vary={**axes, "steps": [STEPS, 2]},
        seeds=[4, 7, 9],
        key=2,
        steps=0,
        **options,
    )
    for choice in (0, -1):
        at = {n: v[choice] for n, v in axes.items()}
        for seed, steps in ((7, STEPS), (9, 2)):
            run = jaxtheory.simulate(
                theory, config.replace(**at), jaxtheory.run_key(2, seed), steps=steps, **options
            )
            lane = data.sel(seed=seed, steps=steps).isel(dict.fromkeys(axes, choice))
            for n, value in run.metrics.items():
                assert close(inside(lane[n].sel(step=run.steps).values, value), value), (
                    n,
                    lane[n].values,
                    value,
                )
            for n, value in run.analyses.items():
                assert close(inside(lane[n].values, value), value), n
            assert np.isnan(lane[next(iter(run.metrics))].sel(step=slice(steps + 1, None))).all()


SHARDED = """
import sys, numpy as np, jaxtheory, jax
sys.path.insert(0, {here!r})
from helpers.contract import bare, close
from jaxtheory.theories import get, names
walk = get("random_walk")
assert jaxtheory.plan(walk, walk.examples[0], steps=1).devices == {devices}
for name in names():
    for i, config in enumerate(get(name).examples[:{examples}]):
        theory = bare(get(name)) if i or {devices} > 2 else get(name)
        data = jaxtheory.sweep(theory, config, seeds={devices}, steps=4, record=4, dtype="float64")
        assert (data.diverged_at == -1).all() and np.isfinite(data.loss).all()
        if i == 0:
            key = jaxtheory.run_key(0, 1)
            run = jaxtheory.simulate(theory, config, key, steps=4, record=4, dtype="float64")
            for n, value in run.metrics.items():
                assert close(data[n].sel(seed=1).values, value), (name, i)
print("same")
"""


@pytest.mark.parametrize(("devices", "examples"), [(2, 2), (4, 1)])
def test_side_by_side_in_a_subprocess(devices, examples):
    """All theories, chunks side by side, in a process that a deadlock would not take down. With two
    the first example with all metrics.
    """
    code = SHARDED.format(here=str(Path(__file__).parents[1]), devices=devices, examples=examples)
    environment = {
        **os.environ,
        "JAXTHEORY_DEVICES": str(devices),
        "NPROC": str(2 * (os.cpu_count() or 1)),
    }
    if devices > 2:  # losses only
        del environment["XLA_FLAGS"]  # compiled as a user's programs are
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0 and done.stdout.strip() == "same", done.stderr[-3000:]
