"""Do labels that depend on the examples change the rates, or the form of W?

The talk asks of labels that they are 1 or -1, uncorrelated given the examples, and even in them. The
laws `code` and `even` of the theory satisfy this with N labels made of log2(N) + 1 signs; those of
`even` depend on the examples, too.
"""

import xarray as xr
from jax import Array

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import (
    Finding,
    Measure,
    at_least,
    at_most,
    between,
    derived,
    interpretation,
    last,
)
from jaxtheory.theories.nearest_neighbor import Config, Full, Problem

from . import FORM, LOG, PAPER, QUICK, STEPS, THEORY, B, D, N, course, late_slope, started

LAWS = {"averaged": "averaged", "independent": "rademacher", "code": "code", "even in x": "even"}
SELECT, FORMED = (4, 4, 4000, 2000), (3, 3, 8000, 300)  # d, N, B, steps


def cells(*rows: tuple[str, tuple[int, ...]]) -> dict[str, list]:
    """Laws, each with its d, N, B and steps, as one labeled axis."""
    names = [f"{law}, N = {sizes[1]}" for law, sizes in rows]
    fields = zip(*(sizes for _, sizes in rows), strict=True)
    return {
        "cell": names,
        "labels": [LAWS[law] for law, _ in rows],
        **dict(zip((D, N, B, "steps"), map(list, fields), strict=True)),
    }


def between_labels(params: Full, problem: Problem, config: Config) -> Array:
    """The entry W_23 of labels and mark, which is 0 in the form."""
    del problem, config
    return params.W[-2, -1]


def selecting(data: xr.Dataset) -> xr.Dataset:
    """The runs of 2000 steps with labels that depend on the examples, or on one another alone."""
    return data.sel(cell=[f"{law}, N = {SELECT[1]}" for law in ("code", "even in x")])


def entry(data: xr.Dataset, law: str) -> xr.DataArray:
    """W_23 at t = 300 with N = 3."""
    return data.label_entry.sel(cell=f"{law}, N = {FORMED[1]}", step=FORMED[3])


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss and xi1 in t for each law, and the entry of labels and mark."""
    figure, ((loss, sharp, form),) = plot.panels(3, title="σ = 5, η = 1", width=4.0)
    late = started(data)
    for color, law in enumerate(LAWS):
        for ax, name, size in ((loss, "test_loss", SELECT), (sharp, "xi1", SELECT)):
            cell = f"{law}, N = {size[1]}"
            if cell in data.cell.values:
                course(ax, late[name].sel(cell=cell), law, color)
        cell = f"{law}, N = {FORMED[1]}"
        if cell in data.cell.values:
            runs = data.label_entry.sel(cell=cell).sel(step=slice(0, FORMED[3]))
            course(form, runs, law, color)
    plot.finish(loss, "step t", "L on test prompts", "loss, d = N = 4", **LOG)
    plot.finish(sharp, "step t", r"$\xi_1$", "sharpness, d = N = 4", legend=False, **LOG)
    plot.finish(form, "step t", r"$W_{23}$, labels and mark", "form, d = N = 3")
    return figure


FIGURE = Figure(
    name="neighbor_labels",
    source=f"{PAPER}: the talk's conditions on labels",
    finding=Finding(
        "Labels from a code keep ξ₁ growing near t^(1/3) at d = N = 4, but take W over 0.02 off its form at d = N = 3",
        rests_on=("NN-52", "NN-55"),
    ),
    theory=THEORY,
    config=Config(mask=5.0, learning_rate=1.0),
    sweep={
        "algorithm": "literal",
        "zip": cells(
            *((law, SELECT) for law in LAWS),
            *((law, FORMED) for law in LAWS if law != "averaged"),
        ),
        "seeds": 16,
        "steps": SELECT[3],
        "record": sorted({*STEPS, FORMED[3]}),
        "observe": {"label_entry": between_labels},
        "dtype": "float32",
        "buckets": "exact",
    },
    quick=QUICK
    | {
        "algorithm": "literal",
        "zip": cells(("averaged", (4, 4, 500, 100)), ("averaged", (3, 3, 500, 100))),
        "observe": {"label_entry": between_labels},
    },
    draw=draw,
    # key 100: -0.331, -0.333; 0.339; -0.304; 0.984; 0.037; 0.001
    claims=(
        Claim(
            "NN-51",
            origin=interpretation(PAPER, "theorem, with the talk's conditions on labels"),
            statement="The loss “converges to zero” for all labels that the talk allows, read as: with labels of `code` and `even` its exponent of t from t = 500 on is at most -0.2 (d = N = 4).",
            measure=Measure(
                "exponent of the test loss in t ≥ 500, each of labels code and even",
                lambda data: late_slope(selecting(data).test_loss),
            ),
            bound=at_most(-0.2),
            why="Real labels depend on the examples, and the independent ones of other figures do not.",
        ),
        Claim(
            "NN-52",
            origin=derived(
                "derived: on infinitely many prompts only E y y^T matters to xi1 and xi2"
            ),
            statement="With labels of `code` and `even` the sharpness xi1 grows as t^(1/3), too: its exponent from t = 500 on is near 1/3 (d = N = 4).",
            measure=Measure(
                "exponent of ξ1 in t ≥ 500, each of labels code and even",
                lambda data: late_slope(selecting(data).xi1),
            ),
            bound=between(0.30, 0.40),
            why="The rate does not depend on the law of the labels, beyond what the talk asks of them.",
        ),
        Claim(
            "NN-53",
            origin=derived(
                "derived: on infinitely many prompts only E y y^T matters to xi1 and xi2"
            ),
            statement="With labels of `code` and `even` attention comes to select the nearest example as t^(-1/3), too: the exponent of 1 - mean s* from t = 500 on is near -1/3 (d = N = 4).",
            measure=Measure(
                "exponent of 1 − mean s* in t ≥ 500, each of labels code and even",
                lambda data: late_slope(1 - selecting(data).nearest_attention),
            ),
            bound=between(-0.42, -0.26),
            why="The selection of the nearest example is what the layer is trained for.",
        ),
        Claim(
            "NN-54",
            origin=derived("measured"),
            statement="With labels of `code` and `even` the output has the sign of the nearest label on 97 % of the prompts at t = 2000 (d = N = 4).",
            measure=Measure(
                "share of prompts of the nearest label's sign, t = 2000, code and even",
                lambda data: last(selecting(data).agreement),
            ),
            bound=at_least(0.97),
            why="A user asks for the right label.",
        ),
        Claim(
            "NN-55",
            origin=interpretation(FORM, "with the talk's conditions on labels"),
            statement="For W “the weights has the form” diag(xi1 I, 0, -xi2) with all labels that the talk allows, read as: the entry of labels and mark, which is 0 in it, is at most 0.02 with labels of `code` (d = N = 3, 8000 prompts, t = 300).",
            measure=Measure(
                "W's entry of labels and mark, labels code, d = N = 3, t = 300",
                lambda data: entry(data, "code"),
            ),
            bound=at_most(0.02),
            expect="fails",
            why="Uncorrelated labels are not enough: products of three labels must have the mean 0, too.",
        ),
        Claim(
            "NN-56",
            origin=derived("derived: odd in y, hence 0 for labels with the law of -y"),
            statement="With independent labels W's entry of labels and mark is 0, within 0.02 (d = N = 3, 8000 prompts, t = 300).",
            measure=Measure(
                "W's entry of labels and mark, independent labels, d = N = 3, t = 300",
                lambda data: entry(data, "independent"),
            ),
            bound=between(-0.02, 0.02),
            law=0.0,
            why="It is the condition that the talk leaves out, and all usual laws of labels satisfy it.",
        ),
    ),
)
