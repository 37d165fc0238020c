"""The experiments on a Llama, on a model of a few hundred weights: they run, keep what is measured,
and go on where they were stopped.
"""

import sys

import chex
import jax
import numpy as np
import pytest
from helpers.some import some

import jaxtheory
from jaxtheory import llama

from .made_up import get

FIGURES = ("llama_table", "llama_last_layer", "llama_variants", "llama_assumptions")
ASKED = {
    "llama_table": {"fit_steps": 4, "ratios": [0.5, 0.8]},
    "llama_last_layer": {"lengths": [8, 16], "ratios": [0.05, 0.2, 0.8, 0.9]},
    "llama_variants": {
        "fit_steps": 4,
        "ratios": [0.7, 0.8],
        "names": ["updated", "fresh text", "stopped early"],
    },
    "llama_assumptions": {},
}
CONFIG = llama.Config(128, 16, 24, 2, 4, 2, 4, tie_word_embeddings=True)


@pytest.fixture
def package(monkeypatch):
    """The package of the experiments with a small untrained model and short texts."""
    get("llama_table")
    package = sys.modules["jaxtheory._sweeps.llama"]
    model = llama.init(jax.random.key(0), CONFIG, 0.5), CONFIG
    for name in FIGURES:
        get(name)
        module = sys.modules[f"{package.__name__}.{name}"]
        for word, value in {
            "trained": lambda *_: model,
            "calibration": lambda key, seed, samples=4, length=16: np.random.default_rng(
                [key, seed]
            ).integers(0, 128, (samples, length)),
            "evaluation": lambda count=4, length=16: np.random.default_rng(9).integers(
                0, 128, (4, length)
            ),
        }.items():
            if hasattr(module, word):
                monkeypatch.setattr(module, word, value)
    return package


@pytest.mark.parametrize("name", some(FIGURES, "llama_assumptions"))
def test_experiments_run_and_keep_their_cells(package, tmp_path, name):
    figure = get(name)
    options = {"steps": 1, "seeds": 3, **ASKED[name]}
    events = []
    data = figure.experiment(tmp_path / name, 0, lambda *event: events.append(event), **options)
    assert data.sizes["seed"] == 3 and events[-1][1] == events[-1][2]
    assert all(judged.verdict is not None for judged in jaxtheory.claims.judge(figure.claims, data))
    assert all(ax.has_data() for ax in figure.draw(data).axes)
    files = sorted((tmp_path / name).iterdir())
    assert len(files) == events[-1][2]
    files[0].unlink()
    before = {file: file.stat().st_mtime_ns for file in files[1:]}
    again = figure.experiment(tmp_path / name, 0, None, **options)
    assert before == {file: file.stat().st_mtime_ns for file in files[1:]}  # only one was measured
    for variable in data:
        if variable != "seconds":
            np.testing.assert_array_equal(again[variable], data[variable])


def test_run_figure_takes_experiments(package, tmp_path):
    result = jaxtheory.claims.run_figure(get("llama_assumptions"), quick=True)
    assert result.dataset.sizes == {"seed": 1, "layer": 2}
    figure = get("llama_assumptions")
    assert figure.claims
    assert {judged.finding for judged in result.verdicts} == {"an example"}
    edited = figure._replace(
        experiment=lambda *given, **options: figure.experiment(*given, **options)
    )
    runs = [(figure, 0), (figure, 0), (figure, 1), (edited, 0)]
    places = [
        jaxtheory.claims.run_figure(f, quick=True, key=key, store=tmp_path).store for f, key in runs
    ]
    assert places[0] == places[1] and len(set(places)) == 3  # other code or key, another place


def test_training_goes_on_where_it_was_stopped(package, tmp_path, monkeypatch):
    with jax.numpy_dtype_promotion("standard"):  # optax promotes its counter
        stopped_and_resumed(package, tmp_path, monkeypatch)


def stopped_and_resumed(package, tmp_path, monkeypatch):
    training = sys.modules[f"{package.__name__}._training"]
    for name, value in {"CONFIG": CONFIG, "AT_ONCE": 2, "BATCH": 2, "LENGTH": 8}.items():
        monkeypatch.setattr(training, name, value)
    jax.clear_caches()
    losses = []
    want, _ = training.trained(tmp_path / "a", 6, lambda *event: losses.append(event))
    assert [event[1] for event in losses] == [2, 4, 6]

    def stop(_, done, *__):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.trained(tmp_path / "b", 6, stop)
    (checkpoint,) = (tmp_path / "b").glob("*.training")
    content = checkpoint.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"PK" + bytes(100), content[:-40]):
        checkpoint.write_bytes(damaged)
        assert training.opened(checkpoint, "start") == (0, "start")
    checkpoint.write_bytes(content)
    steps = []
    params, config = training.trained(tmp_path / "b", 6, lambda *event: steps.append(event[1]))
    assert steps[0] in (4, 6) and steps[-1] == 6 and config.num_hidden_layers == 2
    chex.assert_trees_all_equal(params, want)
    assert [path.suffix for path in (tmp_path / "b").iterdir()] == [""]
    jax.clear_caches()


def test_the_corpus_is_split_by_file(package):
    corpus = sys.modules[f"{package.__name__}._corpus"]
    splits = corpus.corpus()
    assert len(splits.train) > 3 * len(splits.heldout) > 1e6
    assert max(splits.train.max(), splits.heldout.max()) < corpus.VOCABULARY
    assert list(corpus.tokens("aé".encode())) == [97, 63, 63]
    windows = corpus.windows(splits.heldout, 5, 64, 0)
    assert windows.shape == (5, 64) and (windows == corpus.windows(splits.heldout, 5, 64, 0)).all()
    text = splits.heldout.tobytes()
    assert all(window.tobytes() in text for window in corpus.evenly(splits.heldout, 4, 64))
