"""Where does gradient descent on infinitely many prompts lead in the plane of (xi1, xi2)?"""

import numpy as np
import xarray as xr

from jaxtheory import Figure, plot
from jaxtheory.theories.nearest_neighbor import Config

from . import EXACT, FORM, SIGMA, THEORY, started

XI0 = "initial_alignment"
GRID = [float(v) for v in range(0, 13, 2)]


def flow(data: xr.Dataset, name: str) -> xr.DataArray:
    """d xi / (eta dt) at the start of each run: its first step, over eta."""
    return (data[name].sel(step=1) - data[name].sel(step=0)) / 10.0


def draw(data: xr.Dataset) -> plot.Drawing:
    """Level lines of the loss with the directions of the flow, and runs.

    The runs start on a grid, which includes the left edge.
    """
    figure, axes = plot.panels(
        2,
        title="The plane of ξ₁ and ξ₂ (d = N = 4, infinitely many prompts)",
        width=4.6,
        height=3.8,
    )
    data = data.isel(seed=0).transpose(SIGMA, XI0, ...)
    x, y = data[XI0].values, data[SIGMA].values
    u, v = (flow(data, name).values[:-1, :-1] for name in ("xi1", "xi2"))
    length = np.hypot(u, v)
    ax = axes[0, 0]
    loss = 2 * data.population_loss.isel(step=0).values
    levels = ax.contourf(x, y, loss, levels=np.linspace(0, 1, 21), cmap="cividis")
    plot.color_bar(ax, levels, "2 L")
    ax.quiver(x[:-1], y[:-1], u / length, v / length, color="white", width=0.004)
    plot.finish(ax, r"$\xi_1$", r"$\xi_2$", "direction of the flow", legend=False)
    ax = axes[0, 1]
    for sigma in y:
        for xi0 in x[:: max(1, len(x) // 4)]:
            run = data.sel({SIGMA: sigma, XI0: xi0})
            ax.plot(run.xi1, run.xi2, color=plot.COLORS[0], linewidth=0.6)
    late = started(data).sel({XI0: 0.0}).isel({SIGMA: 0})
    xi1, xi2 = late.predicted_xi1_valley.values, late.predicted_xi2_valley.values
    plot.theory(ax, xi1, xi2, "valley")
    plot.finish(ax, r"$\xi_1$", r"$\xi_2$", f"runs of {int(data.step[-1])} steps, η = 10")
    return figure


FIGURE = Figure(
    name="neighbor_plane",
    source=f"{FORM}; d = N = 4 at second hand",
    theory=THEORY,
    config=Config(num_prompts=10, num_test=10, learning_rate=10.0),
    sweep=EXACT
    | {
        "vary": {XI0: GRID, SIGMA: GRID},
        "steps": 300,
        "record": [0, 1, 2, 4, 7, 10, 15, 20, 30, 40, 55, 75, 100, 140, 200, 300],
    },
    quick={"vary": {XI0: [0.0, 6.0], SIGMA: [0.0, 6.0]}},
    draw=draw,
    claims=(),
)
