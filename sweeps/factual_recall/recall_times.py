"""When are relations and subjects known, and which of the two comes first?

Without noise, from α = 1e-3 and 1e-6; times are η times the steps at which the loss has fallen half-way to its plateau, and through half of that.
"""

import numpy as np
import xarray as xr

from jaxtheory import Claim, Figure, plot
from jaxtheory.claims import Finding, Measure, at_least, between, derived, exponent

from . import ALPHA, NOISELESS, OBSERVED, QUICK, THEORY, R, S, fall, level, records

CASE = "case"
SIZES = [(16, 4), (32, 4), (64, 4), (32, 2), (32, 8), (4, 16)]
STARTS = [1e-3, 1e-6]
STEPS = 5000
RATE = 0.5


def points(sizes: list[tuple[int, int]]) -> dict[str, list]:
    """The sizes with their labels."""
    subjects, relations = (list(n) for n in zip(*sizes, strict=True))
    return {CASE: [f"S = {s}, R = {r}" for s, r in sizes], S: subjects, R: relations}


def plateau(data: xr.Dataset) -> xr.DataArray:
    """The level of a model that knows the token which the law has first."""
    first = law(data).idxmin("token") == "relation"
    return xr.where(first, level(data, "relation"), level(data, "subject"))


def law(data: xr.Dataset) -> xr.DataArray:
    """The law of both times over log(1/alpha), the mean over tokens."""
    times = data[["relation_time", "subject_times"]].isel(step=0, drop=True)
    both = [times.relation_time, times.subject_times.mean("subject")]
    return xr.concat(both, "token").assign_coords(token=["relation", "subject"])


def half_times(data: xr.Dataset) -> xr.DataArray:
    """The times at which the loss is half-way to the plateau, and at half of that."""
    height = plateau(data)
    heights = [(level(data, "uniform") + height) / 2, height / 2]
    times = xr.concat([RATE * fall(data, at) for at in heights], "stage")
    return times.assign_coords(stage=["first", "second"])


def slopes(data: xr.Dataset) -> xr.DataArray:
    """The change of both times with log(1/alpha)."""
    times = half_times(data).assign_coords({ALPHA: -np.log(data[ALPHA])})
    return times.diff(ALPHA).isel({ALPHA: 0}, drop=True) / float(np.diff(times[ALPHA])[0])


def over_law(data: xr.Dataset) -> xr.DataArray:
    """The slopes over the laws, the earlier time first."""
    times = law(data).isel({ALPHA: 0}, drop=True)
    first, second = times.min("token"), times.max("token")
    laws = xr.concat([first, second], "stage").assign_coords(stage=["first", "second"])
    return slopes(data) / laws


def relations_first(data: xr.Dataset) -> xr.Dataset:
    """The settings with more subjects than relations."""
    return data.isel({CASE: data[S].values > data[R].values})


def length(data: xr.Dataset, sizes: list[tuple[int, int]], along: str) -> xr.DataArray:
    """The change of the plateau's length with log(1/alpha) at some sizes, along S or R."""
    values = slopes(data)
    values = values.sel(stage="second") - values.sel(stage="first")
    return values.sel({CASE: points(sizes)[CASE]}).swap_dims({CASE: along})


def lead(data: xr.Dataset) -> xr.DataArray:
    """The lead of the subject's answers over the relation's in probability, where it is largest.

    It is taken along training, from the smallest start.
    """
    gap = (data.subject_mass - data.relation_mass).isel({ALPHA: -1}, drop=True)
    return gap.isel(step=abs(gap).argmax("step"), drop=True)


def draw(data: xr.Dataset) -> plot.Drawing:
    """The loss of two settings, and measured slopes against the law."""
    figure, ((losses, against),) = plot.panels(2)
    smallest = data.isel({ALPHA: -1})
    for i, case in enumerate((0, -1)):
        one = smallest.isel({CASE: case}).isel(step=slice(1, None))
        name = str(one[CASE].item())
        plot.series(losses, one.loss, "step", name, color=i, markers=False)
        height = float(plateau(smallest.isel({CASE: case})).mean())
        plot.reference(losses, None, height, "", color=i)
    plot.finish(losses, "step t", "loss", "lines: the levels of the plateaus", xscale="log")
    measured = slopes(data).mean("seed")
    laws = (slopes(data) / over_law(data)).mean("seed")
    for i, stage in enumerate(("first", "second")):
        x, y = laws.sel(stage=stage), measured.sel(stage=stage)
        label = "half-way to the plateau" if i == 0 else "half of the plateau"
        against.plot(x, y, plot.MARKERS[i], color=plot.COLORS[i], label=label, ms=4)
    ends = [float(laws.min()), float(laws.max())]
    plot.theory(against, ends, ends, "measured = law")
    says = "change of ηt with log(1/α)"
    plot.finish(against, "law", says, "each setting", xscale="log", yscale="log")
    return figure


FIGURE = Figure(
    name="recall_times",
    source="derived: the times of both stages at small starts",
    finding=Finding(
        "Both times grow with log(1/α) as derived, and subjects come first where they are few and relations many",
        rests_on=("FR-7", "FR-8", "FR-11"),
    ),
    theory=THEORY,
    config=NOISELESS.replace(learning_rate=RATE),
    sweep={
        "zip": points(SIZES),
        "vary": {ALPHA: STARTS},
        "dtype": "float64",
        "seeds": 8,
        "steps": STEPS,
        "record": records(STEPS, 250),
        "buckets": "exact",
        **OBSERVED,
    },
    quick={
        "config": QUICK["config"],
        "seeds": 4,
        "zip": points([(8, 2), (2, 8)]),
        "vary": {ALPHA: [1e-2, 1e-3]},
        "steps": 1000,
        "record": records(1000, 60),
        "buckets": "pad",
    },
    draw=draw,
    claims=(
        Claim(
            "FR-7",
            origin=derived("derived: t₁ = log(1/α) / |G_r|"),
            statement="Where S > R, the time at which the loss is half-way to the plateau changes with log(1/α) by 0.95 to 1.1 times the mean of 1/|G_r|.",
            measure=Measure(
                "slope of the first time in log(1/α) over the law, each setting with S > R",
                lambda data: over_law(relations_first(data)).sel(stage="first"),
            ),
            bound=between(0.95, 1.1),
            why="The drive of a token at the start is all that decides its time.",
        ),
        Claim(
            "FR-8",
            origin=derived("derived: t_s = t₁ + (1 − |G_s| t₁) / |G′_s|"),
            statement="Where S > R, the time at which the loss has fallen to half of its plateau changes with log(1/α) by 0.9 to 1.05 times the mean of the law of subjects.",
            measure=Measure(
                "slope of the second time in log(1/α) over the law, each setting with S > R",
                lambda data: over_law(relations_first(data)).sel(stage="second"),
            ),
            bound=between(0.9, 1.05),
            why="What subjects grow while relations are learned shortens the plateau, by a known factor.",
        ),
        Claim(
            "FR-9",
            origin=derived("derived: |G′_s| ∝ 1/(S √R)"),
            statement="For R = 4 and S = 16 to 64 the part of the plateau's length that grows with log(1/α) is a power of S with an exponent of 1.1 to 1.3.",
            measure=Measure(
                "exponent in S of the plateau's length over log(1/α), R = 4",
                lambda data: exponent(length(data, SIZES[:3], S), S),
            ),
            bound=between(1.1, 1.3),
            why="The law S √R log(1/α) has the exponent 1, and few subjects have a head start in addition.",
        ),
        Claim(
            "FR-10",
            origin=derived("derived: |G′_s| ∝ 1/(S √R)"),
            statement="For S = 32 and R = 2 to 8 the part of the plateau's length that grows with log(1/α) is a power of R with an exponent of 0.35 to 0.5.",
            measure=Measure(
                "exponent in R of the plateau's length over log(1/α), S = 32",
                lambda data: exponent(length(data, [SIZES[i] for i in (3, 1, 4)], R), R),
            ),
            bound=between(0.35, 0.5),
            why="The law S √R log(1/α) has the exponent 1/2, which the head start of subjects lowers.",
        ),
        Claim(
            "FR-11",
            origin=derived("derived: |G_s| > |G_r|"),
            statement="With 4 subjects and 16 relations the answers of the subject come to have at least 0.5 more probability than those of the relation, α = 1e-6.",
            measure=Measure(
                "probability of the subject's answers less the relation's, S = 4, R = 16",
                lambda data: lead(data.sel({CASE: "S = 4, R = 16"})),
            ),
            bound=at_least(0.5),
            why="It turns the order round: the model then hallucinates facts of the right subject.",
        ),
    ),
)
