"""The face of plotting: what a figure uses stands there, and nothing else."""

from jaxtheory import plot


def test_the_public_names_are_there_and_documented():
    for name in {*plot.__all__} - {"optimizers"}:  # a module
        assert (getattr(plot, name).__doc__ or "").count("Example:") == 1, name
    assert {"heat", "lines", "series", "panels", "caption", "numbers"} <= set(plot.__all__)
    assert len(plot.COLORS) == len(plot.MARKERS) == 7 and plot.WIDTH == 6.7


def test_drawings_of_several_modules_share_one_caption():
    figure, ((ax,),) = plot.panels()
    plot.theory(ax, None, 0.5, "limit")
    plot.remark(figure, "Marks: one per run.")
    assert plot.caption(figure) == "Dashed: limit. Marks: one per run."
