"""A theory's sweep of 32 runs against the training code that the authors of its source published.

    git clone https://github.com/yedizhang/linattn-icl && git -C linattn-icl checkout 9a481d5
    python tests/benchmarks/peers.py linattn-icl

Their code needs PyTorch and matplotlib; it is not part of this repository. It trains as its own
script does, with its losses kept in place of a plot. The script prints one JSON object per form of
the layer, with three comparisons:

    same run     the loss of one run of each side on the same prompts from the same weights. Their
                 separate form has weights that ours leaves out, since they do not move on
                 infinitely many prompts; "held" keeps them at zero
    over seeds   the mean loss of their runs and of our sweep, each on its own draws
    seconds      one of their runs times 32 over our sweep of 32, in turn, on the same machine; also
                 over our sweep prompt by prompt (algorithm "sgd"), which does what they do, where
                 "gd" descends by the moments of the prompts. PyTorch's threads wait for each other
                 busily: on a machine with other work set OMP_NUM_THREADS=1 and read the CPU seconds

Their layer does not divide by N. With weights c times as large as theirs, where c is N^(1/2) for
two factors and N^(1/3) for three, it is ours, and descent with the rate c^2 times theirs is theirs.
"""

import argparse
import contextlib
import importlib
import io
import json
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxtheory
from jaxtheory.theories import in_context_regression as ours
from jaxtheory.theories.in_context_regression import model

RUNS, PROMPTS, LENGTH, FEATURES, RECORDS = 32, 300, 31, 4, 20


class Case(NamedTuple):
    """A form of the layer with settings in the units of their code."""

    form: str
    heads: int
    scale: float
    rate: float
    steps: int

    @property
    def unit(self) -> float:
        """Our weights over theirs."""
        return LENGTH ** (1 / 3 if self.form == "separate" else 1 / 2)

    def config(self, form: str) -> ours.Config:
        return ours.Config(
            form=form,
            heads=self.heads,
            dimension=FEATURES,
            length=LENGTH,
            num_prompts=PROMPTS,
            learning_rate=self.rate * self.unit**2,
        )

    def arguments(self, seed: int) -> list[str]:
        """Their command line."""
        name = "attnS" if self.form == "separate" else "attnM"
        fields = {
            "model": name,
            "head": self.heads,
            "init": self.scale,
            "lr": self.rate,
            "epoch": self.steps + 1,
            "trainset_size": PROMPTS,
            "seq_len": LENGTH + 1,
            "in_dim": FEATURES,
            "seed": seed,
        }
        return [word for name, value in fields.items() for word in (f"--{name}", str(value))]


CASES = (Case("merged", 8, 1e-3, 0.005, 600), Case("separate", 5, 0.2, 0.05, 1000))


class Theirs(NamedTuple):
    """One of their runs."""

    losses: np.ndarray
    data: dict
    first: list[np.ndarray]  # weights before training
    seconds: float
    cpu: float


def freeze_blocks(network: Any) -> None:
    """Keep the blocks of the separate form at zero that ours leaves out: the key weights of labels,
    and the value weights by which features write the label.
    """

    def zero(rows: slice, columns: slice) -> Any:
        def masked(gradient: Any) -> Any:
            gradient = gradient.clone()
            gradient[rows, columns] = 0
            return gradient

        return masked

    D = FEATURES
    network.key.weight.register_hook(zero(slice(None), slice(D, None)))
    network.value.weight.register_hook(zero(slice(D, None, D + 1), slice(D)))


def train(peer: Any, case: Case, seed: int, hold: bool = False) -> Theirs:
    """Run their script's steps, perhaps without the blocks that ours leaves out; seconds count
    their data too.
    """
    torch, history = peer.torch, {}
    peer.vis_loss = lambda _args, results: history.update(results)
    with contextlib.redirect_stdout(io.StringIO()):
        sys.argv = ["train.py", *case.arguments(seed)]
        args = peer.config().parse_args()
        torch.manual_seed(seed)
        peer.np.random.seed(seed)
        begun = time.perf_counter(), time.process_time()
        data = peer.gen_dataset(args)
        network = peer.creat_network(args)
        if hold:
            freeze_blocks(network)
        first = [p.detach().numpy().copy() for p in network.parameters()]
        peer.train(network, data, args)
    seconds, cpu = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return Theirs(history["Ls"], data, first, seconds, cpu)


def weights(case: Case, run: Theirs) -> model.Literal | model.Separate:
    """Their first weights as ours: the label comes first in our tokens and last in theirs."""
    H, D = case.heads, FEATURES
    v = run.first[-1].reshape(H, D + 1, D + 1)[:, D]
    if case.form == "separate":
        K, Q = (w.reshape(H, 1, D + 1)[:, :, :D] for w in run.first[:2])
        parameters = model.Separate(v[:, D], K, Q)
    else:
        U = run.first[0].reshape(H, D + 1, D + 1)[:, :D].transpose(0, 2, 1)
        parameters = model.Literal(np.roll(v, 1, axis=1), np.roll(U, 1, axis=1))
    return jax.tree.map(lambda w: jnp.asarray(case.unit * w, float), parameters)


def drawn(case: Case, seeds: int) -> model.Merged | model.Separate:
    """Independent first weights of their law, without the blocks that start at zero."""
    rng, H, D = np.random.default_rng(0), case.heads, FEATURES
    normal = lambda deviation, *shape: jnp.asarray(
        case.unit * case.scale * deviation * rng.normal(size=(seeds, *shape)), float
    )
    if case.form == "merged":
        return model.Merged(normal(1, H), normal(1, H, D, D))
    value, key = (H * (D + 1) ** 2) ** -0.5, (H * (D + 1)) ** -0.5
    return model.Separate(normal(value, H), normal(key, H, 1, D), normal(key, H, 1, D))


def same_run(case: Case, run: Theirs) -> dict[str, float]:
    """The largest relative difference of the losses of all steps."""
    x, y = (np.asarray(run.data[name], float) for name in "xy")
    D = FEATURES
    form = "literal" if case.form == "merged" else "separate"
    problem, _, config = ours.THEORY.given(
        x[:, :-1, :D],
        x[:, :-1, D],
        x[:, -1, :D],
        y[:, -1, D],
        **{name: getattr(case.config(form), name) for name in ("form", "heads", "learning_rate")},
    )
    start = jax.tree.map(lambda w: w[None], weights(case, run))
    sweep = jaxtheory.sweep(
        ours, config, steps=case.steps, record=1, start=start, problem=problem, dtype="float64"
    )
    curve = sweep.train_loss.values[0]
    off = np.abs(curve - run.losses) / run.losses
    return {"largest relative difference": float(off.max()), "at step": int(off.argmax())}


def over_seeds(case: Case, runs: list[Theirs], dataset: Any) -> dict[str, Any]:
    """Both means at the recorded steps, their distance in standard errors, and the share of their
    losses between the least and the largest of ours.
    """
    steps = dataset.step.values
    theirs, mine = np.array([run.losses[steps] for run in runs]), dataset.train_loss.values
    error = np.sqrt(sum(x.var(axis=0, ddof=1) / len(x) for x in (theirs, mine)))
    inside = (theirs >= mine.min(axis=0)) & (theirs <= mine.max(axis=0))
    return {
        "steps": steps.tolist(),
        "their mean": theirs.mean(axis=0).astype(float).round(3).tolist(),
        "our mean": mine.mean(axis=0).astype(float).round(3).tolist(),
        "our deviation": mine.std(axis=0, ddof=1).astype(float).round(3).tolist(),
        "standard errors": ((theirs.mean(axis=0) - mine.mean(axis=0)) / error).round(1).tolist(),
        "share inside": float(inside.mean()),
    }


def compare(peer: Any, case: Case, seeds: int) -> dict[str, Any]:
    """All three comparisons for a form of the layer."""
    config = case.config(case.form)
    arguments = {"seeds": RUNS, "steps": case.steps, "record": case.steps // RECORDS}
    arguments["start"] = drawn(case, RUNS)
    times: dict[str, list[tuple[float, float]]] = {"gd": [], "sgd": []}
    runs = []
    for key in range(seeds + 1):  # the first call of our sweep compiles
        for algorithm, durations in times.items():
            begun = time.perf_counter(), time.process_time()
            sweep = jaxtheory.sweep(ours, config, algorithm=algorithm, key=key, **arguments)
            durations.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
            if algorithm == "gd":
                dataset = sweep
        if key:
            runs.append(train(peer, case, key))
    peer_times = np.array([(run.seconds, run.cpu) for run in runs])
    seconds: dict[str, Any] = {"one of theirs": peer_times[:, 0].round(2).tolist()}
    for algorithm, durations in times.items():
        first, later = durations[0][0], np.array(durations[1:])
        least, cpu = RUNS * peer_times.min(axis=0) / later.min(axis=0)
        seconds[algorithm] = {
            "our 32": later[:, 0].round(2).tolist(),
            "compiling": round(first, 2),
            "ratio of the least": round(least, 1),
            "ratio of medians": round(float(np.median(RUNS * peer_times / later, axis=0)[0]), 1),
            "ratio of the least, compiling": round(RUNS * peer_times[:, 0].min() / first, 1),
            "ratio of the least CPU seconds": round(cpu, 1),
        }
    separate = case.form == "separate"
    return {
        **case._asdict(),
        "same run": same_run(case, runs[0]),
        **({"same run, held": same_run(case, train(peer, case, 1, hold=True))} if separate else {}),
        "over seeds": over_seeds(case, runs, dataset),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("code", type=Path, help="folder of the authors' code")
    parser.add_argument("--seeds", type=int, default=4, help="runs of theirs (default: 4)")
    parser.add_argument("--form", choices=[case.form for case in CASES], help="this form alone")
    options = parser.parse_args()
    if not (options.code / "train.py").is_file():
        parser.error(f"{options.code}: there is no train.py of linattn-icl in this folder")
    sys.path.insert(0, str(options.code))
    peer = importlib.import_module("train")
    for case in CASES:
        if options.form in (None, case.form):
            print(json.dumps(compare(peer, case, options.seeds)), flush=True)


if __name__ == "__main__":
    main()
