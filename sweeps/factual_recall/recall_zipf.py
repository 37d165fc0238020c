"""Is a rare subject learned late, under descent and under Adam?

Subjects have the weights w_s ∝ 1/s, s = 1 to 16. The fact of a subject is recalled when its mean probability reaches 1/2.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_most, between, crossing, derived, exponent

from . import NOISELESS, OBSERVED, QUICK, THEORY, records

METHOD = "method"
METHODS = {
    METHOD: ["descent", "Adam"],
    "algorithm": ["gd", "adam"],
    "learning_rate": [0.5, 0.01],
}
STEPS = 2500


def recall_times(data: xr.Dataset, method: str) -> xr.DataArray:
    """The step at which each subject is recalled."""
    return crossing(data.recalled.sel({METHOD: method}, drop=True), 0.5)


def over_law(data: xr.Dataset) -> xr.DataArray:
    """The time of each subject under descent, over its law."""
    law = data.subject_times.sel({METHOD: "descent"}, drop=True).isel(step=0, drop=True)
    return 0.5 * recall_times(data, "descent") / (law * -np.log(0.01))


def draw(data: xr.Dataset) -> plot.Drawing:
    """The time of each subject, over that of the most frequent."""
    figure, ((ax,),) = plot.panels()
    for i, method in enumerate(data[METHOD].values):
        times = recall_times(data, method)
        ratio = times / times.isel(subject=0, drop=True)
        plot.series(ax, ratio, "subject", str(method), color=i)
    s = data.subject.values
    plot.theory(ax, s, s, "1/w")
    plot.finish(ax, "rank s of the subject", "time, over s = 1", "", xscale="log", yscale="log")
    return figure


FIGURE = Figure(
    name="recall_zipf",
    source="derived: the times of subjects with weights w",
    finding=Finding(
        "Descent learns the subject of rank s in a time that grows as 1/w, and Adam learns all at nearly the same time",
        rests_on=("FR-14", "FR-15"),
    ),
    theory=THEORY,
    config=NOISELESS.replace(zipf=1.0),
    sweep={
        "zip": METHODS,
        "dtype": "float32",
        "seeds": 16,
        "steps": STEPS,
        "record": records(STEPS, 200),
        "buckets": "exact",
        **OBSERVED,
    },
    quick={
        "config": QUICK["config"].replace(zipf=1.0),
        "seeds": 4,
        "steps": 600,
        "record": records(600, 60),
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "FR-14",
            origin=derived("derived: |G′_s| ∝ w_s"),
            statement="Under descent with w_s ∝ 1/s the step at which subject s is recalled is a power of s with an exponent of 0.85 to 1.05, s = 1 to 16.",
            measure=Measure(
                "exponent in s of the step at which subject s is recalled, descent",
                lambda data: exponent(recall_times(data, "descent"), "subject"),
            ),
            bound=between(0.85, 1.05),
            why="A subject that is seen s times as rarely waits s times as long.",
        ),
        Claim(
            "FR-15",
            origin=derived("measured: Adam divides by the size of gradients"),
            statement="Under Adam with w_s ∝ 1/s the step at which subject s is recalled is a power of s with an exponent of at most 0.1, s = 1 to 16.",
            measure=Measure(
                "exponent in s of the step at which subject s is recalled, Adam",
                lambda data: exponent(recall_times(data, "Adam"), "subject"),
            ),
            bound=at_most(0.1),
            why="Steps that do not depend on the size of a gradient remove the wait of rare subjects.",
        ),
        Claim(
            "FR-16",
            origin=derived("derived: t_s = t₁ + (1 − |G_s| t₁) / |G′_s|"),
            statement="Under descent with w_s ∝ 1/s the time of each subject is within a factor of 1.4 of the law t_s log(1/α), at α = 0.01.",
            measure=Measure(
                "largest |log of the time over the law| of a subject, descent",
                lambda data: abs(xr.ufuncs.log(over_law(data))).max("subject"),
            ),
            bound=at_most(float(np.log(1.4))),
            why="The law has no free constant, and holds to leading order in log(1/α) alone.",
        ),
    ),
)
