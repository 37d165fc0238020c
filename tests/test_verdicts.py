"""The pages of verdicts, the gallery, the theories' pages and the README are made from
docs/verdicts.json and the code, agree with the report, and lead to what is there.
"""

import gzip
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jaxtheory
from jaxtheory.claims import Judged
from jaxtheory.claims.judged import judge_numbers
from jaxtheory.claims.verdict import Verdict
from jaxtheory.reports import report_page as report
from jaxtheory.reports import run_files, tally, wording

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
in_git = pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("git"), reason="not a checkout"
)


def loaded(name):
    """A module of the folder docs, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MODULES = ("findings", "evidence", "pictures", "front", "ladders", "replicates", "verdict_map")
findings, evidence, pictures, front, ladders, replicates, verdict_map = map(loaded, MODULES)
verdicts = loaded("verdicts")
HOLDS = (True, False, None, True, True)
TEXTS = ("question", "source", "store", "command", "setup", "model", "drawn")
RECORD = dict.fromkeys(TEXTS, "") | {"runs": {}, "versions": {}, "files": {}}
RECORD |= {"key": 0, "quick": False, "seconds": 1.0, "gradient": None, "stores": []}


@pytest.fixture
def store(tmp_path):
    """Records of all figures of theories, with verdicts of every kind."""
    by_figure = {}
    known = jaxtheory.theories.names()
    for place, (name, entry) in enumerate(evidence.entries().items()):
        if entry.room not in known:
            continue
        verdict = Verdict(HOLDS[place % 5], 0.25, "[0.1, 0.2]", 8, 7, interval=(0.2, 0.3))
        missing = "" if place % 7 else "not tested"
        judged = Judged(entry.claim, verdict if place % 7 else None, missing)
        by_figure.setdefault(entry.figure, {})[name] = run_files.record_claim(judged)
    theories = jaxtheory.figures.entries()
    for figure, claims in by_figure.items():
        content = RECORD | {
            "figure": figure,
            "theory": theories[figure].theory,
            "command": f"jaxtheory run {figure} --until-decided",
            "claims": claims,
        }
        (tmp_path / f"{figure}.json").write_text(json.dumps(content))
    return tmp_path


def found_in(store):
    """What `verdicts.collect` would keep of these records."""
    all_records = [json.loads(file.read_text()) for file in store.glob("*.json")]
    claims = {name: x for record in all_records for name, x in record["claims"].items()}
    figures = {r["figure"]: {"command": r["command"], "setup": "", "key": 0} for r in all_records}
    return {"figures": figures, "claims": claims, "again": {}}


def shown(page):
    """The claims of a page: name -> (theory, origin, decision)."""
    blocks = re.findall(
        r'<div class="claim" id="(.*?)" data-theory="(.*?)" data-origin="(.*?)" '
        r'data-verdict="(.*?)">',
        page,
    )
    assert len({name for name, *_ in blocks}) == len(blocks)
    return {name.upper(): tuple(fields) for name, *fields in blocks}


def test_every_claim_stands_once_with_its_origin_and_verdict(store):
    summary = found_in(store)
    entries = shown(evidence.verdicts(summary))
    assert {*entries} == {*evidence.of_theories(summary)}
    for name, claim in summary["claims"].items():
        assert entries[name][1:] == (claim["origin"], claim["decision"])
    assert {decision for *_, decision in entries.values()} > {"holds", "fails", "not tested"}


def test_the_report_counts_what_holds_and_readme_all_verdicts(store):
    summary = found_in(store)
    after = evidence.readme(evidence.README.read_text(encoding="utf-8"), summary)
    assert f"All {len(summary['claims'])} verdicts" in after
    html = report.report(store).read_text(encoding="utf-8")
    for theory in jaxtheory.theories.names():
        claims = [
            x for name, x in summary["claims"].items() if evidence.entries()[name].room == theory
        ]
        want = [str(tally.tally(claims, origin)) for origin in tally.ORIGINS]
        cells = re.search(rf'<tr><th scope="row"><a href="#theory-{theory}".*?</tr>', html, re.S)[0]
        cells = [re.sub("<.*?>", "", cell) for cell in re.findall("<td.*?</td>", cells)]
        assert cells == ["" if text.endswith("of 0") else text for text in want]
    assert "probability 1 % at most" in after and wording.RULE in html


def findings_of_all():
    """Each finding of a figure, a page, README and the ladders, by its text."""
    groups = (*findings.THEORIES.values(), *findings.LADDERS.values(), findings.FRONT)
    figures = {name: jaxtheory.figures.get(name) for name in jaxtheory.figures.entries()}
    own = [figure.finding for figure in figures.values() if figure.finding]
    return figures, [*(finding for group in groups for finding in group), *own]


def test_each_sentence_rests_on_verdicts_that_do_not_contradict_it():
    """None differs from what is expected; an open claim or an example bears nothing out."""
    _, known = findings_of_all()
    document, entries = evidence.load(), evidence.entries()
    assert len({finding.text for finding in known}) == len(known)
    for finding in known:
        for name in finding.rests_on:
            claim = entries[name].claim
            assert claim.expect and not claim.example, (finding.text, name)
            for under in (document["claims"], document["again"]):
                outcome = under.get(name, {"outcome": "not run"})["outcome"]
                assert outcome in ("as expected", "undecided", "not run"), (finding.text, name)
        told = evidence.stated(finding, document)
        assert told.endswith("(undecided)") != evidence.is_borne_out(finding, document)


def test_each_figure_has_a_finding_with_what_is_refuted_of_its_printed_claims():
    figures, _ = findings_of_all()
    for name, figure in figures.items():
        judged = [claim for claim in figure.claims if not claim.example]
        assert bool(judged) == (figure.finding is not None), name
        if figure.finding is None:
            continue
        printed = {
            claim.id
            for claim in judged
            if (claim.origin.kind, claim.expect) == ("printed", "fails")
        }
        rests_on = {*figure.finding.rests_on}
        assert printed <= rests_on <= {claim.id for claim in figure.claims}, name
        assert len(figure.finding.text) <= 115, name


def test_a_sentence_is_undecided_with_one_of_its_claims():
    finding = jaxtheory.claims.Finding("A law holds", rests_on=("RW-2", "RW-11"))
    under = lambda *outcomes: {
        name: {"outcome": outcome} for name, outcome in zip(finding.rests_on, outcomes, strict=True)
    }
    first = under("as expected", "as expected")
    assert evidence.stated(finding, {"claims": first, "again": {}}) == "A law holds"
    again = {"RW-11": {"outcome": "undecided"}}
    told = evidence.stated(finding, {"claims": first, "again": again})
    assert told == "A law holds (undecided)"
    claims = under("undecided", "as expected")
    assert evidence.stated(finding, {"claims": claims, "again": {}}) == told


def test_the_map_has_a_square_for_each_claim_printed_first():
    document = evidence.load()
    linked = verdict_map.draw(document, ".html")
    links = re.findall(r'<a href="(\S+?)\.html#(\S+?)"><g><title>(\S+?), ', linked)
    names = [name for *_, name in links]
    assert sorted(names) == sorted(evidence.entries())
    for page, anchor, name in links:
        assert (page, anchor) == (evidence.page(evidence.entries()[name].room).stem, name.lower())
    for room in jaxtheory.theories.names():
        kinds = [
            evidence.entries()[name].claim.origin.kind
            for name in names
            if evidence.entries()[name].room == room
        ]
        assert kinds == sorted(kinds, key=[*tally.ORIGINS].index)
    fails = [x["decision"] for x in document["claims"].values()].count("fails")
    assert linked.count('class="fails"') == linked.count("<path") == fails + 1  # and the legend's
    assert verdict_map.FILE.read_text("utf-8") == verdict_map.draw(document)


def test_the_map_stands_on_the_built_page_of_verdicts():
    text = verdict_map.on_site(evidence.verdicts(evidence.load()))
    assert text.count('<svg xmlns="http://www.w3.org/2000/svg" class="map"') == 1
    assert "(map.svg)" not in text and "\n\n" not in text[text.index("<svg") : text.index("</svg>")]


def test_readme_says_how_many_claims_are_decided_under_both_keys():
    names = [name for name, entry in evidence.entries().items() if not entry.claim.example]
    record = lambda decision: {"satisfied": 8, "decision": decision}
    claims = {name: record("holds") for name in names[:5]} | {names[5]: {"decision": "holds"}}
    again = {names[0]: record("holds"), names[1]: record("fails"), names[2]: record("undecided")}
    text = evidence.under_both({"claims": claims, "again": again})
    assert f"Of {len(names)} claims 5 have been judged" in text
    assert "and 3 under a second one too: 2 are decided under both, of which 1 disagree." in text
    assert evidence.under_both(evidence.load()) in evidence.README.read_text("utf-8")


def test_the_site_has_a_picture_of_each_number_that_was_judged():
    document = evidence.load()
    text = evidence.on_site("random_walk", evidence.page("random_walk").read_text("utf-8"))
    for name, entry in evidence.entries().items():
        if entry.room == "random_walk":
            judged = "satisfied" in document["claims"][name]
            head = text[text.index(f'id="{name.lower()}"') :][:400]
            assert ('class="strip"' in head.split("\n\n")[0]) == judged, name


def test_the_verdicts_are_those_of_the_numbers_in_git():
    """And of the rule, bounds and shares as they are; verdicts of before have no such numbers."""
    document = evidence.load()
    for file in sorted((DOCS / "replicates").glob("*.json")):
        first, second = evidence.keys(file.stem)
        for part, key, more in (("claims", first, {}), ("again", second, {"key": second})):
            for claim, record in replicates.judged(file.stem, key).items():
                assert document[part][claim] == more | verdicts.numbers(record), claim


def test_numbers_of_replicates_are_kept_by_key_and_judged_again(tmp_path, monkeypatch):
    monkeypatch.setattr(replicates, "FOLDER", tmp_path / "replicates")
    figure, (first, second) = jaxtheory.figures.get("walk_margin"), evidence.KEYS
    values = [0.98, float("nan"), float("inf"), 0.123456789012, *[0.99] * 12]
    for key, numbers in ((second, values), (first, values[::-1])):
        judged = [judge_numbers(claim, numbers) for claim in figure.claims]
        claims = {one.claim.id: run_files.record_claim(one) for one in judged}
        content = RECORD | {"figure": figure.name, "theory": "", "command": "", "claims": claims}
        content |= {"key": key}
        file = run_files.stem(tmp_path, figure.name, key).with_suffix(".json")
        file.write_text(json.dumps(content))
        assert figure.name in replicates.missing(key)
        assert replicates.collect(figure.name, key, tmp_path)
        assert figure.name not in replicates.missing(key)
        again = replicates.judged(figure.name, key)
        for name, record in again.items():
            assert record == claims[name]
            assert record["numbers"][1 if key == second else -2] is None
    assert {*replicates.load(figure.name)} == {str(key) for key in evidence.KEYS}
    assert not replicates.collect("walk_phase", first, tmp_path)


def test_the_pages_are_those_that_the_command_writes():
    for file, text in evidence.pages(evidence.load()).items():
        assert file.read_text(encoding="utf-8") == text, f"{file.name}: run make verdicts"


def test_a_claim_stands_once_on_its_theory_s_page():
    for room in {entry.room for entry in evidence.entries().values()}:
        named = [name for _, names in evidence.groups(room) for name in names]
        of_room = [name for name, entry in evidence.entries().items() if entry.room == room]
        assert sorted(named) == sorted(of_room)


def test_the_short_page_has_one_row_for_a_claim_of_a_theory():
    rows = re.findall(
        r"^\|.*?\| \[(.+?)\]\((.+?)\.md#(.+?)\) \| . \w+", evidence.short(evidence.load()), re.M
    )
    assert [name for name, _, _ in rows] == [*shown(evidence.verdicts(evidence.load()))]
    for name, page, anchor in rows:
        assert (page, anchor) == (evidence.entries()[name].room, name.lower())


def git_files(*options):
    """The files that `git ls-files` names."""
    done = subprocess.run(
        ["git", "ls-files", "-z", *options], cwd=ROOT, capture_output=True, check=True, text=True
    )
    return {ROOT / name for name in done.stdout.split("\0") if name}


@pytest.fixture(scope="module")
def tracked():
    """The files that git has, or would have after a commit of everything."""
    files = git_files("--cached", "--others", "--exclude-standard")
    return {file for file in files - git_files("-ci", "--exclude-standard") if file.is_file()}


@in_git
def test_a_sentence_stands_in_its_figure_and_on_one_page(tracked):
    kinds = {".md", ".py", ".json", ".txt", ".toml", ".js", ".html"}
    texts = {f: f.read_text(encoding="utf-8") for f in sorted(tracked) if f.suffix in kinds}
    for name, (claim, figure, room) in evidence.entries().items():
        forms = {claim.statement, evidence.typeset(claim.statement, evidence.escaped)}
        places = {file for file, text in texts.items() if any(form in text for form in forms)}
        pages = {evidence.page(room), ROOT / "sweeps" / room / f"{figure}.py"}
        assert evidence.page(room) in places <= pages, name


@in_git
def test_generated_pages_are_not_in_git(tracked):
    made = {*evidence.built(evidence.load())}
    assert not made & tracked and {file.parent for file in made} == {DOCS, DOCS / "gallery"}
    for file in made:
        done = subprocess.run(["git", "check-ignore", "-q", "--no-index", file], cwd=ROOT)
        assert done.returncode == 0, file


COMMENT = re.compile(r"<!--.*?-->|^( *)(```+).*?^ *\2 *$|(`+)[^`].*?\3", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]*)\)")


def anchors(text):
    """The places of a page that a link can name: headings, elements with an id, and targets."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    names = re.findall(r'(?:\bid="|^\()([^"()]+)(?:"|\)=$)', prose, re.MULTILINE)
    return slugs | {*names}


def broken(page, text, tracked):
    """The links and pictures of a page that lead to no file in git, or to no place in it."""
    found = []
    for link in LINK.findall(COMMENT.sub("", text)):
        name, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        file = (page.parent / name).resolve() if name else page
        there = file in tracked or any(file in other.parents for other in tracked)
        if not there or (
            anchor and file.suffix == ".md" and anchor not in anchors(file.read_text("utf-8"))
        ):
            found.append(link)
    return found


@in_git
def test_a_link_of_a_page_in_git_leads_to_a_file_in_git(tracked):
    pages = [file for file in tracked if file.suffix == ".md" and "tests" not in file.parts]
    assert {evidence.README, evidence.PAGE, DOCS / "random_walk.md"} <= {*pages}
    bad = {str(p.relative_to(ROOT)): broken(p, p.read_text("utf-8"), tracked) for p in pages}
    assert {page: links for page, links in bad.items() if links} == {}
    text = "[a](gallery.md) [b](verdicts.md#no) ![c](front.webp) `[d](e)` [f](.) [g](#theories)"
    assert broken(DOCS / "index.md", text, tracked) == ["gallery.md", "verdicts.md#no"]


def test_every_picture_stands_on_a_page():
    pages = {evidence.page(entry.room) for entry in evidence.entries().values()}
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    pictures = {file.stem for file in (DOCS / "gallery").glob("*.webp")}
    assert {*re.findall(r"!\[[^\n]+?\]\(gallery/(\w+)\.webp\)", text)} == pictures


def test_the_site_leads_to_the_gallery():
    text = "![a](gallery/walk_rate.webp) [b](../gallery/walk_rate.webp)<!-- built: · c -->."
    assert evidence.on_site("own-loss", text) == (
        "![a](gallery/walk_rate.webp) [b](../gallery/random_walk.md#walk_rate) · c."
    )
    text = "([LR-1](low_rank.md#lr-1), [b](c.md#d)) [NW-4](../networks-ladders.md#nw-4)."
    assert evidence.on_site("own-loss", text) == (
        '(<a href="low_rank.html#lr-1">LR-1</a>, [b](c.md#d)) '
        '<a href="../networks-ladders.html#nw-4">NW-4</a>.'
    )
    found = evidence.load()
    text = evidence.on_site("verdicts", "")
    assert len(re.findall('<details class="claim"', text)) == len(evidence.of_theories(found))
    text = re.sub(r"<summary>\n.*?</summary>\n", "", text, flags=re.DOTALL)
    text = re.sub(r"<(/?)details( class[^>]*?)?( open)?>", r"<\1div\2>", text)
    assert text == evidence.verdicts(found)


def test_a_second_key_stands_below_the_first():
    summary = evidence.load()
    text = evidence.claim("NW-74", summary, False)
    first, second = re.findall(r"\*\*(\w+)\*\*.*\d", text)[-2:]
    assert (first, second) == (
        summary["claims"]["NW-74"]["finding"],
        summary["again"]["NW-74"]["finding"],
    )
    assert f"key {summary['again']['NW-74']['key']}: " in text


def test_signs_of_markdown_are_escaped():
    assert evidence.escaped("a_b <= *c* | $d$ [e] `f`") == (r"a\_b \<= \*c\* \| \$d\$ \[e\] \`f\`")


def test_pictures_and_numbers_of_the_gallery_are_small():
    sizes = {file.stem: file.stat().st_size for file in (DOCS / "gallery").glob("*.webp")}
    assert {*sizes} == {*evidence.load()["figures"]} <= {*jaxtheory.figures.entries()}
    tables = [*(DOCS / "gallery").glob("*.csv.gz")]
    assert len(tables) > len(sizes) // 2
    assert sum(sizes.values()) + sum(file.stat().st_size for file in tables) < 1.2e7
    for table in tables:
        assert table.stem.removesuffix(".csv") in sizes
        assert gzip.decompress(table.read_bytes()).startswith(b"panel,")


def test_the_first_picture_has_what_its_figures_measured():
    stairs, root, boundary = front.draw().axes
    assert len([line for line in stairs.lines if len(line.get_xdata()) > 100]) == 16
    levels = {float(line.get_ydata()[0]) for line in stairs.lines if len(line.get_xdata()) == 2}
    assert len(levels) == 5
    for ax, name in ((root, "trained"), (boundary, "our law")):
        assert name in [text.get_text() for text in ax.get_legend().get_texts()]
    assert front.PICTURE.stat().st_size < 1e5


def test_the_picture_of_the_ladders_has_what_its_figures_measured():
    axes = ladders.draw().axes
    assert len(axes) == len(ladders.COLUMNS) == len(findings.LADDERS)
    for ax, figure in zip(axes, ladders.COLUMNS, strict=True):
        assert len([line for line in ax.lines if line.get_marker() in "o>"]) == 8, figure


def test_a_picture_keeps_its_colors(tmp_path):
    """A color bar of 256 colors, which fewer colors would band."""
    import matplotlib as mpl
    import numpy as np
    from PIL import Image

    bar = np.repeat(
        (mpl.colormaps["cividis"](np.arange(256)) * 255).astype(np.uint8)[:, None], 9, 1
    )
    Image.fromarray(bar[..., :3]).save(tmp_path / "bar.png")
    (tmp_path / "bar.webp").write_bytes(pictures.webp(tmp_path / "bar.png"))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "bar.webp")), bar[..., :3])


def test_the_command_of_a_figure_is_the_one_that_was_run():
    ran = {"walk_rate": {"command": "jaxtheory run all --until-decided --max-seeds 96 --key 7"}}
    line = evidence.source("walk_rate", "random_walk", "", {"figures": ran})
    assert line.startswith("`jaxtheory run walk_rate --until-decided --max-seeds 96 --key 7` · ")
    line = evidence.source("walk_rate", "random_walk", "", {"figures": {}})
    assert line.startswith("`jaxtheory run walk_rate` · ")
