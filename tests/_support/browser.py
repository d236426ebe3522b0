"""A real browser for tests of pages: Debian's chromium, driven by playwright."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

# What only a browser can tell: what overflows, is clipped, was not decoded, covers other text, or is too faint to read.
PROBLEMS = """() => {
  const found = [];
  const root = document.documentElement;
  const inside = (a, b, slack) =>
    a.left >= b.left - slack && a.right <= b.right + slack && a.top >= b.top - slack && a.bottom <= b.bottom + slack;
  const texts = (within) => {
    const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT), list = [];
    while (walker.nextNode()) {
      const node = walker.currentNode, range = document.createRange();
      if (!node.data.trim() || node.parentElement.closest("style, title, .skip")) continue;
      if (!node.parentElement.checkVisibility()) continue;
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) if (rect.width && rect.height) list.push([node, rect]);
    }
    return list;
  };

  if (root.scrollWidth > root.clientWidth) found.push(`page overflows: ${root.scrollWidth} > ${root.clientWidth}`);
  for (const image of document.images)
    if (!image.complete || !image.naturalWidth) found.push(`image not decoded: ${image.alt}`);

  for (const card of document.querySelectorAll(".card")) {
    const frame = card.getBoundingClientRect();
    for (const [node, rect] of texts(card))
      if (!inside(rect, frame, 0.5)) found.push(`text leaves its card: ${node.data}`);
    for (const part of card.querySelectorAll("*")) {
      const hides = getComputedStyle(part).overflow !== "visible";
      const tooWide = part.scrollWidth > part.clientWidth + 1, tooHigh = part.scrollHeight > part.clientHeight + 1;
      if (hides && (tooWide || tooHigh)) found.push(`clipped: ${part.textContent}`);
    }
  }
  for (const [node, rect] of texts(document.body))
    if (!node.parentElement.closest(".scroll") && (rect.left < -0.5 || rect.right > root.clientWidth + 0.5))
      found.push(`text leaves the page: ${node.data}`);

  for (const chart of document.querySelectorAll("svg.chart")) {
    const frame = chart.getBoundingClientRect();
    const labels = [...chart.querySelectorAll("text")].map((part) => [part.textContent, part.getBoundingClientRect()]);
    labels.forEach(([text, a], k) => {
      if (!inside(a, frame, 0)) found.push(`label leaves its chart: ${text}`);
      for (const [other, b] of labels.slice(0, k)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const along = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // Boxes of text are higher than its letters.
        if (across > 0 && along > 0.3 * Math.min(a.height, b.height)) found.push(`labels overlap: ${text}, ${other}`);
      }
    });
  }

  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const behind = (part) => {
    const colour = getComputedStyle(part).backgroundColor;
    if (!colour.endsWith(", 0)")) return colour;
    return part.parentElement ? behind(part.parentElement) : "rgb(255, 255, 255)";
  };
  for (const [node] of texts(document.body)) {
    const part = node.parentElement, style = getComputedStyle(part);
    const front = light(part.closest("svg") ? style.fill : style.color), back = light(behind(part));
    if (Math.max(front, back) / Math.min(front, back) < 4.5) found.push(`low contrast: ${node.data}`);
  }
  return found;
}"""


@contextlib.contextmanager
def real_browser() -> Iterator:
    """A headless chromium; skips the test, with the reason, where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"], headless=True)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page that was opened, and everything it complained about or asked for."""

    def __init__(self, browser, file: Path, *, width: int, height: int = 900) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url[:80]}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri(), wait_until="load")

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_) -> None:
        self.page.close()

    @property
    def fetched(self) -> list[str]:
        """What was asked for beyond the page itself and what it carries inside."""
        return [url for url in self.requests[1:] if not url.startswith("data:")]
