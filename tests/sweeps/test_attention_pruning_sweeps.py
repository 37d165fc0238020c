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
FIGURES = [f for name in ("attention_pruning.py", "attention_pruning_more.py") for f in load(SWEEPS / name).FIGURES]
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


def made_up(figure, quick):
    """A dataset of the figure's shape: the room's variables with plain noise around 1/2."""
    config, plan, options = planned(FIGURES.index(figure), quick)
    rng = np.random.default_rng(0)
    axes = {a.name: list(a.labels) for a in plan.axes}
    coords = {**axes, "seed": list(plan.seeds), "step": list(options["record"]), **{k: list(v) for k, v in THEORY.coords(config).items()}}
    coords |= {w: (a.name, list(v)) for a in plan.axes for w, v in a.values.items() if w != a.name}
    shapes = {**dict.fromkeys(METRICS, ("step",)), **dict.fromkeys(ANALYSES, ())}
    dims = {n: (*axes, "seed", *inner, *THEORY.dims.get(n, ())) for n, inner in shapes.items()}
    sizes = {d: len(coords[d]) for dim in dims.values() for d in dim}
    return xr.Dataset({n: (dim, 0.5 + 0.01 * rng.random([sizes[d] for d in dim])) for n, dim in dims.items()}, coords)


METRICS = (
    "relative_error relative_error_heldout loss attention_loss gradient_norm mask_norm mask_maximum predicted_attention_loss_descent "
    "predicted_relative_error_large_lambda"
).split()
ANALYSES = "relative_error_rescaled relative_error_rescaled_heldout hessian_norm stability_ratio bound_ratio".split()


def doctored(data):
    """The dataset with a trend along one dimension, up or down, or one entry of it raised or lowered; or one variable far larger."""
    yield data
    for dim in data.dims:
        ramp = xr.DataArray(np.linspace(-1, 1, data.sizes[dim]), dims=dim)
        for shift in (ramp, -ramp, *(sign * (ramp == ramp[i]) for i in range(len(ramp)) for sign in (1, -1))):
            yield data.map(lambda v, dim=dim, shift=shift: v + 0.9 * shift.astype(float) if dim in v.dims else v)
            yield data.map(lambda v, dim=dim, shift=shift: v * 100.0**shift if dim in v.dims else v)
    for name in data.data_vars:
        for factor in (1e-6, 1e6, -1):
            yield data.assign({name: data[name] * factor})


@named
def test_every_claim_can_turn_out_either_way(figure):
    open_claims = {claim.id: set() for claim in figure.claims}
    data = made_up(figure, quick=False)
    for other in doctored(data):
        for claim in figure.claims:
            if len(open_claims[claim.id]) < 2:
                open_claims[claim.id].add(claim.test(other).holds)
    assert {id: found for id, found in open_claims.items() if found != {True, False}} == {}


@named
def test_quick_data_can_be_drawn(figure):
    data = made_up(figure, quick=True)
    drawing = figure.draw(data)
    assert all(ax.has_data() for ax in drawing.axes)
    tested = [claim for claim in figure.claims if claim.minimum <= data.sizes["seed"]]
    assert all(np.isfinite(claim.test(data).measured) for claim in tested)
