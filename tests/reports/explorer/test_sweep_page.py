"""The page of a sweep in Chromium, by real clicks and keys: what it shows is what the data say."""

import contextlib
import csv
import io
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.browser import CONTRAST, OVERFLOW, chromium, emulate, errors, schemes, until
from helpers.explored import HOSTILE, L1, NOISE, PRUNERS, RATES, explorer_dataset, hostile
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from jaxtheory.reports.explorer import sweep_page as pages
from jaxtheory.reports.explorer.content import whole_sweep
from jaxtheory.reports.explorer.sweep_page import as_script, page

DATA = explorer_dataset()
FOCUS = """const e = document.activeElement, style = getComputedStyle(e);
return [e.id || e.tagName, style.outlineStyle, parseFloat(style.outlineWidth)];"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The folder of the page, which is also that of downloads."""
    folder = tmp_path_factory.mktemp("explored")
    (folder / "made.html").write_text(page(whole_sweep("made", DATA)))
    return folder


class Shown:
    """The page in the browser, with its controls by the texts of their labels."""

    def __init__(self, browser, folder):
        self.browser, self.folder = browser, folder
        down = {"behavior": "allow", "downloadPath": str(folder)}
        browser.execute_cdp_cmd("Browser.setDownloadBehavior", down)

    def open(self, fragment="#variable=loss", file="made.html"):
        self.browser.get("about:blank")
        self.browser.get((self.folder / file).as_uri() + fragment)
        until(self.drawn)

    def drawn(self):
        return int(self.script("return document.documentElement.dataset.drawn ?? 0"))

    def is_finished(self):
        """True once the page says nothing of missing runs; None while it is being loaded."""
        with contextlib.suppress(WebDriverException):
            return self.script("return document.getElementById('state').hidden") and self.drawn()

    def script(self, text, *words):
        return self.browser.execute_script(text, *words)

    def find(self, id):
        return self.browser.find_element("id", id)

    def after(self, act):
        """Do something after which the picture is drawn again."""
        before = self.drawn()
        act()
        until(lambda: self.drawn() > before)

    def choose(self, id, text):
        self.after(lambda: Select(self.find(id)).select_by_visible_text(text))

    def click(self, id):
        self.after(self.find(id).click)

    def options(self, id):
        return [option.text for option in Select(self.find(id)).options]

    def slider(self, label):
        """The slider of a dimension."""
        labels = self.browser.find_elements("css selector", "#adjust label[for^=at-]")
        (match,) = [one for one in labels if one.text.startswith(label)]
        return self.find(match.get_attribute("for"))

    def table(self):
        """Rows of the CSV file that the button saves."""
        for old in self.folder.glob("*.csv"):
            old.unlink()
        self.find("csv").click()
        (file,) = until(lambda: list(self.folder.glob("*.csv")))
        until(file.stat)
        text = until(lambda: file.read_bytes().decode())
        return list(csv.DictReader(io.StringIO(text, newline="")))

    def legend(self):
        return [x.text for x in self.browser.find_elements("css selector", "#legend li")]

    def notes(self):
        return [x.text for x in self.browser.find_elements("css selector", "#notes li")]

    def traces(self):
        """Kind, dashes and number of finite values of what is drawn."""
        return self.script(
            "return document.getElementById('plot').data.map(t => [t.type, t.line?.dash ?? '',"
            "(t.z ? t.z.flatMap(r => [...r]) : t.y).filter(Number.isFinite).length])"
        )


@pytest.fixture
def shown(browser, place):
    emulate(browser)
    browser.get_log("browser"), browser.get_log("performance")
    return Shown(browser, place)


def close(rows, column, wanted):
    numbers = [float(row[column] or "nan") for row in rows]
    np.testing.assert_allclose(numbers, np.asarray(wanted).ravel(), rtol=2e-7)


def test_the_loss_is_first_with_bands_and_the_theory(shown):
    shown.open()
    assert shown.find("name").text == "made_up: made"
    facts = shown.find("facts").text
    assert facts == "key 7, 72 runs (12 points, 6 seeds each), 10 diverged (14 %)."
    assert Select(shown.find("metric")).first_selected_option.text == "loss"
    assert shown.find("meaning").text == "mean squared error"
    legend = shown.legend()
    assert legend[:2] == ["learning_rate = 0.1", "learning_rate = 0.3"]
    assert legend[3] == "learning_rate = 3 (6 of 6 runs diverged)"
    assert legend[-1] == "theory: flow (mean over the seeds)"
    dashes = [dash for _, dash, _ in shown.traces()]
    assert dashes.count("dash") == 4
    assert "Shown at l1 = 0." in shown.notes()
    assert any(
        note.startswith("6 of the 24 runs of this picture diverged") for note in shown.notes()
    )


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_the_table_has_means_quantiles_and_the_theory(shown):
    shown.open()
    rows = shown.table()
    loss = DATA.loss.isel(l1=0)
    assert len(rows) == 4 * 21
    assert list(rows[0])[:4] == ["learning_rate", "l1", "noise", "step"]
    assert {row["noise"] for row in rows} == {"low"}
    close(rows, "loss mean", loss.mean("seed"))
    close(rows, "loss 5 %", loss.quantile(0.05, "seed"))
    close(rows, "loss 95 %", loss.quantile(0.95, "seed"))
    close(rows, "seeds with a value", loss.notnull().sum("seed"))
    close(rows, "predicted_loss_flow", DATA.predicted_loss_flow.isel(l1=0, seed=0))
    close(rows, "step", np.tile(DATA.step, 4))


def test_seeds_axes_colors_and_scales_are_chosen(shown):
    shown.open()
    shown.click("seeds-each")
    rows = shown.table()
    close(rows, "loss", DATA.loss.isel(l1=0))  # NaN are gaps
    close(rows, "seed", np.tile(np.repeat(np.arange(6), 21), 4))
    assert "last value of a run that diverged" in shown.legend()
    assert [t for t in shown.traces() if t[2] == 6 and not t[1]]  # a cross for each of six
    shown.after(lambda: shown.slider("l1").send_keys(Keys.ARROW_RIGHT))
    assert "Shown at l1 = 0.1." in shown.notes()
    close(shown.table(), "loss", DATA.loss.isel(l1=1))
    shown.click("seeds-one")
    shown.after(lambda: shown.slider("seed").send_keys(Keys.END))
    close(shown.table(), "loss", DATA.loss.isel(l1=1, seed=5))
    shown.click("seeds-mean")
    shown.choose("x", "learning_rate (eta)")
    assert shown.find("logx").is_selected()  # its values are evenly spaced in ratio
    assert Select(shown.find("color")).first_selected_option.text == "l1"  # the other axis
    assert shown.legend()[0].startswith("l1 = 0 (6 of 24 runs diverged)")
    close(shown.table(), "loss mean", DATA.loss.isel(step=-1).mean("seed").T)
    shown.after(lambda: shown.slider("step").send_keys(Keys.HOME))
    close(shown.table(), "loss mean", DATA.loss.isel(step=0).mean("seed").T)
    types = "const l = document.getElementById('plot').layout; return [l.xaxis.type, l.yaxis.type]"
    assert shown.script(types) == ["log", "linear"]
    shown.click("logx")
    shown.click("logy")
    assert shown.script(types) == ["linear", "log"]
    shown.choose("color", "nothing")
    assert len(shown.table()) == 4
    shown.click("theory")
    assert "predicted_loss_flow" not in shown.table()[0]
    assert all(not dash for _, dash, _ in shown.traces())


def test_a_logarithmic_axis_says_what_is_missing_on_it(shown):
    shown.open("#variable=params_W&view=curves&seeds=one&logx=1&logy=1")
    drawn = DATA.params_W[:, 0, 0, :, 0, 0]
    missing = f"axis: {int((drawn <= 0).sum())} of {drawn.size} values."
    assert f"Not positive, so missing on the logarithmic vertical {missing}" in shown.notes()
    beyond = "axis: 1 of 21 values of step."
    assert f"Not positive, so missing on the logarithmic horizontal {beyond}" in shown.notes()
    assert shown.traces()[0][2] == 20  # of the first curve


def test_a_heat_map_shows_two_axes_at_a_step(shown):
    shown.open()
    shown.click("views-map")
    rows = shown.table()
    close(rows, "loss mean", DATA.loss.isel(step=-1).mean("seed").T)
    assert [row["l1"] for row in rows[:4]] == ["0"] * 4
    assert "1 of 12 cells are empty: they have no value." in shown.notes()
    kind, _, values = shown.traces()[0]
    assert (kind, values) == ("heatmap", 11)
    assert shown.traces()[1][2] == 3  # crosses where runs diverged
    shown.choose("rows", "learning_rate (eta)")  # which was horizontal: they change places
    close(shown.table(), "loss mean", DATA.loss.isel(step=-1).mean("seed"))
    shown.choose("rows", "step (t)" if "step (t)" in shown.options("rows") else "step")
    close(shown.table(), "loss mean", DATA.loss.mean("seed").isel(learning_rate=0).T)


def test_weights_are_images_with_a_slider_over_steps(shown):
    shown.open()
    shown.choose("metric", "params_W")
    assert shown.find("views-map").is_selected() and shown.find("seeds-one").is_selected()
    weights = DATA.params_W.isel(l1=0, seed=0)  # one map for each learning rate
    close(shown.table(), "params_W", weights.isel(step=-1))
    shown.after(lambda: shown.slider("step").send_keys(Keys.HOME))
    shown.after(lambda: shown.slider("seed").send_keys(Keys.ARROW_RIGHT))
    close(shown.table(), "params_W", DATA.params_W[:, 0, 1, 0])
    top = shown.script("return document.getElementById('plot').layout.yaxis.range")
    assert top[0] > top[1]  # row 0 is above
    shown.choose("metric", "attention")
    shown.click("seeds-mean")
    close(shown.table(), "attention mean", DATA.attention[:, 0, :, 0].mean("seed"))
    shown.click("views-curves")
    shown.after(lambda: shown.slider("query").send_keys(Keys.END))
    assert "query = 5" in shown.notes()[0]


def test_labels_that_are_texts_are_selected(shown):
    shown.open()
    shown.choose("metric", "error")
    assert "pruner" in shown.options("x")
    shown.choose("x", "l1")
    (pruner,) = (e for e in shown.browser.find_elements("css selector", "#adjust select[id^=at-]"))
    assert [option.text for option in Select(pruner).options] == PRUNERS
    shown.after(lambda: Select(pruner).select_by_visible_text("gradient"))
    close(shown.table(), "error mean", DATA.error.mean("seed")[:, :, 2])


def test_a_link_restores_the_view(shown):
    shown.open()
    shown.choose("metric", "attention")
    shown.choose("rows", "l1")
    shown.choose("panels", "nothing")
    shown.click("seeds-one")
    shown.after(lambda: shown.slider("seed").send_keys(Keys.ARROW_RIGHT))
    shown.after(lambda: shown.slider("step").send_keys(Keys.ARROW_LEFT))
    shown.after(lambda: shown.slider("learning_rate").send_keys(Keys.END))
    shown.click("logy")
    shown.click("shade")
    url, rows = shown.browser.current_url, shown.table()
    fragment = shown.find("link").get_attribute("href").partition("#")[2]
    assert url.endswith(f"#{fragment}")
    notes, log = shown.notes(), shown.find("logy").is_selected()
    shown.open(f"#{fragment}")
    assert (shown.table(), shown.notes(), shown.browser.current_url) == (rows, notes, url)
    assert shown.find("logy").is_selected() == log
    assert shown.script("return document.documentElement.dataset.theme") == "dark"
    shown.after(lambda: shown.script("location.hash = 'variable=error&seeds=each'"))
    assert "error" in shown.table()[0]
    shown.open("#variable=nothing&x=nowhere&at.l1=17&zoom=1,2&seeds=many")  # of another dataset
    assert Select(shown.find("metric")).first_selected_option.text == "loss"
    assert errors(shown.browser) == []


def test_the_mouse_and_the_keys_find_values(shown):
    shown.open("#variable=loss&seeds=one&at.seed=1")
    picture = shown.find("picture")
    picture.click()
    ActionChains(shown.browser).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    tip = shown.find("tip")
    lines = tip.text.splitlines()
    assert lines[0].startswith("loss = ") and "step = 5" in lines and "seed = 1" in lines
    assert float(lines[0].split()[2]) == pytest.approx(DATA.loss[0, 0, 1, 1].item(), rel=1e-4)
    assert any(line.startswith("theory: flow: ") for line in lines)
    ActionChains(shown.browser).send_keys(Keys.ARROW_UP).perform()
    assert "learning_rate = 3" in tip.text and "this run diverged at step 30" in tip.text
    assert "l1 = 0, noise = low" in tip.text
    ranges = "const l = document.getElementById('plot').layout; return l.xaxis.range"
    shown.after(lambda: ActionChains(shown.browser).send_keys("+").perform())
    low, high = shown.script(ranges)
    assert 0 < low < high < 100
    assert "zoom=" in shown.browser.current_url
    shown.open("#" + shown.browser.current_url.partition("#")[2])
    assert shown.script(ranges) == pytest.approx([low, high], rel=1e-4)
    shown.click("whole")
    assert "zoom=" not in shown.browser.current_url
    shown.click("views-map")
    ActionChains(shown.browser).move_to_element(shown.find("plot")).perform()
    text = until(lambda: shown.find("tip").text)
    assert text.startswith("loss = ")  # of the one seed
    assert any(f"noise = {name}" in text for name in NOISE)


def scale(shown):
    """Ends of the colors, and the color of their middle."""
    return shown.script(
        "const c = document.getElementById('plot')._fullLayout.coloraxis;"
        "return [c.cmin, c.cmax, c.colorscale[2][1]]"
    )


def focus(shown):
    """The picture with the focus, and the mouse elsewhere."""
    ActionChains(shown.browser).move_to_element(shown.find("name")).perform()
    shown.script("document.getElementById('picture').focus()")
    return shown.find("picture")


def write(shown, name, data):
    """Write the page of a dataset beside that of the others."""
    (shown.folder / name).write_text(page(whole_sweep(name, data)))


def test_it_opens_at_the_disagreement(shown):
    shown.open("")
    place = "loss, learning_rate = 3, l1 = 0.2."
    assert shown.find("opening").text == f"Farthest from its theory at the last step: {place}"
    assert "Shown at l1 = 0.2." in shown.notes()
    assert "theory: flow (mean over the seeds)" in shown.legend()
    shown.choose("metric", "error")
    shown.after(lambda: shown.find("opening").find_element("css selector", "a").click())
    assert Select(shown.find("metric")).first_selected_option.text == "loss"
    write(shown, "bare.html", DATA.drop_vars("predicted_loss_flow"))
    shown.open("", "bare.html")
    assert shown.find("opening").text == "" and "Shown at l1 = 0." in shown.notes()


def test_colors_mean_the_same_at_all_steps(shown):
    for name, seed in (("params_W", "one"), ("attention", "mean")):
        shown.open(f"#variable={name}&seeds={seed}")
        whole = DATA[name].isel(l1=0)
        whole = whole.isel(seed=0) if seed == "one" else whole.mean("seed")
        least, most, middle = scale(shown)
        if name == "params_W":  # signed, so around 0
            assert (most, middle) == (pytest.approx(float(abs(whole).max())), "#f7f7f7")
            assert least == -most
        else:
            assert [least, most] == pytest.approx([float(whole.min()), float(whole.max())])
        shown.after(lambda: shown.slider("step").send_keys(Keys.HOME))
        assert scale(shown)[:2] == [least, most]


def test_a_matrix_has_its_own_shape(shown):
    place = xr.DataArray(np.arange(6), dims="row"), xr.DataArray(np.arange(6), dims="column")
    small = (place[0] < 4) & (place[1] < 3)  # at the first learning rate
    padded = DATA.params_W.where((DATA.learning_rate > 0.1) | small)
    write(shown, "padded.html", DATA.assign(params_W=padded))
    shown.open("#variable=params_W", "padded.html")
    ranges = shown.script(
        "const l = document.getElementById('plot').layout;"
        "return [l.xaxis, l.yaxis, l.xaxis2, l.yaxis2].map(a => a.range)"
    )
    assert ranges == [[-0.5, 2.5], [3.5, -0.5], [-0.5, 5.5], [5.5, -0.5]]
    assert len(shown.table()) == 12 + 3 * 36 and not any("empty" in n for n in shown.notes())


def test_maps_stand_side_by_side(shown):
    draw = np.random.default_rng(0)
    maps = ("seed", "step", "head", "query", "key"), draw.random((6, 21, 14, 3, 3))
    write(shown, "heads.html", DATA.assign(attention=maps))
    for width in (1280, 390):
        emulate(shown.browser, width)
        shown.open("#variable=attention", "heads.html")
        titles = (
            "return [...document.querySelectorAll('#plot .annotation')].map(e => e.textContent)"
        )
        heads = [f"head = {k}" for k in (0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 12, 13)]
        assert shown.script(titles) == heads
        assert "12 of 14 values of head are drawn." in shown.notes()
        assert shown.script(OVERFLOW) <= 0
    assert len(shown.table()) == 12 * 9
    picture = focus(shown)
    picture.send_keys(*[Keys.ARROW_RIGHT] * 4)  # from map to map
    assert "head = 1" in shown.find("tip").text and "key = 0" in shown.find("tip").text
    shown.after(lambda: picture.send_keys("+"))
    zooms = shown.script(
        "const l = document.getElementById('plot').layout; return [l.xaxis.range, l.xaxis7.range]"
    )
    assert zooms[0] == zooms[1] and zooms[0][0] > -0.5
    shown.choose("panels", "nothing")
    assert len(shown.table()) == 9 and shown.slider("head")


def test_a_click_on_a_cell_opens_its_curves(shown):
    shown.open("#variable=loss&view=map")
    mouse = ActionChains(shown.browser)
    mouse.move_to_element_with_offset(shown.find("plot"), 80, 40).perform()
    tip = until(lambda: shown.find("tip").text).splitlines()
    rate, l1 = (float(line.partition(" = ")[2].partition(",")[0]) for line in tip[2:4])
    cell = DATA.loss.sel(learning_rate=rate, l1=l1)
    shown.after(lambda: mouse.click().perform())
    assert shown.find("views-curves").is_selected()
    close(shown.table(), "loss mean", cell.mean("seed"))
    shown.click("seeds-each")
    close(shown.table(), "loss", cell)
    shown.click("back")
    assert shown.find("views-map").is_selected() and len(shown.table()) == 12
    assert not shown.browser.find_elements("id", "back")
    shown.open("#variable=loss&view=map")
    picture = focus(shown)
    picture.send_keys(*[Keys.ARROW_RIGHT] * 4)  # the diverged cell has no value, but curves
    assert "6 of 6 runs diverged" in shown.find("tip").text
    shown.after(lambda: picture.send_keys(Keys.ENTER))
    assert shown.legend()[0] == "loss (6 of 6 runs diverged)"
    shown.after(shown.browser.back)
    assert shown.find("views-map").is_selected()


def test_without_steps_a_cell_opens_the_curves_of_the_loss(shown):
    shown.open("#variable=error&view=map&rows=l1&columns=learning_rate")
    picture = focus(shown)
    picture.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    shown.after(lambda: picture.send_keys(Keys.ENTER))
    close(shown.table(), "loss mean", DATA.loss[1, 0].mean("seed"))


def test_steps_are_played(shown):
    shown.open("#variable=loss&view=map")
    means = DATA.loss.mean("seed")
    ends = [float(means.min()), float(means.max())]
    assert scale(shown)[1] < ends[1]  # of the last step
    button = shown.find("play")
    shown.after(button.click)
    assert button.text == "Pause" and scale(shown)[:2] == pytest.approx(ends)
    until(lambda: shown.slider("step").get_attribute("value") != "0")
    shown.after(button.click)
    stopped = shown.slider("step").get_attribute("value")
    time.sleep(1)
    assert button.text == "Play" and shown.slider("step").get_attribute("value") == stopped
    button.click()
    until(lambda: button.text == "Play")
    assert shown.slider("step").get_attribute("value") == "20"
    button.click()
    shown.choose("rows", "step")  # which ends it
    assert shown.script("return player") == 0


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_the_difference_to_the_theory(shown):
    shown.open()
    shown.click("minus-0")
    gap = DATA.loss - DATA.predicted_loss_flow
    rows, name = shown.table(), "loss minus theory: flow"
    of = lambda array: pytest.approx(array.isel(l1=0).values.ravel(), abs=1e-6, nan_ok=True)
    column = lambda title: [float(row[title] or "nan") for row in rows]
    assert column(f"{name} mean") == of(gap.mean("seed"))
    assert column(f"{name} 5 %") == of(gap.quantile(0.05, "seed"))
    assert column(f"{name} 95 %") == of(gap.quantile(0.95, "seed"))
    assert not shown.browser.find_elements("id", "theory")
    shown.click("views-map")
    least, most, middle = scale(shown)
    assert least == -most and middle == "#f7f7f7"
    assert most == pytest.approx(float(abs(gap.mean("seed").isel(step=-1)).max()), abs=1e-6)
    shown.open("#" + shown.browser.current_url.partition("#")[2])
    assert shown.find("minus-0").is_selected() and name in shown.table()[0].popitem()[0]
    shown.click("minus-0")
    close(shown.table(), "loss mean", DATA.loss.isel(step=-1).mean("seed").T)


def test_four_numbers_have_ordered_colors_and_short_labels(shown):
    rates = [1 / 30, 1 / 3, 1.0, 3.0]
    write(shown, "thirds.html", DATA.assign_coords(learning_rate=rates))
    colors = "return drawn.legend.slice(0, 4).map(item => item.color)"
    shown.open("#variable=loss", "thirds.html")
    assert [text.split()[2] for text in shown.legend()[:4]] == ["0.0333", "0.333", "1", "3"]
    lights = [sum(map(int, c[4:-1].split(","))) for c in shown.script(colors)]
    assert lights == sorted(lights)
    close(shown.table()[::21], "learning_rate", rates)  # with all of their digits
    shown.open("#variable=error&x=l1&color=pruner", "thirds.html")
    assert all(color.startswith("#") for color in shown.script(colors)[:3])


def test_the_image_is_saved(shown):
    shown.open()
    shown.find("png").click()
    (file,) = until(lambda: list(shown.folder.glob("*.png")))
    content = until(lambda: file.read_bytes() if file.stat().st_size > 10000 else b"")
    assert content.startswith(b"\x89PNG")
    assert int.from_bytes(content[16:20], "big") == 2200


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_is_readable(width, dark, shown):
    emulate(shown.browser, width, dark)
    for view in ("", "#seeds=each", "#view=map", "#variable=params_W", "#variable=error&x=pruner"):
        shown.open(view)
        shown.browser.find_element("css selector", "summary").click()
        assert shown.script(OVERFLOW) <= 0, view
        ratio, text = shown.script(CONTRAST)
        assert ratio >= 4.5, text
        inside = "const r = document.getElementById('plot').getBoundingClientRect(); return r.right"
        assert shown.script(inside) <= width


def test_light_and_dark(shown):
    color = lambda: shown.script("return getComputedStyle(document.body).backgroundColor")
    shown.open()
    light = color()
    shown.click("shade")
    dark = color()
    assert light != dark and "theme=dark" in shown.browser.current_url
    paper = shown.script("return document.getElementById('plot').layout.paper_bgcolor")
    assert tuple(int(paper[k : k + 2], 16) for k in (1, 3, 5)) == tuple(
        map(int, dark.removeprefix("rgb(").removesuffix(")").split(","))
    )
    emulate(shown.browser, dark=True)
    shown.open()
    assert color() == dark


def test_every_control_has_a_name_and_is_reached_by_tab_with_a_visible_focus(shown):
    shown.open("#variable=attention&view=curves")
    controls = shown.browser.find_elements("css selector", "main select, main input, main button")
    assert len(controls) > 12
    assert [c.get_attribute("id") for c in controls if not c.accessible_name] == []
    wanted = {c.get_attribute("id") for c in controls if c.get_attribute("type") != "radio"}
    wanted |= {"picture", "link", "skip", "views-curves", "seeds-one"} - {"seeds-one"}
    outlines = {}
    for _ in range(40):
        ActionChains(shown.browser).send_keys(Keys.TAB).perform()
        name, style, width = shown.script(FOCUS)
        outlines[name] = style != "none" and width >= 2
    assert wanted <= outlines.keys()
    assert [name for name in wanted if not outlines[name]] == []


def test_no_error_and_no_request(shown):
    shown.open()
    shown.click("views-map")
    shown.click("seeds-one")
    shown.find("csv").click()
    shown.find("png").click()
    until(lambda: list(shown.folder.glob("*.png")))
    assert errors(shown.browser) == []
    assert schemes(shown.browser) <= {"file", "data", "blob", "about"}
    text = (shown.folder / "made.html").read_text()
    assert "default-src 'none'" in text.replace("&#39;", "'")
    assert text.isascii()


def test_a_request_would_be_refused(shown):
    """The policy of the page, not the care of its script, keeps it from the network."""
    shown.open()
    shown.script(
        "fetch('http://127.0.0.1:9/').catch(() => {}); new Image().src = 'http://127.0.0.1:9/x';"
    )
    assert until(lambda: [e for e in errors(shown.browser) if "Content Security Policy" in e])


def test_hostile_names_are_texts(shown):
    data = hostile()
    (shown.folder / "hostile.html").write_text(page(whole_sweep(HOSTILE[0], data)))
    shown.open(file="hostile.html")
    scripts = "return document.querySelectorAll('script:not([type])').length"
    assert shown.script("return window.hacked ?? null") is None
    assert shown.script(scripts) == 2  # that of the page, and the library
    assert shown.find("name").text == f"{HOSTILE[0]}: {HOSTILE[0]}"
    names = shown.script("return variables.map(v => v.name)")
    assert names == [
        *sorted(map(str, data.data_vars), key=lambda n: (n.startswith("predicted"), n))
    ]
    shown.choose("metric", HOSTILE[4])
    shown.choose("metric", HOSTILE[0])
    assert shown.script("return drawn.predictions.map(p => p.label)") == [HOSTILE[4]]
    for view in ("views-map", "views-curves"):
        shown.click(view)
        ActionChains(shown.browser).move_to_element(shown.find("plot")).perform()
        shown.find("picture").send_keys(Keys.ARROW_RIGHT)
    shown.click("seeds-one")
    rows = shown.table()
    assert {row["__proto__"] for row in rows} <= {HOSTILE[0], "'=1+1"}
    assert "'=1+1" in {row["__proto__"] for row in rows}  # which no spreadsheet computes
    shown.find("png").click()
    emulate(shown.browser, 390)
    assert shown.script(OVERFLOW) <= 0
    fragment = "#" + shown.browser.current_url.partition("#")[2]
    shown.open(fragment, "hostile.html")
    assert shown.table() == rows
    assert shown.script("return window.hacked ?? null") is None
    assert shown.script("return document.querySelectorAll('body img').length") == 0
    assert errors(shown.browser) == []


def test_an_unfinished_page_follows_until_the_sweep_is_finished(shown):
    part = DATA.where(DATA.learning_rate < 1)
    running = whole_sweep("live", part)._replace(finished=36, refresh=1.0)
    file = shown.folder / "live.html"
    file.write_text(page(running))
    shown.open("#seeds=each&color=l1", "live.html")
    assert "Unfinished: 36 of 72 runs are there." in shown.find("state").text
    shown.find("reloads").click()  # no more
    file.write_text(page(whole_sweep("live", DATA)))
    time.sleep(2.5)
    assert "Unfinished" in shown.find("state").text
    shown.find("reloads").click()
    until(shown.is_finished)
    assert shown.find("seeds-each").is_selected() and len(shown.table()) == 3 * 6 * 21


def test_a_page_without_a_run_waits(shown):
    empty = whole_sweep("live", DATA)._replace(data=DATA.drop_vars(DATA.data_vars), finished=0)
    (shown.folder / "empty.html").write_text(page(empty._replace(refresh=600.0)))
    shown.browser.get((shown.folder / "empty.html").as_uri())
    assert until(lambda: shown.find("picture").text) == "No run is finished yet."
    assert not shown.find("adjust").is_displayed() and errors(shown.browser) == []


def test_the_page_is_bounded(monkeypatch):
    monkeypatch.setattr(pages, "LARGEST", 2_200_000)
    draw = np.random.default_rng(0)
    big = DATA.drop_vars(["params_W", "attention"]).assign(
        noise_map=(("learning_rate", "seed", "step", "i", "j"), draw.random((4, 6, 21, 20, 20)))
    )
    text = page(whole_sweep("big", big))
    assert len(text) <= 2_200_000
    assert "i thinned to" in text
    monkeypatch.setattr(pages, "LARGEST", 10_000_000)
    assert "thinned to" not in page(whole_sweep("big", big))


def test_nothing_in_json_ends_the_script():
    text = as_script({"</script>": "<!-- & ' \u2028 \ud800"})
    assert text.isascii() and not set("<>&'") & set(text)
    assert RATES and L1 and Path(pages.__file__).with_name("main.js").read_text().isascii()
