"""Does training need the mask sigma, and what does it do?"""

import xarray as xr

from jaxtheory import Figure, holds, plot, refuted
from jaxtheory.theories.nearest_neighbor import Config

from . import ETA, PAPER, QUICK, ROWS, SIGMA, STEPS, THEORY, D, N, last, settings, started

TALK = "the talk: the mask keeps the query from attending to itself"
PANELS = {
    "test_loss": "2 L on test prompts",
    "xi2": r"$\xi_2$",
    "query_attention": r"attention on the query, mean $s_q$",
}


def without_sigma(*rows: tuple[int, int, float, float]) -> dict[str, list]:
    """Settings (d, N, eta)."""
    return {"setting": [f"d={d}, N={n}, η={e:g}" for d, n, _, e in rows]} | {
        name: settings(list(rows))[name] for name in (D, N, ETA)
    }


def spread_over_masks(data: xr.Dataset) -> xr.DataArray:
    """The largest mean loss over the least, among masks, at the last step."""
    mean = last(data.test_loss).mean("seed")
    return mean.max(SIGMA) / mean.min(SIGMA)


def self_attention(data: xr.Dataset, sigma: float) -> xr.DataArray:
    """The query's attention to itself at one sigma."""
    return data.query_attention.sel({SIGMA: sigma})


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss, xi2 and the query's attention for every sigma, a row per setting."""
    figure, axes = plot.panels(
        3, data.sizes["setting"], title="The initial mask σ", width=3.8, height=2.8
    )
    late = started(data)
    for row, setting in enumerate(data.setting.values):
        for ax, (name, label) in zip(axes[row], PANELS.items(), strict=True):
            for i, sigma in enumerate(data[SIGMA].values):
                runs = late[name].sel({"setting": setting, SIGMA: sigma})
                plot.series(
                    ax,
                    (2 if name == "test_loss" else 1) * runs,
                    "step",
                    f"σ = {sigma:g}",
                    colour=i,
                    markers=False,
                )
            if name == "xi2":
                law = late.predicted_xi2_valley.sel(setting=setting).isel({SIGMA: 0, "seed": 0})
                plot.theory(ax, late.step.values, law.where(late.step >= 50).values, "valley")
            plot.finish(
                ax,
                "step t",
                label,
                str(setting),
                xscale="log",
                yscale="linear" if name == "xi2" else "log",
                legend=name == "xi2",
            )
    return figure


FIGURE = Figure(
    name="neighbor_mask",
    source=f"{PAPER}, theorem: sigma = Omega(poly(d))",
    theory=THEORY,
    config=Config(),
    sweep={
        "zip": without_sigma(ROWS[0], ROWS[2]),
        "vary": {SIGMA: [0.0, 1.0, 5.0, 10.0]},
        "seeds": 8,
        "steps": 2000,
        "record": STEPS,
        "dtype": "float32",
    },
    quick=QUICK | {"zip": without_sigma(ROWS[0]), "vary": {SIGMA: [0.0, 5.0]}},
    draw=draw,
    claims=(
        refuted(
            "NN-11",
            "derived",
            f"{PAPER}, theorem, its condition read as needed",
            "Without a mask the layer is not trained: 2 L(2000) >= .3 at sigma = 0.",
            lambda data: 2 * last(data.test_loss).sel({SIGMA: 0.0}),  # .12
            at_least=0.3,
        ),
        holds(
            "NN-12",
            "derived",
            "derived: the valley",
            "All masks lead to one loss: at t = 2000 the largest mean over the least is at most "
            "1.2.",
            spread_over_masks,  # 1.09
            at_most=1.2,
        ),
        holds(
            "NN-13",
            "reading",
            TALK,
            "At sigma = 0 the query's attention to itself first rises, by 5 % or more.",
            lambda data: (
                self_attention(data, 0.0).max("step") / self_attention(data, 0.0).isel(step=0)
            ),
            at_least=1.05,
        ),
        holds(
            "NN-14",
            "reading",
            TALK,
            "At sigma = 10 it stays below .02.",
            lambda data: self_attention(data, 10.0).max("step"),
            at_most=0.02,
        ),
    ),
)
