"""The picture of a sweep: lines, theory, last values and heat maps."""

import numpy as np
import pytest
import xarray as xr
from helpers.worked_example import THEORY, Config

from jaxtheory import InputError, plot, sweep
from jaxtheory.engine.results.summary import metrics
from jaxtheory.plotting.overview import _scale, _spread, chosen, picture


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    axes = {"learning_rate": [0.01, 0.03, 0.1], "noise": [0.1, 0.5]}
    return sweep(THEORY, Config(), vary=axes, seeds=2, steps=4)


def test_the_metric_is_the_first_or_a_known_one(data: xr.Dataset) -> None:
    known = metrics(data)
    assert known == ["loss", "rounded_loss"]
    assert chosen(known, None) == "loss" and chosen(known, "rounded_loss") == "rounded_loss"
    with pytest.raises(InputError, match="unknown metric 'los'; did you mean 'loss'"):
        chosen(known, "los")
    with pytest.raises(InputError, match="no scalar metric"):
        chosen([], None)


def test_one_axis_gives_lines_with_theory_and_last_values(data: xr.Dataset) -> None:
    figure = picture(data.isel(noise=[0]), "loss")
    curves_ax, final_ax = figure.axes
    named = [line.get_label() for line in curves_ax.lines if line.get_label()[:1] != "_"]
    dashed = [line for line in curves_ax.lines if line.get_linestyle() == "--"]
    assert named == ["eta = 0.01", "eta = 0.03", "eta = 0.1", "theory"]
    assert len(dashed) == 3 and curves_ax.get_xlabel() == "step"
    want = data.loss.isel(noise=0, step=-1).mean("seed").values
    np.testing.assert_allclose(final_ax.lines[0].get_ydata(), want)
    theory = data.predicted_loss.isel(noise=0, step=-1).mean("seed").values
    (dashed,) = (line for line in final_ax.lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(dashed.get_ydata(), theory)
    assert final_ax.get_xscale() == "log" and "learning_rate (eta)" in final_ax.get_xlabel()


def test_without_an_axis_there_is_one_line(data: xr.Dataset) -> None:
    (panel,) = picture(data.isel(noise=[0], learning_rate=[0]), "rounded_loss").axes
    assert panel.lines[0].get_label() == "rounded_loss"


def test_two_axes_give_a_heat_map_beside_the_theory_s(data: xr.Dataset) -> None:
    figure = picture(data, "loss")
    plot.add_caption(figure)
    panels = [ax for ax in figure.axes if ax.get_xlabel()]
    assert [ax.get_title() for ax in panels] == ["simulation", "theory"]
    assert {ax.get_xlabel() for ax in panels} == {"noise (sigma)"}
    assert [ax.get_ylabel() for ax in panels] == ["learning_rate (eta)", ""]
    assert len({ax.collections[0].get_clim() for ax in panels}) == 1  # one scale of colors
    want = data.loss.isel(step=-1).mean("seed").transpose("learning_rate", "noise").values
    np.testing.assert_allclose(panels[0].collections[0].get_array(), want)


@pytest.mark.filterwarnings("error")
def test_runs_that_all_diverged_leave_the_picture_blank(data: xr.Dataset) -> None:
    lost = data.drop_vars("predicted_loss").assign(diverged_at=data.diverged_at * 0)
    (panel, _) = picture(lost, "loss").axes
    assert np.ma.getmaskarray(panel.collections[0].get_array()).all()
    assert picture(lost.assign(loss=data.loss * np.nan).isel(noise=[0]), "loss").axes


def test_of_three_axes_the_title_says_where_the_third_stands(data: xr.Dataset) -> None:
    three = xr.concat([data, data], "third").assign_coords(third=[7, 8])
    three = three.transpose("learning_rate", "noise", "third", ...)
    assert picture(three, "loss").get_suptitle().startswith("linear_regression: loss, third = 7\n")


@pytest.mark.parametrize(
    ("values", "spaced", "logarithmic"),
    [
        ([0.1, 1, 10], True, True),
        ([1, 2, 5, 10, 20], True, True),
        ([1, 2, 3, 4], True, False),
        ([0, 1, 10], True, False),
        ([1, 10], True, False),
        ([0.001, 1.0, np.nan], False, True),
        ([0.5, 1.0, 2.0], False, False),
        ([np.nan], False, False),
    ],
)
def test_scales(values: list[float], spaced: bool, logarithmic: bool) -> None:
    assert bool(_scale("x", np.array(values, float), spaced)) == logarithmic


def test_many_values_have_seven_lines() -> None:
    assert _spread(3) == [0, 1, 2] and len(_spread(50)) == 7 and _spread(50)[-1] == 49


def test_a_metric_with_dimensions_is_not_unknown(tmp_path, capsys):
    from jaxtheory.cli.main import main

    words = ["sweep", "attention_pruning", "--steps", "1", "--store", str(tmp_path / "s")]
    assert main([*words, "--plot", "relative_error"]) == 2
    said = capsys.readouterr().err
    assert "relative_error has the further dimension pruner" in said and "attention_loss" in said
    assert not (tmp_path / "s").exists()
