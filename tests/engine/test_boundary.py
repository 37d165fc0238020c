"""Boundaries are where the known ones are, in few runs of one program."""

import numpy as np
import pytest
from helpers import quadratic
from helpers.quadratic import THEORY, Config
from helpers.worked_example import compilations, training_loops

import jaxtheory
from jaxtheory import InputError, boundary, run_key, simulate
from jaxtheory.engine.compute import compiled

CLOSER = jaxtheory.below("distance", 1.0)  # than at the start: eta h < 2


def curvature(key, seed, scale=1.0):
    run = simulate(THEORY, Config(scale=scale), run_key(key, seed), 0, dtype="float64")
    return float(run.problem.curvature)


def search(**options):
    defaults = {"along": "eta", "between": (0.01, 100.0), "when": CLOSER, "seeds": 3, "steps": 7}
    return boundary(THEORY, Config(), dtype="float64", **defaults | options)


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("tolerance", [0.3, 0.01, 1e-4])
def test_the_largest_step_size_of_each_point_and_seed(scale, tolerance):
    edges = search(over={"s": [0.5, 2.0]}, scale=scale, tolerance=tolerance)
    want = np.array([[2 / curvature(0, seed, s) for seed in range(3)] for s in (0.5, 2.0)])
    assert edges.low.dims == ("scale", "seed") and edges.scale.values.tolist() == [0.5, 2.0]
    assert ((edges.low < want) & (want < edges.high)).all()
    width = edges.high / edges.low - 1 if scale == "log" else (edges.high - edges.low) / 99.99
    assert (width <= tolerance).all() and (edges.crossings == 1).all() and edges["first"].all()
    middle = np.sqrt(edges.low * edges.high) if scale == "log" else (edges.low + edges.high) / 2
    np.testing.assert_allclose(edges.boundary, middle)
    assert (
        edges.holds.dims == ("scale", "seed", "eta")
        and edges.holds[..., 0].all()
        and not edges.holds[..., -1].any()
    )


def test_one_program_serves_all_rounds_and_few_runs_do(monkeypatch):
    compiled._compiled.clear()
    trained = []
    monkeypatch.setattr(
        "jaxtheory.engine.search.pick",
        lambda request, chunk, inputs, outcome, pick=jaxtheory.engine.search.pick: (
            trained.append(inputs.limit.astype(bool).sum()) or pick(request, chunk, inputs, outcome)
        ),
    )
    with compilations() as programs:
        search(over={"s": [0.5, 2.0]}, tolerance=1e-3)
    assert training_loops(programs) == 1
    equal = 2 * 3 * np.log(1e4) / np.log1p(1e-3)  # runs of a grid of the same resolution
    assert sum(trained) <= equal / 10


def test_along_a_field_of_the_data_law():
    edges = search(along="s", over={"eta": [0.1, 1.0]})
    unit = np.array([curvature(0, seed) for seed in range(3)])
    for eta, row in zip((0.1, 1.0), edges.boundary.transpose("eta", "seed").values, strict=True):
        np.testing.assert_allclose(row, 2 / (eta * unit), rtol=0.01)


def test_along_an_evaluation_field():
    inside = lambda data: data.inside.isel(step=-1) > 0.5
    edges = search(along="c", when=inside, over={"eta": [0.1, 0.2]}, steps=2)
    unit = np.array([curvature(0, seed) for seed in range(3)])
    np.testing.assert_allclose(edges.boundary, np.stack([unit, unit]), rtol=0.01)
    assert not edges["first"].any()


def test_float32_and_seeds_of_ones_own():
    edges = boundary(
        THEORY, Config(), along="eta", between=(0.1, 10), when=CLOSER, seeds=[7, 3], steps=9, key=4
    )
    want = [2 / curvature(4, seed) for seed in (7, 3)]
    np.testing.assert_allclose(edges.boundary, want, rtol=0.01)
    assert edges.seed.values.tolist() == [7, 3]


def test_no_boundary_and_several_are_told():
    none = search(between=(0.01, 0.1))
    assert (none.crossings == 0).all() and none["first"].all() and none.boundary.isnull().all()
    assert none.note == (
        "3 of 3 runs have no boundary between eta = 0.01 and 0.1: 3 have the property throughout; "
        "widen the interval."
    )
    beyond = search(between=(30.0, 100.0))
    assert "3 have it nowhere" in beyond.note and search().note == ""
    value = "eta_value"
    twice = search(when=lambda data: (data[value] > 0.1) & (data[value] < 10.0))
    assert (twice.crossings == 2).all() and twice.boundary.isnull().all()
    assert twice.note.endswith("in 3 it changes several times.")
    assert twice.summary == "quadratic: 1 point, 3 seeds, 100 % without a boundary"
    assert search().summary.endswith("none without a boundary")
    # two more changes inside one bracket of the first round
    thin = lambda data: (data[value] < 1.0) | ((data[value] > 1.2) & (data[value] < 1.3))
    assert (search(when=thin, tolerance=0.001).crossings == 3).all()


def test_the_first_of_several_changes():
    value = "eta_value"
    inside = lambda data: (data[value] > 0.1) & (data[value] < 10.0)
    edges = search(when=inside, several="first")
    assert (edges.crossings == 2).all() and not edges["first"].any() and edges.note == ""
    assert ((edges.low <= 0.1) & (edges.high > 0.1)).all()
    assert (edges.high / edges.low <= 1.01).all()
    assert search(several="first").identical(search().assign_attrs(several="first"))


def law(problem, config):
    return 2 / problem.curvature


def test_a_law_is_evaluated_on_the_problem_of_each_run():
    for options in ({"over": {"s": [0.5, 2.0]}}, {}, {"over": {"steps": [7, 9]}}):
        edges = search(law=law, **options)
        np.testing.assert_allclose(edges.boundary, edges.law.broadcast_like(edges.boundary), 0.005)
    assert edges.law.dims == ("seed",)
    laws = search(law={"law": law, "half": lambda problem, config: 1 / problem.curvature})
    np.testing.assert_allclose(laws.half, laws.law / 2)


def test_a_stored_result_is_returned_and_that_of_another_search_refused(tmp_path, monkeypatch):
    first = search(law=law, store=tmp_path / "s")
    monkeypatch.setattr(jaxtheory.engine.search, "train_chunk", None)  # nothing is trained again
    assert search(law=law, store=tmp_path / "s").identical(first)
    assert jaxtheory.statistics.average(first.boundary).n == 3
    for change in (
        {"when": jaxtheory.below("distance", 0.9)},
        {"tolerance": 0.02},
        {"several": "first"},
        {"law": lambda problem, config: 3 / problem.curvature},
    ):
        with pytest.raises(InputError, match="holds other runs"):
            search(**{"law": law, "store": tmp_path / "s"} | change)


def test_far_from_zero_and_in_float32():
    """Numbers in (1000, 1001) are 6e-5 apart in float32, and the ends of a bracket are such."""
    inside = lambda data: data.eta_value + 0 * data.distance.isel(step=-1) < 1000.25
    for dtype in ("float32", "float64"):
        edges = boundary(
            THEORY, Config(), dtype=dtype, along="eta", scale="linear", steps=0, seeds=1,
            between=(1000, 1001), when=inside, tolerance=1e-6,
        )  # fmt: skip
        assert edges.low < 1000.25 <= edges.high <= edges.low + max(1e-6, 4e3 * np.finfo(dtype).eps)
        for end in (edges.low.values, edges.high.values):
            assert end.dtype == float and end == end.astype(dtype)


def test_diverged_runs():
    long = {"steps": 3000, "between": (0.1, 100), "tolerance": 0.05}
    edges = search(when=jaxtheory.diverged, **long)
    want = np.array([2 / curvature(0, seed) for seed in range(3)])
    assert (np.abs(edges.boundary / want - 1) < 0.3).all() and not edges["first"].any()
    with_nan = search(**long)  # a run that diverged is not below
    assert (np.abs(with_nan.boundary / want - 1) < 0.05).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"along": "kind"}, "kind is a static field"),
        ({"along": "steps"}, "steps is a static field"),
        ({"along": "etta"}, "unknown field 'etta'; did you mean 'eta'"),
        ({"between": (2.0, 1.0)}, "low must be less than high"),
        ({"between": (-1.0, 1.0)}, "must be positive for scale='log'"),
        ({"between": (-1.0, 1.0), "scale": "linear"}, r"\(eta\) = -1.0: must be"),
        ({"between": 3}, "must be two numbers"),
        ({"between": (1.0, np.inf)}, "both finite"),
        ({"scale": "sqrt"}, "scale = 'sqrt': must be 'log' or 'linear'"),
        ({"several": "last"}, "several = 'last': must be 'none' or 'first'"),
        ({"along": "c", "between": (-2.0, 2.0), "scale": "linear"}, "c"),
        ({"over": ["eta"]}, "over = .'eta'.: must be a mapping"),
        ({"over": {"sc": [1.0]}}, "unknown field 'sc'"),
        ({"steps": -1}, "steps"),
        ({"seeds": 0}, "seeds"),
        ({"record": [9]}, "9"),
        ({"tolerances": 0.1}, "unknown argument 'tolerances'; did you mean 'tolerance'"),
        ({"between": (float("nan"), 1.0)}, "both finite"),
        ({"between": ("a", "b")}, "must be two numbers"),
        ({"tolerance": "small"}, "tolerance = 'small': must be a number"),
        ({"when": jaxtheory.below("distanc", 1.0)}, "did you mean 'distance'"),
        ({"when": "diverged"}, "when = 'diverged': must be a function"),
        ({"when": lambda: True}, "when: TypeError"),
        ({"when": lambda data: 1 / 0}, "when: ZeroDivisionError"),
        ({"law": 3}, r"law = 3: must be a function law\(problem, config\)"),
        ({"law": lambda problem, config: problem.nothing}, "law: AttributeError"),
        ({"law": lambda problem: 3.0}, "law: TypeError"),
        ({"law": {"half": 3}}, "half = 3: must be a function"),
        ({"law": {"low": lambda problem, config: 1.0}}, "'low' is a name of the result"),
        ({"law": lambda problem, config: [1.0, 2.0]}, "law: must return a number, got an array"),
        ({"tolerance": 0}, r"tolerance = 0: must be a number in \[1e-6, 1\)"),
        ({"over": {"eta": [1.0]}}, "is an axis of over too"),
        ({"when": 3}, "when = 3: must be a function"),
        ({"when": lambda data: data.distance}, "must return a truth value for each run"),
        (
            {"when": lambda data: (data.distance > 1).any()},
            "must return a truth value for each run",
        ),
        ({"when": lambda data: data.nothing > 1}, "nothing"),
    ],
)
def test_a_mistake_is_one_sentence(options, message):
    with pytest.raises(InputError, match=message):
        search(**options)


def test_the_helper_theory_keeps_the_contract():
    jaxtheory.check_theory(THEORY)
    assert quadratic.loss(2.0, (), quadratic.Problem(3.0), Config()) == 6.0
