"""Do queries and values need as many dimensions as there are relevant patterns, or classes?"""

import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, interpretation, last
from jaxtheory.theories.low_rank import S1

from . import only, panels, pick, runs

LEAST = 1e-6  # number that has a color of its own
SHAPES: dict[str, list] = {
    "shape": ["20, 20", "m_b=1", "m_b=2", "m_b=4", "m_a=1", "m_a=2", "m_a=4"],
    "query_dim": [20, 1, 2, 4, 20, 20, 20],
    "value_dim": [20, 20, 20, 20, 1, 2, 4],
}


def beyond(data: xr.Dataset) -> xr.DataArray:
    """The largest s_(R+1) / s_1 of W_Q and W_K where a dimension is below R.

    Key 100: at most 0.012.
    """
    s = last(data.singular_values).sel(matrix=["WQ", "WK"])
    R = data.num_relevant_patterns
    is_narrow = (data.query_dim < R) | (data.value_dim < R)
    after = s.sel(index=R + 1).drop_vars("index")
    return (after / s.sel(index=1, drop=True)).where(is_narrow).max()


def draw(data: xr.Dataset) -> plot.Drawing:
    """s_(R+1) / s_1 of W_K and the loss, by the width of queries and values and by R."""
    R = data.num_relevant_patterns
    figure, axes = panels(
        2, "Few query and value dimensions against R relevant patterns", width=4.2
    )
    s = last(data.singular_values).sel(matrix=["WQ", "WK"]).max("matrix")
    after = (s.sel(index=R + 1).drop_vars("index") / s.sel(index=1, drop=True)).clip(LEAST)
    for ax, measured, label in (
        (axes[0], after, "$s_{R+1} / s_1$, larger of $W_Q$, $W_K$"),
        (axes[1], last(data.loss).clip(LEAST), "test hinge loss"),
    ):
        plot.heat(
            ax, measured, "shape", "num_relevant_patterns", label=label, digits=None, norm="log"
        )
        enough = (data.query_dim >= R) & (data.value_dim >= R)
        plot.boundary(ax, enough, "shape", "num_relevant_patterns", "R dimensions or more")
        widths = "$m_b$ of queries and keys, $m_a$ of values (else 20)"
        plot.finish(ax, widths, "relevant patterns R", legend=False)
        names = [str(shape).replace("m_b", "$m_b$") for shape in data["shape"].values]
        ax.set_xticklabels([name.replace("m_a", "$m_a$") for name in names])
    plot.remark(figure, f"Numbers below {LEAST:g} have the color of it.")
    return figure


FIGURE = Figure(
    name="rank_capacity",
    source="summary of arXiv 2406.17167, failure signatures",
    finding=Finding(
        "With fewer value dimensions than relevant patterns R, singular values s_(R+1) of ΔW_Q, ΔW_K are below 0.1 s_1",
        rests_on=("LR-65",),
    ),
    theory=only(),
    config=S1,
    sweep=runs(
        160,
        zip=SHAPES,
        vary={"num_relevant_patterns": [2, 4, 6]},
        record={name: [0, 160] for name in ("loss", "error", "singular_values")},
    ),
    quick={"zip": pick(SHAPES, 0, 1), "vary": {"num_relevant_patterns": [2]}, "seeds": 2},
    draw=draw,
    claims=(
        Claim(
            "LR-65",
            origin=interpretation("summary", "failure signatures"),
            statement="Where R exceeds the capacity “the low-rank property may not hold”, read as: for some m_b or m_a below R, s_(R+1) of W_Q or W_K is at least 0.1 of s_1.",
            measure=Measure(
                "largest s_(R+1) / s_1 of W_Q and W_K where m_b or m_a is below R", beyond
            ),
            bound=at_least(0.1),
            expect="fails",
            why="The summary names this as the way in which low rank would break, and it does not break it.",
        ),
    ),
)
