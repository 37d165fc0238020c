"""The sweep of causal_graph against the training code that the authors of its source published.

    git clone https://github.com/eshnich/transformers-learn-causal-structure causal
    git -C causal checkout 7d5e456
    python tests/benchmarks/peers_causal_graph.py causal

Their code needs jaxopt, simple-pytree, optax and tqdm; it is not part of this repository. Its
script `single_parent.py` runs as it is, with its data, batches, steps and test prompts, but without
its plots and uploads. It trains a larger model than ours. For equal settings its attention layers
get the blocks that ours has, A1 on positions and A2 on states, and its loss the offset eps; and
there are 2000 test prompts, as in ours, where the script has 65536. This script
prints one JSON object per setting:

    over seeds   the mean test loss of their runs and of our sweep, each on its own draws
    seconds      CPU seconds: one of their runs times 32 over our sweep of 32, the least of each;
                 "warm" is their steps with 20 looks at the test loss, once these are compiled;
                 "whole" their script, which compiles in each run; "published" the script's own
                 model at its own rate 1, whole
"""

import argparse
import importlib
import json
import sys
import time
import types
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.theories import causal_graph as ours

RUNS, RECORDS, TEST = 32, 20, 2000


class Setting(NamedTuple):
    """Sizes, rates and steps of both sides; chains with fresh prompts at each step."""

    states: int
    length: int
    alpha: float
    batch: int
    rate: float
    steps: int
    strength: float = 0.5
    epsilon: float = 0.01

    def config(self) -> ours.Config:
        return ours.Config(
            num_states=self.states,
            length=self.length,
            concentration=self.alpha,
            num_prompts=self.batch,
            learning_rate=self.rate,
            decay_steps=self.steps,
            initial_strength=self.strength,
            epsilon=self.epsilon,
            prompts="fresh",
        )


SETTINGS = (Setting(3, 16, 0.5, 64, 30.0, 400), Setting(10, 20, 0.1, 64, 30.0, 200))


class Theirs(NamedTuple):
    """One of their runs: test losses at the recorded steps, CPU seconds, and those of the steps."""

    losses: np.ndarray
    total: float
    warm: float


def loaded(folder: Path) -> types.ModuleType:
    """Their script, with stand-ins for uploads, plots and the command line."""
    nothing = lambda *_, **__: None
    stand_ins = {
        "seaborn": {},
        "tyro": {"cli": nothing},
        "wandb": {
            "init": nothing,
            "finish": nothing,
            "Image": nothing,
            "run": types.SimpleNamespace(dir=""),
        },
        "plots": {
            "plt": types.SimpleNamespace(savefig=nothing, close=nothing),
            **dict.fromkeys(("plot_losses", "plot_A", "plot_A1", "plot_A2", "plot_W"), nothing),
        },
    }
    for name, entries in stand_ins.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(entries)
    sys.path.insert(0, str(folder))
    script = importlib.import_module("single_parent")
    script.Image = types.SimpleNamespace(open=nothing)

    class Fewer(script.RNG):
        """Keys for at most 2000 test prompts."""

        def next(self, n_keys: int = 1) -> Any:
            return super().next(min(n_keys, TEST))

    script.RNG = Fewer
    return script


def reduced(theirs: type, setting: Setting) -> type:
    """Their model with our parameters: the other blocks are zero, and the output is read off the
    second attention.
    """

    class Reduced(theirs):
        def __init__(self, seq_len: int, vocab_size: int, heads: list[int]) -> None:
            self.vocab_size = vocab_size
            self.A1 = jnp.zeros((seq_len, seq_len))
            self.A2 = setting.strength * jnp.eye(vocab_size)

        @property
        def A(self) -> Any:
            return [[self.A1], [self.A2]]

        @property
        def W(self) -> Any:
            return self.A2

        def __call__(self, x: Any) -> Any:
            S = self.vocab_size
            tokens = self.embed(x)
            d = tokens.shape[-1]
            first = jnp.zeros((d, d)).at[S:, S:].set(self.A1)
            tokens = jnp.concatenate([tokens, self.attn(tokens, first)], -1)
            second = jnp.zeros((2 * d, 2 * d)).at[:S, d : d + S].set(self.A2.T)
            return self.attn(tokens, second)[..., -1, :S] + setting.epsilon

    return Reduced


def train(script: Any, model: type, setting: Setting, seed: int) -> Theirs:
    """Their `main`, whose logs are kept."""
    losses, moments = [], []

    def log(entries: dict) -> None:
        if "loss" in entries:
            losses.append(float(entries["loss"]))
            moments.append(time.process_time())

    script.wandb.log, script.CatFormer = log, model
    begun = time.process_time()
    script.main(
        vocab_size=setting.states,
        seq_len=setting.length,
        alpha=setting.alpha,
        seed=seed,
        lr=setting.rate,
        steps=setting.steps,
        n_save=RECORDS,
        batch_size=setting.batch,
        max_size=setting.batch * setting.steps // RECORDS,
    )
    total = time.process_time() - begun
    warm = (moments[-1] - moments[1]) * RECORDS / (RECORDS - 2)
    return Theirs(np.array(losses), total, warm)


def compare(script: Any, setting: Setting, seeds: int) -> dict[str, Any]:
    """Both comparisons for a setting."""
    full, stride = script.CatFormer, setting.steps // RECORDS
    model, record = reduced(full, setting), list(range(0, setting.steps, stride))
    durations, runs = [], []
    for key in range(seeds + 1):  # the first call of our sweep compiles
        begun = time.process_time()
        sweep = jaxtheory.sweep(
            ours,
            setting.config(),
            seeds=RUNS,
            steps=setting.steps,
            algorithm="sgd_cosine",
            record=record,
            key=key,
        )
        durations.append(time.process_time() - begun)
        if key:
            runs.append(train(script, model, setting, key))
    published = train(script, full, setting._replace(rate=1.0), 1)
    theirs = np.array([run.losses for run in runs])
    mine = sweep.test_loss.sel(step=record).values.astype(float)
    error = np.sqrt(sum(x.var(axis=0, ddof=1) / len(x) for x in (theirs, mine)))
    ours_warm = np.array(durations[1:])
    ratio = lambda seconds: round(RUNS * min(seconds) / float(ours_warm.min()), 1)
    return {
        **setting._asdict(),
        "over seeds": {
            "steps": record,
            "their mean": theirs.mean(axis=0).round(3).tolist(),
            "our mean": mine.mean(axis=0).round(3).tolist(),
            "our deviation": mine.std(axis=0, ddof=1).round(3).tolist(),
            "standard errors": ((theirs.mean(axis=0) - mine.mean(axis=0)) / error)
            .round(1)
            .tolist(),
        },
        "seconds": {
            "one of theirs, warm": [round(run.warm, 2) for run in runs],
            "one of theirs, whole": [round(run.total, 2) for run in runs],
            "one of theirs, published": round(published.total, 2),
            "our 32": [round(x, 2) for x in durations[1:]],
            "our 32, compiling": round(durations[0], 2),
            "ratio, warm": ratio([run.warm for run in runs]),
            "ratio, whole": ratio([run.total for run in runs]),
            "ratio, both compiling": round(RUNS * min(run.total for run in runs) / durations[0], 1),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("code", type=Path, help="folder of the authors' code")
    parser.add_argument("--seeds", type=int, default=4, help="runs of theirs (default: 4)")
    parser.add_argument("--setting", type=int, choices=range(len(SETTINGS)), help="this one alone")
    options = parser.parse_args()
    if not (options.code / "single_parent.py").is_file():
        parser.error(f"{options.code}: there is no single_parent.py in this folder")
    script = loaded(options.code)
    for i, setting in enumerate(SETTINGS):
        if options.setting in (None, i):
            print(json.dumps(compare(script, setting, options.seeds)), flush=True)


if __name__ == "__main__":
    main()
