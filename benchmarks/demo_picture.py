"""The README's picture of the demo, docs/images/demo.png: parts of its report, as a browser shows them.

    privee demo --out demo-output
    python benchmarks/demo_picture.py [--demo demo-output] [--out docs/images/demo.png]

Needs chromium, or another browser that `privee report` prints with.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from privee.audit.report.pdf import QUIET, find_browser

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "demo.png"
WIDTH, HEIGHT, MARGIN = 1210, 4000, 12
SHOWN = ("subject-1-opening", "subject-1-asked", "subject-3-opening")
"""The report's own sections: what is told, what is left when asked again, and what the sealed model's scores tell."""
STYLE = """<style>
main > *, main > section.subject > * {{ display: none !important; }}
{shown} {{ display: block !important; }}
{order}
main > section.subject {{ margin: 0; padding: 0; border: 0; }}
main {{ display: flex; flex-direction: column; max-width: none; margin: 0; padding: 12px 18px; }}
</style></head>"""


def parts_of(report: str) -> str:
    """The same page with nothing but the sections that are shown."""
    missing = [name for name in SHOWN if f'id="{name}"' not in report]
    if missing:
        raise SystemExit(f"the report has no section {missing[0]}: is it of another demo?")
    places = [f"main > #{name}, main > section.subject:has(> #{name})" for name in SHOWN]
    order = [f"{place} {{ order: {number}; }}" for number, place in enumerate(places, 1)]
    shown = ", ".join([*places, *(f"main > section.subject > #{name}" for name in SHOWN)])
    return report.replace("</head>", STYLE.format(shown=shown, order="\n".join(order)), 1)


def photographed(page: Path, picture: Path) -> None:
    """By a browser without a window, in a profile of its own."""
    browser = find_browser()
    if browser is None:
        raise SystemExit("install chromium, or name a Chrome in CHROME")
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    options = [f"--user-data-dir={page.parent}/profile", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
    command = [browser, *QUIET, *root, *options, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 (a page of ours)


def cut(picture: Path) -> Image.Image:
    """Without what is empty below and beside."""
    image = Image.open(picture).convert("RGB")
    marked = np.argwhere((np.asarray(image) != 255).any(axis=2))
    (_, _), (bottom, right) = marked.min(axis=0), marked.max(axis=0)
    return image.crop((0, 0, min(WIDTH, int(right) + MARGIN), int(bottom) + MARGIN))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demo", type=Path, default=Path("demo-output"), help="what `privee demo` wrote [%(default)s]")
    parser.add_argument("--out", type=Path, default=PICTURE, help="[docs/images/demo.png]")
    given = parser.parse_args()
    report = given.demo / "report.html"
    if not report.is_file():
        raise SystemExit(f"{report} is not there: run `privee demo --out {given.demo}` first")
    with tempfile.TemporaryDirectory(prefix="privee-demo-") as folder:
        page, shot = Path(folder) / "page.html", Path(folder) / "page.png"
        page.write_text(parts_of(report.read_text(encoding="utf-8")), encoding="utf-8")
        photographed(page, shot)
        cut(shot).quantize(192).save(given.out, optimize=True)
    print(given.out)


if __name__ == "__main__":
    main()
