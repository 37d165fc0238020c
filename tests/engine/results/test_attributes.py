"""The attributes of a dataset state the request and describe its variables."""

import json

import numpy as np
from helpers.worked_example import THEORY, Config

import jaxtheory
from jaxtheory import sweep, traced
from jaxtheory.code.code_hash import code_hash
from jaxtheory.engine.results.attributes import problem_digest
from jaxtheory.theories import random_walk


def test_a_dataset_knows_what_it_is_of(tmp_path):
    """Attributes tell the request, also read back; they do not depend on having a store."""
    config = Config(noise=0.3)
    options = {"vary": {"learning_rate": [0.1, 0.2]}, "seeds": 2, "steps": 4, "dtype": "float64"}
    data = sweep(THEORY, config, store=tmp_path / "run", **options)
    assert data.identical(sweep(THEORY, config, **options)) and np.isfinite(data.loss).all()
    said = data.attrs
    assert THEORY.Config(**json.loads(said["config"])) == config
    assert [said[n] for n in ("theory", "algorithm", "steps", "key", "dtype")] == [
        THEORY.name,
        "sgd",
        4,
        0,
        "float64",
    ]
    assert said["theory_digest"].split()[1] == code_hash(THEORY.problem) == problem_digest(data)
    assert len(said["theory_digest"].split()[0]) == 8 and said["jaxtheory_version"]
    variant = THEORY._replace(coords=lambda config: dict(THEORY.coords(config)))
    assert sweep(variant, config, **options).attrs["theory_digest"] != said["theory_digest"]
    assert data.learning_rate.attrs == {
        "long_name": "step size of SGD",
        "units": "1",
        "symbol": "eta",
    }
    assert all({"long_name", "units", "symbol"} <= c.attrs.keys() for c in data.coords.values())
    assert all(variable.attrs["long_name"] for variable in data.data_vars.values())


def test_no_attribute_tells_one_value_of_an_axis(tmp_path):
    vary = {"algorithm": ["sgd"], "steps": [1, 2]}
    data = sweep(THEORY, Config(), vary=vary, steps=0, save_params=True, store=tmp_path / "store")
    assert not {"algorithm", "steps"} & data.attrs.keys()
    params = jaxtheory.load_params(data, theory=THEORY, algorithm="sgd", steps=2, seed=0)
    assert np.array_equal(params.weights, data.params_weights.sel(steps=2).values.ravel())


def test_a_summary_is_shown_first():
    options = {"vary": {"learning_rate": [0.1, 1e60]}, "seeds": 2, "steps": 8, "dtype": "float64"}
    data = sweep(THEORY, Config(), **options)
    assert (data.diverged_at >= 0).sum() == 2
    text = f"{THEORY.name}: 2 points, 2 seeds, 50 % diverged"
    assert next(iter(data.attrs.items())) == ("summary", text)
    shown = [line.strip() for line in repr(data).splitlines()]
    assert shown[shown.index("Attributes:") + 1].split(maxsplit=1) == ["summary:", text]
    walks = sweep(random_walk, random_walk.Config(), steps=1)
    text = walks.attrs["summary"]
    html = walks._repr_html_()  # after the text, which a page without styles shows
    section = html[html.rindex("<li", 0, html.rindex(">Attributes")) :]
    assert " checked />" in section and text in section  # expanded
    single = sweep(THEORY, Config(), steps=1)
    assert single.attrs["summary"] == f"{THEORY.name}: 1 point, 1 seed, none diverged"


def test_a_unit_of_time_leaves_numbers(tmp_path):
    class Timed(Config):
        """A field in seconds."""

        wait: float = traced(1.0, "w", "time to wait", "[0, inf)", "seconds")

    theory = THEORY._replace(Config=Timed, examples=())
    data = sweep(theory, Timed(), vary={"wait": [0.5, 2.0]}, steps=2, store=tmp_path / "run")
    assert data.wait.values.tolist() == [0.5, 2.0] and data.wait.attrs["units"] == "seconds"
