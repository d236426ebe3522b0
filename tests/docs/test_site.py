"""The site is built strictly, needs nobody else's server, and can be searched and read on a phone."""

import contextlib
import http.server
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from functools import partial

import pytest

from tests._support.browser import real_browser
from tests._support.reader.blocks import PAGES, ROOT

NAMES = json.loads((ROOT / "tests" / "public_names.json").read_text(encoding="utf-8"))
ELSEWHERE = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//""")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mkdocstrings") is None, reason="mkdocs is not installed: pip install '.[docs]'"
)


def test_the_python_reference_has_every_public_name():
    from website.python_pages import python_pages

    pages = python_pages(NAMES)
    for module, names in NAMES.items():
        text = pages[f"reference/{module}.md"]
        listed = re.findall(rf"^        - (\w+)$|^::: {module}[.\w]*\.(\w+)$", text, flags=re.MULTILINE)
        assert {a or b for a, b in listed} >= set(names)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Built by the command of `make docs`."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(folder)]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_there_and_takes_nothing_from_elsewhere(site):
    for page in set(PAGES) - {"README", "CONTRIBUTING"}:
        assert (site / f"{page}.html").is_file()
    for file in site.rglob("*.html"):
        assert not ELSEWHERE.search(file.read_text(encoding="utf-8")), file.name


@pytest.mark.slow
def test_every_public_name_is_documented(site):
    for module, names in NAMES.items():
        text = (site / "reference" / f"{module}.html").read_text(encoding="utf-8")
        here = [name for name in names if name != "__version__" and f"{module}.{name}" not in NAMES]
        missing = [name for name in here if not re.search(rf'id="{module}(\.\w+)*\.{name}"', text)]
        assert missing == [], module


@contextlib.contextmanager
def served(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
def test_it_can_be_searched_and_read_on_a_phone(site):
    with served(site) as url, real_browser() as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{url}/index.html")
        page.fill("input.md-search__input", "record-order")
        page.wait_for_selector(".md-search-result__item a[href*='record_order.html']")
        assert [address for address in asked if not address.startswith((url, "data:", "blob:"))] == []
        page.set_viewport_size({"width": 390, "height": 800})
        for name in ("index", "leaderboard", "gateway", "reference/cli", "reference/privee.defenses", "threats"):
            page.goto(f"{url}/{name}.html")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, name
        page.close()
