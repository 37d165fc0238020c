"""A theory package is a module of the functions in its record, and every verb takes either."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

import jaxtheory

FUNCTIONS = "Config problem sample init loss gradient metrics predict assumptions".split()
OPTIONAL = "baselines analyses coords".split()  # `analyses` may be a folder of the package
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "linear_regression.py"


def package(name: str) -> Any:
    return importlib.import_module(f"jaxtheory.theories.{name}")


@pytest.mark.parametrize("name", jaxtheory.theories.names())
def test_a_package_has_the_functions_of_its_record(name: str) -> None:
    module = package(name)
    theory = module.THEORY
    optional = [
        slot
        for slot in OPTIONAL
        if getattr(theory, slot).__module__.startswith(module.__name__)
        and importlib.util.find_spec(f"{module.__name__}.{slot}") is None
    ]
    for slot in [*FUNCTIONS, *optional]:
        assert slot in module.__all__
        assert getattr(module, slot) is getattr(theory, slot), slot
    assert module.ALGORITHMS.keys() == theory.algorithms.keys()
    assert {"ALGORITHMS", "THEORY", "Problem", "Params"} <= set(module.__all__)
    assert [export for export in module.__all__ if not hasattr(module, export)] == []


@pytest.mark.parametrize("name", jaxtheory.theories.names())
def test_no_export_hides_a_module(name: str) -> None:
    module = package(name)
    for file in Path(module.__file__).parent.iterdir():
        if (file.suffix == ".py" and file.stem != "__init__") or (file / "__init__.py").is_file():
            inner = importlib.import_module(f"jaxtheory.theories.{name}.{file.stem}")
            assert getattr(module, file.stem) is inner


@pytest.mark.parametrize("name", ["random_walk", "linear_regression"])
def test_every_verb_takes_every_spelling_of_a_theory(name: str) -> None:
    own = name == "linear_regression"
    module: Any = jaxtheory.theories.load(EXAMPLE) if own else package(name)
    theory, config = module.THEORY, module.THEORY.examples[0]
    spellings = [theory, module, *([EXAMPLE, str(EXAMPLE)] if own else [name])]
    key, check = jaxtheory.run_key(0, 0), theory.checks[0].name
    results = [
        (
            jaxtheory.sweep(spelling, config, vary={"eta": [0.1, 0.2]}, seeds=2, steps=2),
            jaxtheory.simulate(spelling, config, key, steps=2).metrics["loss"].tolist(),
            jaxtheory.plan(spelling, config, seeds=2, steps=2).points,
        )
        for spelling in spellings
    ]
    dataset, *reference = results[0]
    for again, *tail in results[1:]:
        assert again.identical(dataset)
        assert tail == reference
    # last, as verifying a path loads the file anew, with another Config
    assert all(jaxtheory.verify(spelling, seeds=1, only=[check]).passed for spelling in spellings)
