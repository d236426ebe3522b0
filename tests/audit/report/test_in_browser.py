"""The report in a real browser."""

import re

import numpy as np
import pytest
from PIL import Image

from privee.audit.report import write_report
from privee.audit.report.pdf import find_browser, write_pdf
from privee.errors import PriveeError
from tests._support.browser import PROBLEMS, Visit, real_browser
from tests._support.made_audits import make_loans
from tests._support.odd_audits import crowded, hostile, only, wide, without_columns

OPEN_ALL = "() => document.querySelectorAll('details').forEach((part) => { part.open = true; })"


@pytest.fixture(scope="module")
def browser():
    with real_browser() as found:
        yield found


@pytest.fixture(scope="module")
def reports(audit, page, tmp_path_factory):
    """The report, one of named columns, one whose points lie on top of each other, and odd ones."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "full.html").write_text(page, encoding="utf-8")
    write_report(crowded(), folder / "crowded.html")
    write_report(hostile(), folder / "hostile.html")
    write_report(wide(), folder / "wide.html")
    write_report(without_columns(), folder / "without-columns.html")
    loans = make_loans()
    write_report(loans, folder / "loans.html", before=only(loans, "none", "top-k"))
    return folder


def is_blank(picture) -> bool:
    return len(np.unique(np.array(Image.open(picture).convert("L")))) < 20


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("full", 1280),
        ("full", 768),
        ("full", 390),
        ("loans", 1280),
        ("loans", 390),
        ("crowded", 390),
        ("hostile", 390),
        ("wide", 390),
        ("without-columns", 390),
    ],
)
def test_in_a_browser(browser, reports, tmp_path, name, width):
    with Visit(browser, reports / f"{name}.html", width=width) as visit:
        visit.page.evaluate(OPEN_ALL)
        assert visit.page.evaluate(PROBLEMS) == []
        visit.page.screenshot(path=tmp_path / "top.png")
        for part in ("article", "svg.chart"):
            visit.page.locator(part).first.screenshot(path=tmp_path / f"{part}.png")
        assert visit.complaints == []
        assert visit.fetched == []
    assert not [picture.name for picture in tmp_path.glob("*.png") if is_blank(picture)]
    assert len(list(tmp_path.glob("*.png"))) == 3


def test_the_first_screen_is_one_screen(browser, reports):
    """What is told, the advice, the picture and every grade: without scrolling."""
    with Visit(browser, reports / "loans.html", width=1280, height=800) as visit:
        bottom = (
            "(what) => Math.max(...[...document.querySelectorAll(what)].map((p) => p.getBoundingClientRect().bottom))"
        )
        for what in ("h1", ".four", ".advice", ".by-column", ".graded"):
            assert 0 < visit.page.evaluate(bottom, what) <= 800, what


def test_the_browser_check_sees_what_is_broken(browser, reports, tmp_path):
    broken = (reports / "full.html").read_text(encoding="utf-8")
    for old, new in (
        ('<main id="main">', '<main id="main"><div style="width: 2000px">wide</div><p style="color: #999">faint</p>'),
        ('<p class="verdict">Verdict', '<p class="verdict" style="white-space: nowrap">Verdict'),
        (
            "</h1>",
            '</h1><img alt="torn" src="data:image/png;base64,AAAA"><img alt="remote" src="http://127.0.0.1:9/x.png">',
        ),
        ('<span class="bar"', '<span class="bar" style="height: 2px"'),
        (
            "</title>",
            '</title><text x="500" y="20">outside</text><text x="9" y="90">one</text><text x="9" y="90">two</text>',
        ),
    ):
        assert old in broken
        broken = broken.replace(old, new)
    (tmp_path / "broken.html").write_text(broken, encoding="utf-8")
    with Visit(browser, tmp_path / "broken.html", width=390) as visit:
        found = "\n".join(visit.page.evaluate(PROBLEMS))
        assert "Content Security Policy" in "".join(visit.complaints)
    for problem in (
        "page overflows",
        "image not decoded: torn",
        "low contrast: faint",
        "text leaves its card",
        "label leaves its chart: outside",
        "labels overlap: two, one",
    ):
        assert problem in found


def test_details_open_with_the_keyboard_and_on_paper(browser, reports):
    with Visit(browser, reports / "full.html", width=1280) as visit:
        shown = "() => document.querySelector('details td').checkVisibility({contentVisibilityAuto: true})"
        assert not visit.page.evaluate(shown)
        visit.page.emulate_media(media="print")
        visit.page.wait_for_function(shown, timeout=10_000)  # a frame or two
        visit.page.emulate_media(media="screen")
        visit.page.wait_for_function(f"() => !({shown})()", timeout=10_000)
        visit.page.locator("summary").first.press("Enter")
        visit.page.wait_for_function(shown, timeout=10_000)


@pytest.mark.parametrize("name", ["full", "wide"])
def test_on_paper_everything_is_seen(browser, reports, name):
    """Nothing can be scrolled there: all of it must fit the width of an A4 page, less its margins."""
    with Visit(browser, reports / f"{name}.html", width=688) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate(PROBLEMS) == []
        wide = (
            "() => [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
        )
        assert visit.page.evaluate(wide) == 0
        order = "() => document.querySelector('#appendix').compareDocumentPosition(document.querySelector('#sign'))"
        assert visit.page.evaluate(order) == 2  # before


def test_it_is_printed_by_one_call(reports, tmp_path):
    if find_browser() is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    write_pdf(reports / "loans.html", tmp_path / "report.pdf")
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF-")
    assert len(printed) > 50_000
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 5
    assert [file.name for file in tmp_path.iterdir()] == ["report.pdf"]
    with pytest.raises(PriveeError, match="exists already; use --force"):
        write_pdf(reports / "loans.html", tmp_path / "report.pdf")
