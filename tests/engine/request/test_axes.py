"""Axes and points: values that do not fit together, and arguments that are not axes."""

import numpy as np
import pytest
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import InputError, plan
from jaxtheory.engine.request import axes
from jaxtheory.engine.request.axes import Axis
from jaxtheory.engine.request.request import read
from jaxtheory.theories import get

MILLIONS = 2_000_000
RATES = np.linspace(0.01, 0.5, MILLIONS)


def test_points_whose_fields_do_not_fit_together_are_found_by_halves():
    bad = 1_234_567

    class Few(jaxtheory.Config):
        noise: float = jaxtheory.traced(0.1, "sigma", "noise", "[0, inf)")

        def violations(self):
            calls.append(1)
            return ["too large"] if np.any(self.noise > RATES[bad - 1]) else []

    calls = []
    points = axes.Points(Few(), (Axis("noise", RATES, {"noise": RATES}),), "sgd", 1)
    with pytest.raises(InputError, match=f"at noise={RATES[bad]}: too large"):
        axes.check_points(points)
    assert len(calls) < 60


def test_values_that_axes_replace_need_not_fit_together():
    low_rank = get("low_rank")
    config = low_rank.Config(dimension=6)  # fewer than the default M = 20 patterns
    assert plan(low_rank, config, vary={"num_patterns": [3, 5]}, steps=2).points == 2
    with pytest.raises(InputError, match=r"^at num_patterns=7: num_patterns \(M\) = 7: .*$"):
        plan(low_rank, config, vary={"num_patterns": [3, 7]}, steps=2)


OTHERS = [
    ({"vary": {"d": [3.5]}}, "3.5: must be an integer"),
    ({"vary": {"d": ["3"]}}, "'3': must be an integer"),
    ({"vary": {"d": [[3]]}}, "one dimension"),
    ({"vary": {"algorithm": [["sgd"]]}}, "no algorithm"),
    ({"vary": {"algorithm": [3]}}, "no algorithm 3"),
    ({"vary": {"steps": [float("nan")]}}, "steps = nan"),
    ({"vary": {"steps": [True]}}, "steps = True"),
    ({"vary": 3}, "vary: must be a dictionary {field: values}"),
    ({"zip": "ab"}, "zip: must be a dictionary {field: values}"),
    ({"zip": [3]}, "zip: must be a dictionary {field: values}"),
    ({"zip": {"x": [[1], [2]], "eta": [0.1, 0.2]}}, r"x: \[1\] is not a label"),
    ({"zip": {"x": [1.0, float("nan")], "eta": [0.1, 0.2]}}, "x: nan is not a label"),
    *(
        ({"zip": {"x": values, "eta": [0.1, 0.2]}}, rf"\Ax: [^\n\x1b]*{message}[^\n\x1b]*\Z")
        for values, message in [
            ([1, "1"], "'1' is on the axis twice"),
            ([1.0, "1.0"], "'1.0' is on the axis twice"),
            ([True, 1], "True is on the axis twice"),
            ([True, "True"], "'True' is on the axis twice"),
            ([1, 1.0], "1 is on the axis twice"),
            ([2**53 + 1, 2.0**53], "is on the axis twice"),
            ([1, 2**63], r"must be in \[-2\^63, 2\^63\)"),
            ([1, 10**5000], r"must be in \[-2\^63, 2\^63\)"),
            (["a", ""], "'': must not be empty"),
            (["a", "b\x1b[31m"], r"must not contain the control character '.x1b'"),
            (["a", "b\0"], "control character"),
            (["a", "\ud800"], "control character"),
            (["a", "a\u202eb"], "control character"),
        ]
    ),
    *(
        ({"zip": {name: ["a", "b"], "eta": [0.1, 0.2]}}, rf"\Azip: [^\n\x1b]*{message}[^\n]*\Z")
        for name, message in [
            *((axis, "is the name of a variable") for axis in ("loss", "step", "seed", "seeds")),
            *((axis, "is the name of a variable") for axis in ("diverged_at", "predicted_loss")),
            *((axis, "is the name of a variable") for axis in ("coordinate", "params_x")),
            ("weights_0", "is the name of a variable"),
            *((axis, "must not ") for axis in ("", "..", ".", "a/b", "a\x1b", "\ud800", "zarr.")),
            ("x" * 300, "has 300 bytes"),
        ]
    ),
    ({"zip": {5: ["a", "b"], "eta": [0.1, 0.2]}}, "5 is a int, expected a name"),
    ({"vary": {5: [0.1, 0.2]}}, "5 is a int, expected a name"),
    ({"zip": {"x": ["a", "a"], "eta": [0.1, 0.2]}}, "x: the value 'a' is on the axis twice"),
    ({"steps": float("nan")}, "steps = nan"),
    ({"steps": float("inf")}, "steps = inf"),
]


@pytest.mark.parametrize(("options", "message"), OTHERS)
def test_other_axes_and_steps_are_refused_in_a_line(options, message):
    with pytest.raises(InputError, match=message):
        plan(THEORY, Config(), **{"steps": 1, **options})


WALK, KEY = get("random_walk"), jaxtheory.run_key(0, 0)
SMALL = WALK.Config(num_states=5, length=17)


@pytest.mark.parametrize("name", ["seed", "seeds", "key", "record", "dtype", "start", "stop"])
def test_an_argument_is_not_an_axis(name):
    for options in ({"vary": {name: [1, 2]}}, {"zip": {"p": [0.1, 0.2], name: [1, 2]}}):
        with pytest.raises(InputError, match=f"'{name}' cannot be an axis: .*(give|call|vary|use)"):
            jaxtheory.plan(WALK, SMALL, steps=2, **options)


@pytest.mark.parametrize(
    ("value", "message"), [(1e-50, "1e-50 is 0 in"), (1e60, "1e\\+60 is infini")]
)
@pytest.mark.parametrize("swept", [True, False])
def test_a_number_that_float32_cannot_hold_is_refused(value, message, swept):
    """And not trained as 0 or as infinity under the label of the value."""
    points = {"vary": {"threshold": [0.1, value]}} if swept else {}
    config = Config() if swept else Config(threshold=value)
    with pytest.raises(InputError, match=rf"threshold.*{message}.*dtype='float64'"):
        read(THEORY, config, **points, steps=2, dtype="float32")
    read(THEORY, config, **points, steps=2, dtype="float64")
