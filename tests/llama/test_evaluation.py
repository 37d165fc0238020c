"""Perplexity and bits per byte on another text, against sums over the logits in NumPy."""

import math

import jax
import numpy as np
import pytest

from jaxtheory import InputError, llama
from jaxtheory.cli import main
from jaxtheory.llama import text
from jaxtheory.llama.folder import prune_checkpoint

from .models import TEXT, folder, make, tokens

OTHER = "\n".join(f"Zeile {i}: größer → als {i * i} ✓" for i in range(12))
WINDOW = 16


def wide(weights):
    return jax.tree.map(lambda a: a.astype(np.float64), weights)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("evaluation")
    weights, config = make()
    narrow = folder(place / "narrow")
    llama.save(place / "dense", wide(weights), config, like=narrow)
    (place / "text.txt").write_text(TEXT)
    (place / "other.txt").write_text(OTHER)
    return place


def prune(place, to, **options):
    options = {"eval_text": place / "other.txt", "window": WINDOW, "evaluate": 2} | options
    return prune_checkpoint(
        place / "dense", to, place / "text.txt", attention="magnitude", samples=2, **options
    ).report


def summed(folder_of_model, stride, count=None):
    """Sum -log p token by token: the sum in nats, the number of tokens, and of bytes."""
    weights, config = llama.load(folder_of_model)
    assert weights.embedding.dtype == np.float64
    ids = text.encode(OTHER, folder_of_model)
    assert len(ids) == len(OTHER)  # a token per character
    nats, scored, size = 0.0, 0, 0
    for start in range(0, len(ids) - WINDOW + 1, stride)[:count]:
        for t in range(max(start + WINDOW - stride, start + 1), start + WINDOW):
            z = np.asarray(llama.logits(weights, ids[None, start:t], config))[0, -1]
            p = np.exp(z - z.max())
            nats -= np.log(p[ids[t]] / p.sum())
            scored += 1
            size += len(OTHER[t].encode())
    return nats, scored, size


@pytest.mark.parametrize(("stride", "windows"), [(None, None), (5, 7), (1, 3), (WINDOW - 1, 4)])
def test_values_are_those_of_a_sum_token_by_token(place, tmp_path, stride, windows):
    report = prune(place, tmp_path / "pruned", stride=stride, eval_windows=windows)
    for name, model in (("dense", place / "dense"), ("pruned", tmp_path / "pruned")):
        nats, scored, size = summed(model, stride or WINDOW, windows)
        row = report.sel(weights=name)
        assert (int(row.eval_tokens), int(row.eval_bytes)) == (scored, size)
        assert size > scored
        assert float(row.eval_perplexity) == pytest.approx(math.exp(nats / scored), rel=1e-10)
        bits = nats / math.log(2) / size
        assert float(row.eval_bits_per_byte) == pytest.approx(bits, rel=1e-10)


def test_a_stride_of_one_window_is_perplexity(place, tmp_path):
    report = prune(place, tmp_path / "pruned", stride=WINDOW)
    weights, config = llama.load(place / "dense")
    ids = text.encode(OTHER, place / "dense")
    side_by_side = ids[: len(ids) // WINDOW * WINDOW].reshape(-1, WINDOW)
    want = llama.perplexity(weights, side_by_side, config)
    assert float(report.eval_perplexity.sel(weights="dense")) == want
    with pytest.raises(AttributeError):
        _ = prune(place, tmp_path / "without", eval_text=None).eval_perplexity


def test_every_token_is_scored_once():
    for stride in (1, 3, 7):
        ids = np.arange(40)
        windows, last, size = text.scored_windows(ids, np.ones(40, int), 8, stride)
        targets = windows[:, -last:].ravel()
        np.testing.assert_array_equal(targets, np.arange(8 - stride, 8 - stride + len(targets)))
        assert size == len(targets)
        assert 40 - targets[-1] - 1 < stride  # the rest is shorter than one step


def test_bytes_of_characters_that_several_tokens_share(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    ids, sizes = text.encode_sizes("aé → 😀", tmp_path)
    np.testing.assert_array_equal(ids, text.encode("aé → 😀", tmp_path))
    # the space that the tokenizer puts in front shares the byte of the first character
    assert sizes.tolist() == [1, 0, 2, 0, 1, 3, 0, 0, 1, 4, 0, 0, 0]
    ids, sizes = text.encode_sizes("", tmp_path)
    assert len(ids) == len(sizes) == 0


def test_the_number_of_scored_tokens_of_perplexity():
    weights, config = make()
    for last in (0, 12):
        with pytest.raises(InputError, match=rf"last = {last}: must be an integer in \[1, 11\]"):
            llama.perplexity(weights, tokens(config), config, last=last)


def command(place, to, *words):
    argv = ["prune", place / "dense", "--to", to, "--text", place / "text.txt", "--samples", "2"]
    argv += ["--attention", "magnitude", "--window", WINDOW, "--evaluate", "2"]
    return main.main([str(word) for word in (*argv, *words)])


def test_the_command_prints_both(place, tmp_path, capsys):
    words = ("--eval-text", place / "other.txt", "--stride", "5", "--eval-windows", "7")
    assert command(place, tmp_path / "pruned", *words) == 0
    shown = capsys.readouterr().out
    nats, scored, size = summed(place / "dense", 5, 7)
    assert f"{scored} tokens with {size} bytes are scored" in shown
    assert f"{math.exp(nats / scored):.4f} before" in shown
    assert f"bits per byte  {nats / math.log(2) / size:.4f} before" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--eval-text", "nothing.txt"), "eval_text = nothing.txt: no such file"),
        (("--eval-text", "{}/short.txt"), "eval_text: has 3 tokens, fewer than a window of 16"),
        (("--eval-text", "{}/latin.txt"), "latin.txt: is not UTF-8"),
        (("--eval-text", "{}/other.txt", "--stride", "0"), "stride = 0: must be an integer in [1"),
        (("--eval-text", "{}/other.txt", "--stride", "17"), "stride = 17: must be an integer in"),
        (("--eval-text", "{}/other.txt", "--eval-windows", "0"), "eval_windows = 0: must be an"),
        (("--stride", "4"), "stride = 4: needs eval_text"),
        (("--eval-windows", "4"), "eval_windows = 4: needs eval_text"),
    ],
)
def test_mistakes_get_one_line_and_leave_nothing(place, tmp_path, capsys, words, message):
    (place / "short.txt").write_text("abc")
    (place / "latin.txt").write_bytes(b"\xe9" * 40)
    assert command(place, tmp_path / "pruned", *(word.format(place) for word in words)) == 2
    streams = capsys.readouterr()
    assert message in streams.err and streams.err.count("\n") == 1 and not streams.out
    assert not list(tmp_path.iterdir())


def test_windows_calibrate_on_the_first_four_fifths_and_evaluate_on_the_rest():
    numbers = np.arange(100)
    split = text.windows(numbers, 50, 5, 2, 0)
    np.testing.assert_array_equal(split.calibration - split.calibration[:, :1], [range(5)] * 50)
    assert split.calibration.min() >= 0 and 70 < split.calibration.max() < 80
    np.testing.assert_array_equal(split.heldout, [range(80, 85), range(95, 100)])
    full_split = text.windows(numbers, 50, 5, 9, 0)
    np.testing.assert_array_equal(full_split.heldout.ravel(), range(80, 100))
    np.testing.assert_array_equal(full_split.calibration, split.calibration)
    redraw = text.windows(numbers, 50, 5, 2, 1).calibration
    assert (redraw != split.calibration).any()


def test_folders_are_pruned_as_their_weights_and_windows_are(place, tmp_path, monkeypatch):
    """The key, the windows and the folder of finished layers reach `prune`; perplexities of both
    models are those on the held-out windows.
    """
    from jaxtheory.llama import pruning

    arguments, prune = {}, pruning.prune
    monkeypatch.setattr(pruning, "prune", lambda *a, **k: (arguments.update(k), prune(*a, **k))[1])
    summary = prune_checkpoint(
        place / "dense",
        tmp_path / "pruned",
        place / "text.txt",
        attention="magnitude",
        window=WINDOW,
        samples=3,
        evaluate=2,
        key=4,
    )
    assert arguments["key"] == 4 and arguments["keep"] == tmp_path / ".pruned-layers"
    windows = text.windows(text.encode(TEXT, place / "dense"), 3, WINDOW, 2, 4)
    weights, config = llama.load(place / "dense")
    pruned, report = prune(
        weights, windows.calibration, config, heldout=windows.heldout, attention="magnitude"
    )
    names = ("attention_error", "attention_error_heldout", "sparsity")
    for name in names:
        np.testing.assert_array_equal(summary.report[name], report[name])
    assert summary.before == llama.perplexity(weights, windows.heldout, config)
    assert summary.after == llama.perplexity(pruned, windows.heldout, config)
    assert summary.before != summary.after
    jax.tree.map(np.testing.assert_array_equal, llama.load(tmp_path / "pruned")[0], pruned)
