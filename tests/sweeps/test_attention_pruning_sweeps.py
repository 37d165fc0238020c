"""The pruning figures: names, plans, quick compilations; every claim's verdict turns when its data are doctored."""

import functools
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import jaxtheory
from jaxtheory.theories import load

SWEEPS = Path(__file__).parents[2] / "sweeps"
FIGURES = [f for path in sorted(SWEEPS.glob("attention_pruning*.py")) for f in load(path).FIGURES]
THEORY = FIGURES[0].theory
named = pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.name)


@functools.cache
def planned(place, quick):
    config, options = jaxtheory.claims.arguments(FIGURES[place], quick)
    return config, jaxtheory.plan(THEORY, config, **options), options


def test_names_are_unique():
    claims = [claim.id for figure in FIGURES for claim in figure.claims]
    assert len({f.name for f in FIGURES}) == len(FIGURES)
    assert len(set(claims)) == len(claims)


def test_quick_figures_need_at_most_4_training_loops():
    buckets = [b for i in range(len(FIGURES)) for b in planned(i, True)[1].buckets]
    assert len({(b.algorithm, jax.tree.structure(b.template), b.layout) for b in buckets}) <= 4


@named
def test_full_arguments_are_valid_and_claims_have_their_seeds(figure):
    plan = planned(FIGURES.index(figure), False)[1]
    assert all(len(plan.seeds) >= max(claim.minimum, 8) for claim in figure.claims)


METRICS = "relative_error relative_error_heldout loss attention_loss gradient_norm mask_norm".split()
PREDICTED = "predicted_relative_error_large_lambda predicted_attention_loss_descent".split()
ANALYSES = "relative_error_rescaled relative_error_rescaled_heldout hessian_norm stability_ratio bound_ratio".split()


def shape(place, quick):
    """The coordinates of the figure's dataset and the dimensions of its variables."""
    config, plan, options = planned(place, quick)
    axes = {a.name: list(a.labels) for a in plan.axes}
    coords = {**axes, "seed": list(plan.seeds), "step": list(options["record"]), **{k: list(v) for k, v in THEORY.coords(config).items()}}
    dims = {n: (*axes, "seed", *(() if n in ANALYSES else ("step",)), *THEORY.dims.get(n, ())) for n in METRICS + PREDICTED + ANALYSES}
    zipped = {w: (a.name, list(v)) for a in plan.axes for w, v in a.values.items() if w != a.name}
    return coords, dims, zipped


def made_up(place, quick, rng, spread):
    """A dataset of the figure's shape around 1/2: per variable and entry of its last dimension a random parabola along each axis."""
    coords, dims, zipped = shape(place, quick)
    data = {}
    for name, dim in dims.items():
        sizes = [len(coords[d]) for d in dim]
        last = [sizes[-1] if d in ("pruner", "bound") else 1 for d in dim[-1:]]
        values = 0.5 + spread * rng.uniform(-0.4, 0.4, last) + np.zeros(sizes)
        for i, d in enumerate(dim):
            x = np.linspace(-1, 1, sizes[i]).reshape([-1 if j == i else 1 for j in range(len(dim))])
            if d not in ("seed", "pruner", "bound"):
                values = values + spread * (rng.uniform(-0.4, 0.4, last) * x + rng.uniform(-0.4, 0.4, last) * x**2)
        scale = 1 if name.startswith(("relative", "predicted_relative")) else 10 ** (min(spread, 1) * rng.uniform(-5, 2))
        data[name] = (dim, scale * (values + max(0, 1e-3 - values.min())))
    return xr.Dataset(data, coords | zipped)


@named
def test_every_claim_can_turn_out_either_way(figure):
    rng = np.random.default_rng(0)
    found = {claim: set() for claim in figure.claims}
    for draw in range(400):
        data = made_up(FIGURES.index(figure), False, rng, (0.02, 0.2, 1.0, 4.0)[draw % 4])
        left = [claim for claim, verdicts in found.items() if len(verdicts) < 2]
        if not left:
            break
        for claim in left:
            found[claim].add(claim.test(data).holds)
    assert [claim.id for claim in left] == []


@named
def test_quick_data_can_be_drawn(figure):
    data = made_up(FIGURES.index(figure), True, np.random.default_rng(0), 0.2)
    drawing = figure.draw(data)
    assert all(ax.has_data() for ax in drawing.axes)
    tested = [claim for claim in figure.claims if claim.minimum <= data.sizes["seed"]]
    assert all(np.isfinite(claim.test(data).measured) for claim in tested)
