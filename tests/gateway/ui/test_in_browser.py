"""The dashboard and the API's page of a real gateway: in a real browser, and the page's commands in a shell."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
import time
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image

from privee.gateway.ui.examples import EXAMPLES
from tests._support.browser import PROBLEMS, real_browser
from tests._support.gateway_world import MODEL, gateway_world, infer
from tests._support.local_gateway import visitor
from tests._support.mentions import mentions


@pytest.fixture(scope="module")
def world(folder):
    """Two parties and a gateway as processes; each entity may give three releases."""
    with gateway_world(folder, "--defense", "ordered-dp:epsilon=1", "--epsilon", "3") as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with real_browser() as found:
        yield found


# The API's page


def commands(page: str) -> dict[str, str]:
    """Each operation's command, by the operation's id."""
    found = re.findall(r'<h3 id="(\w+)">.*?<h4>Command</h4>\n<pre[^>]*><code>(.*?)</code>', page, flags=re.S)
    return {name: html.unescape(command) for name, command in found}


def test_the_api_pages_commands_work_for_those_it_names_and_nobody_else(world):
    shell = shutil.which("sh")
    if shell is None or shutil.which("curl") is None:
        pytest.skip("the commands need sh and curl: apt-get install curl")
    with visitor(world.url) as client:
        all_commands = commands(client.get("/docs").text)
    assert set(all_commands) == set(EXAMPLES)
    for name, command in all_commands.items():
        example = EXAMPLES[name]
        for role in ("consumer", "auditor", "administrator"):
            fresh = world.world.api_key("consumer").split("_")[1]
            values = {"URL": world.url, "MODEL": MODEL, "KEY": world.key(role), "KEY_ID": fresh}
            written = command.replace("curl", "curl --silent --write-out '\n%{http_code}'", 1)
            done = subprocess.run(  # noqa: S603 (the page's own commands)
                [shell, "-c", written], env=os.environ | values, capture_output=True, check=True
            )
            answer, status = done.stdout.decode().rsplit("\n", 1)
            allowed = not example.who or role in example.who
            assert (name, role, status) == (name, role, "200" if allowed else "403")
            if allowed and name != "metrics":
                assert same_shape(json.loads(answer), example.answer), name
            if allowed and name == "metrics":
                assert example.answer.splitlines()[0] in answer


def same_shape(found, example) -> bool:
    """The same names, on all levels."""
    if isinstance(example, dict):
        return (
            isinstance(found, dict)
            and found.keys() == example.keys()
            and all(same_shape(found[name], part) for name, part in example.items() if name != "details")
        )
    if isinstance(example, list) and example and isinstance(example[0], dict):
        return bool(found) and all(same_shape(one, example[0]) for one in found)
    return isinstance(found, list) == isinstance(example, list)


# In a browser


class Window:
    """A browser's window, and everything its pages complained about or asked for."""

    def __init__(self, browser, *, width: int = 1280, scheme: str = "light", script: bool = True) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=script
        )
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_) -> None:
        self.context.close()

    @property
    def focused(self) -> str:
        return self.page.evaluate("document.activeElement.id || document.activeElement.textContent")

    def tab_to(self, what: str) -> None:
        """Press Tab until this is in focus; every stop on the way can be seen to be in focus."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            outline = self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", self.focused
            if self.focused == what:
                return
        raise AssertionError(f"{what} is not reached by Tab")

    def submit(self) -> None:
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    @property
    def shown(self) -> str:
        return " ".join(self.page.inner_text("body").replace("\u00a0", " ").split())


def test_by_keyboard_alone_numbers_change_after_a_real_inference(world, browser):
    secret_id = f"customer-{uuid4().hex}"
    with Window(browser) as window, world.client() as consumer:
        window.page.goto(f"{world.url}/ui")
        assert window.page.url == f"{world.url}/ui/login"
        window.page.goto(world.url)
        assert window.page.url == f"{world.url}/ui/login"
        window.page.wait_for_function("document.activeElement.id === 'key'")
        window.page.keyboard.type(world.key("auditor"))
        assert window.page.input_value("#key") == world.key("auditor")
        window.submit()
        assert window.page.url == f"{world.url}/ui"
        assert "Ready: the ledger can be read, and both parties answer." in window.shown
        before = counts(window)

        assert [infer(consumer, "1001").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        window.page.reload()
        after = counts(window)
        assert after == (before[0] + 3, before[1] + 2, before[2] + 3, before[3] + 1)
        assert "epsilon 3 of 3 1 of 1 100 %" in window.shown  # one variant of the question
        words = f"in the last 24 hours: {after[0]} answered with {after[2]} releases, {after[1]} refused."
        assert f"{after[0] + after[1]} requests {words}" in window.shown

        window.page.keyboard.press("Tab")
        assert window.focused == "Skip to the content"
        window.page.keyboard.press("Enter")
        assert window.focused == "main"
        window.tab_to("entity")
        window.page.keyboard.type("1001")
        window.submit()
        assert "Used up: the next request about this entity is refused." in window.shown
        assert not mentions(f"{window.page.url} {window.page.content()}", "1001")
        window.tab_to("entity")
        window.page.keyboard.type(secret_id)
        window.submit()
        assert "Nothing was ever released about an entity with this id." in window.shown
        assert secret_id not in window.page.url + window.page.content()
        window.tab_to("Sign out")
        window.submit()
        assert window.page.url == f"{world.url}/ui/login"
        window.page.goto(f"{world.url}/ui")
        assert window.page.url == f"{world.url}/ui/login"
        assert window.complaints == []
        assert all(url.startswith(f"{world.url}/") for url in window.requests)
    written = world.log
    assert '"route": "/ui/entity"' in written
    assert not any(secret in written for secret in (secret_id, world.key("auditor"), world.key("auditor")[16:]))


def counts(window: Window) -> tuple[int, ...]:
    """Requests answered and refused, releases and entities as the page has them."""
    return tuple(int(part.replace(",", "")) for part in window.page.locator(".facts dd").all_inner_texts()[:4])


def test_a_party_that_hangs_is_named(world, browser):
    hung = world.parties["passive-1"]
    with Window(browser) as window:
        hung.send(signal.SIGSTOP)
        try:
            time.sleep(1.1)  # health is remembered for a second
            sign_in(window, world)
        finally:
            hung.send(signal.SIGCONT)
        assert re.search(r"Not ready: party passive-1 (did not answer in 2\.0 s|cannot be reached)\.", window.shown)
        assert window.page.title().startswith("Not ready")
        assert window.page.locator(".card .badge").all_inner_texts() == ["ready", "not ready"]
        time.sleep(1.1)
        window.page.reload()
        assert window.page.locator(".card .badge").all_inner_texts() == ["ready", "ready"]


def sign_in(window: Window, world) -> None:
    window.page.goto(f"{world.url}/ui/login")
    window.page.fill("#key", world.key("auditor"))  # keys typed while a page settles can get lost
    window.submit()
    assert window.page.url == f"{world.url}/ui"


def test_filters_and_files_work_without_script(world, browser, tmp_path):
    consumer = world.key("consumer").split("_")[1]
    with world.client() as client:
        infer(client, "1003", "1004")
    with Window(browser, script=False) as window:
        page = window.page
        sign_in(window, world)
        page.select_option("#consumer", consumer)
        page.select_option("#outcome", "released")
        page.fill("#from", "2026-01-01")
        page.click(".filter button")
        assert page.url == f"{world.url}/ui?from=2026-01-01&to=&consumer={consumer}&outcome=released#requests"
        assert page.input_value("#from") == "2026-01-01"
        assert page.locator("#consumers ~ .scroll tbody tr").count() == 1
        assert set(page.locator(".requests tbody td:nth-child(3)").all_inner_texts()) == {"answered"}
        page.click("text=7 days")
        assert page.url == f"{world.url}/ui?range=7d&consumer={consumer}&outcome=released#requests"
        page.click("#consumers ~ .scroll tbody a")
        assert page.url == f"{world.url}/ui/consumers/{consumer}?range=7d&outcome=released"
        rows = page.locator(".requests tbody tr").all_inner_texts()
        assert any("answered\t2\t2\t2" in row for row in rows)
        with page.expect_download() as download:
            page.click(".requests >> xpath=.. >> xpath=following-sibling::p[1] >> text=This table as CSV")
        assert re.fullmatch(r"digits-requests-\d{4}-\d{2}-\d{2}\.csv", download.value.suggested_filename)
        download.value.save_as(tmp_path / "requests.csv")
        lines = (tmp_path / "requests.csv").read_text().splitlines()
        assert lines[0] == '"time","consumer","name","outcome","entities","releases","charged","id"'
        assert all(f'"{consumer}","demo","released"' in line for line in lines[1:])
        page.go_back()
        page.click("text=Show all")
        assert page.url == f"{world.url}/ui?range=7d#requests"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_pages_fit_and_can_be_read(world, browser, tmp_path, width, scheme):
    with world.client() as consumer:
        infer(consumer, "1002")
    with Window(browser, width=width, scheme=scheme) as window:
        window.page.goto(f"{world.url}/ui/login")
        problems = {"login": window.page.evaluate(PROBLEMS)}
        sign_in(window, world)
        consumer = world.key("consumer").split("_")[1]
        for path in ("/ui?range=7d", f"/ui/consumers/{consumer}?from=2020-01-01", "/docs"):
            window.page.goto(world.url + path)
            window.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
            problems[path] = window.page.evaluate(PROBLEMS)
            window.page.screenshot(path=tmp_path / "page.png")
            with Image.open(tmp_path / "page.png") as picture:
                light = np.median(np.asarray(picture.convert("L")))
            assert light < 40 if scheme == "dark" else light > 240
        assert not any(problems.values()), problems
        assert window.complaints == []
