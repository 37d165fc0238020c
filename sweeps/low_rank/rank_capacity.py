"""Do queries and values need as many dimensions as there are relevant patterns, or classes?"""

import xarray as xr

from jaxtheory import Figure, plot, refuted
from jaxtheory.theories.low_rank import S1

from . import FAILURES, last, only, ours, panels, pick, runs, somewhere

SHAPES: dict[str, list] = {
    "shape": ["20, 20", "m_b=1", "m_b=2", "m_b=4", "m_a=1", "m_a=2", "m_a=4"],
    "query_dim": [20, 1, 2, 4, 20, 20, 20],
    "value_dim": [20, 20, 20, 20, 1, 2, 4],
}


def draw(data: xr.Dataset) -> plot.Drawing:
    """Loss and error over the width of queries and values, against the number of
    relevant patterns.
    """
    figure, axes = panels(
        data, 2, "Query and value dimensions against R relevant patterns", width=4.2
    )
    for ax, measured, label, most in (
        (axes[0], data.loss, "test hinge loss", 0.2),
        (axes[1], data.error, "test error", 0.1),
    ):
        values, span = last(measured).mean("seed"), (0, most)
        plot.heat(ax, values, "shape", "num_relevant_patterns", label=label, digits=3, span=span)
        plot.finish(ax, "", "relevant patterns R", legend=False)
        ax.tick_params(axis="x", rotation=45)
    return figure


FIGURE = Figure(
    name="rank_capacity",
    source="summary of arXiv 2406.17167, failure signatures",
    theory=only(),
    config=S1,
    sweep=runs(
        160,
        zip=SHAPES,
        vary={"num_relevant_patterns": [2, 4, 6]},
        record={"loss": [0, 160], "error": [0, 160]},
    ),
    quick={"zip": pick(SHAPES, 0, 1), "vary": {"num_relevant_patterns": [2]}, "seeds": 2},
    draw=draw,
    claims=(
        refuted(
            "LR-65",
            "derived",
            FAILURES,
            "Fewer query dimensions than relevant patterns break learning: for some m_b < R the "
            "error is at least .1.",
            lambda data: last(data.error).where(
                (data.query_dim < data.num_relevant_patterns) & (data.value_dim > 4)
            ),
            **somewhere(at_least=0.1),
        ),
        refuted(
            "LR-66",
            "derived",
            FAILURES,
            "Fewer value dimensions than classes do: at m_a = 1 the loss is at least .2 for every "
            "R.",
            lambda data: last(data.loss).sel(shape="m_a=1"),
            at_least=0.2,
        ),
        ours(
            "LR-67",
            "Every shape with two value dimensions or more learns: the test error is at most .02, "
            "for every R.",
            lambda data: last(data.error).where(data.value_dim > 1, drop=True),
            source="measured: the number of classes is enough",
            at_most=0.02,
        ),
    ),
)
