"""What is left of low rank when training labels are wrong?"""

import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.theories.low_rank import S1

from . import FAILURES, TRUNCATED, last, lines, ours, panels, rank_cost, ratio, runs


def of(data: xr.Dataset, matrix: str | list[str], r: int, other: int) -> xr.DataArray:
    """s_r over another singular value of a change at the end."""
    return ratio(last(data.singular_values).sel(matrix=matrix), r, other)


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss, error and s_3 / s_1 of all changes over the share of wrong labels; the loss by rank."""
    figure, (fit, spectrum, rank) = panels(data, 3, "Wrong training labels (S1)", width=3.6)
    for colour, name in enumerate(("loss", "error")):
        plot.series(fit, last(data[name]), "label_noise", f"test {name}", colour=colour)
    plot.finish(fit, "share of wrong labels", "")
    s = last(data.singular_values)
    lines(spectrum, s.sel(index=3) / s.sel(index=1), "label_noise", "matrix")
    plot.finish(spectrum, "share of wrong labels", "$s_3 / s_1$", yscale="log")
    lines(rank, data.truncated_loss.isel(kept_rank=slice(0, 8)), "kept_rank", "label_noise")
    plot.finish(rank, "all changes cut to rank r", "test hinge loss")
    return figure


FIGURE = Figure(
    name="rank_label_noise",
    source=FAILURES,
    theory=TRUNCATED,
    config=S1.replace(num_test=100),
    sweep=runs(240, vary={"label_noise": [0.0, 0.05, 0.1, 0.2, 0.4]}, record=[0, 120, 240]),
    quick={"vary": {"label_noise": [0.0, 0.1]}, "seeds": 2, "steps": 60, "record": [0, 60]},
    draw=draw,
    claims=(
        ours(
            "LR-76",
            "Wrong labels do not add to the rank that is needed: rank 2 costs at most .02.",
            lambda data: rank_cost(data, 2),
            at_most=0.02,
        ),
        ours(
            "LR-91",
            "They do to that of W_K.",
            lambda data: of(data, "WK", 3, 1).sel(label_noise=0.4),
            at_least=0.05,
        ),
    ),
)
