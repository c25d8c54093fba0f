"""Pictures of the dashboard for the documents: `python -m tests.dashboard.screenshots [folder] [--large]`.

One picture for each flow of docs/dashboard.md. A simulated campaign: 24 ligands by 16 substrates, yields of rank 2
with noise, before and after its second batch, dark and narrow; with --large a matrix of 1,000 x 1,000 instead.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tests.dashboard.browser import NARROW, Watched, chromium
from tests.dashboard.lab import address, fitted, laboratory, shown
from tests.server.live import begin

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
LIGANDS = [
    "PPh3", "PCy3", "P(t-Bu)3", "P(o-tol)3", "XPhos", "SPhos", "RuPhos", "BrettPhos", "DavePhos", "CyJohnPhos",
    "JackiePhos", "AlPhos", "dppe", "dppp", "dppb", "dppf", "dcpe", "Xantphos", "BINAP", "JosiPhos", "IPr", "IMes",
    "SIPr", "none",
]  # fmt: skip
SUBSTRATES = [f"ArBr-{k}" for k in range(1, 17)]


def yields(seed: int = 3) -> Any:
    """The truth: per cent, rank 2 beside row and column means."""
    rng = np.random.default_rng(seed)
    m1, m2 = len(LIGANDS), len(SUBSTRATES)
    levels = rng.normal(0, 8, m1)[:, None] + rng.normal(0, 6, m2)
    patterns = 13 * rng.normal(size=(m1, 2)) @ rng.normal(size=(2, m2)) / np.sqrt(2)
    return np.clip(52 + levels + patterns, 1, 99)


def tell(client: Any, path: str, entries: list[dict[str, Any]], truth: Any, who: str) -> None:
    """What the instrument would say of these entries."""
    rng = np.random.default_rng(len(entries))
    lines = [
        {
            "id": e["id"],
            "value": round(
                float(truth[LIGANDS.index(e["row"]), SUBSTRATES.index(e["col"])] + rng.normal()), 1
            ),
        }
        for e in entries
    ]
    assert client.post(f"{path}/tell", json={"lines": lines, "who": who}).status_code == 200


def ask(client: Any, path: str, n: int) -> list[dict[str, Any]]:
    answer = client.post(
        f"{path}/ask?wait=60", json={"n": n, "who": "ann"}, headers={"Idempotency-Key": f"{n}"}
    )
    if answer.status_code == 202:
        return ask(client, path, n)
    found: list[dict[str, Any]] = answer.json()["entries"]
    return found


def picture(page: Any, folder: Path, name: str, part: str | None = None) -> None:
    """Take a picture of what is in sight, or of a part of the page."""
    page.mouse.move(2, 2)
    page.locator(".toast").first.wait_for(state="detached")
    page.wait_for_timeout(400)
    path = folder / f"dashboard-{name}.png"
    page.locator(part).screenshot(path=path) if part else page.screenshot(path=path)
    print(path)


SIZE = {"width": 1280, "height": 900}
LIST = (
    "Ligand;Substrat;Ausbeute\nXPhos;ArBr-1;71,5\nXPhos;ArBr-2;64,0\ndppf;ArBr-1;<0,5\nSPhos;ArBr-2;38,25\n"
)


def begin_pictures(browser: Any, folder: Path) -> None:
    """The empty page, and a file that shows how it was read."""
    with laboratory() as client, tempfile.TemporaryDirectory() as scratch:
        someone = Watched(browser, client.url, color_scheme="light", viewport={"width": 1100, "height": 760})
        page = someone.tab()
        page.get_by_text("No campaigns yet.").wait_for()
        picture(page, folder, "empty")
        file = Path(scratch) / "Ausbeuten.csv"
        file.write_text(LIST)
        page.get_by_role("button", name="New campaign").click()
        page.get_by_label("Begin with a file").set_input_files(file)
        page.get_by_role("region", name="How the file was read").wait_for()
        page.get_by_label("Goal").select_option("best per column")
        picture(page, folder, "file")
        someone.close()


def small(browser: Any, folder: Path) -> None:
    begin_pictures(browser, folder)
    truth = yields()
    with laboratory() as client:
        begin(client, "solvent screen", [f"solvent {k}" for k in range(1, 31)], ["25 °C", "60 °C", "100 °C"])
        begin(client, "kinase panel", 300, 100, budget=900)
        given = {"rank": 2, "budget": 160, "goal": "best per column", "acquisition": "predictive_variance"}
        names = {"row_name": "ligand", "col_name": "substrate", "unit": "% yield"}
        path = begin(client, "Buchwald–Hartwig yields", LIGANDS, SUBSTRATES, **given, **names)
        first = ask(client, path, 60)
        tell(client, path, first[:58], truth, "ann")
        client.post(f"{path}/fail", json={"ids": [first[58]["id"]], "reason": "precipitate", "who": "ann"})
        client.post(
            f"{path}/withdraw", json={"ids": [first[59]["id"]], "reason": "out of ArBr-7", "who": "bo"}
        )
        batch = ask(client, path, 8)
        someone = Watched(browser, client.url, color_scheme="light", viewport=SIZE)
        page = someone.tab()
        page.get_by_role("link", name="Buchwald").wait_for()
        picture(page, folder, "list")
        page.get_by_role("link", name="Buchwald").click()
        fitted(page)
        whole_curve(page)
        picture(page, folder, "before")
        parts_of(page, folder)
        enter(page, folder, batch, truth)
        fitted(page, client.get(path).json()["events"])
        whole_curve(page)
        page.get_by_text(re.compile("should lower|You can stop")).first.wait_for()
        page.get_by_role("button", name="Uncertainty").click()
        page.locator(".map[data-loaded^=sd]").wait_for()
        page.evaluate("scrollTo(0, 0)")
        picture(page, folder, "after")
        page.locator("#health summary").click()
        picture(page, folder, "health")
        page.locator("#health summary").click()
        page.locator("#downloads summary").click()
        picture(page, folder, "downloads")
        page.locator("#downloads summary").click()
        page.get_by_role("button", name="Settings").click()
        page.get_by_role("dialog").wait_for()
        page.set_viewport_size({"width": 1280, "height": 1060})  # so that all of them are in sight
        page.get_by_role("dialog").locator("summary", has_text="More").click()
        picture(page, folder, "settings")
        page.set_viewport_size(SIZE)
        page.keyboard.press("Escape")
        client.patch(f"{path}/settings", json={"goal": "rank rows", "budget": 67})
        page.get_by_text("Budget spent").wait_for()
        page.locator(".caterpillar").wait_for()
        picture(page, folder, "budget", ".guide")
        picture(page, folder, "rank", ".answer")
        someone.close()
        client.patch(f"{path}/settings", json={"goal": "best per column", "budget": 160})
        ask(client, path, 4)
        dark = Watched(browser, client.url, color_scheme="dark", viewport=SIZE)
        page = dark.tab(address(path))
        fitted(page)
        whole_curve(page)
        picture(page, folder, "dark")
        dark.close()
        phone = Watched(
            browser, client.url, viewport=NARROW, is_mobile=True, has_touch=True, device_scale_factor=2
        )
        page = phone.tab(address(path))
        fitted(page)
        picture(page, folder, "narrow")
        phone.close()


def parts_of(page: Any, folder: Path) -> None:
    """The map of what was measured, dialogs, and who acts, asked once."""
    page.keyboard.press("3")
    page.locator(".map[data-loaded^=value]").wait_for()
    picture(page, folder, "measured", ".map")
    page.keyboard.press("1")
    for opener, name in (("Mark as failed", "failed"), ("Add rows …", "add"), ("Your name: ann", "name")):
        page.get_by_role("button", name=opener).first.click()
        page.get_by_role("dialog").wait_for()
        picture(page, folder, name, "dialog[open]")
        page.keyboard.press("Escape")
    page.evaluate("scrollTo(0, 0)")


def enter(page: Any, folder: Path, batch: list[dict[str, Any]], truth: Any) -> None:
    """Enter the values of a batch by hand, one of them wrongly at first."""
    boxes = page.locator("#batch td.value input")
    values = [truth[LIGANDS.index(e["row"]), SUBSTRATES.index(e["col"])] for e in batch]
    for k, value in enumerate(values):
        boxes.nth(k).fill(f"{value:.1f}".replace(".", ","))
    boxes.nth(2).fill("about 40")
    page.locator("#batch .more button").first.click()
    page.locator("#do").click()
    page.locator("#batch .said.wrong").wait_for()
    picture(page, folder, "refused", "#batch")
    boxes.nth(2).fill(f"{values[2]:.1f}")
    page.locator("#do").click()
    page.get_by_text("What changed").wait_for()


def whole_curve(page: Any) -> None:
    page.get_by_role("button", name="earlier point").wait_for(state="hidden", timeout=240_000)


def large(browser: Any, folder: Path) -> None:
    rng = np.random.default_rng(1)
    m, n = 1000, 10_000
    left, right = rng.normal(size=(m, 2)), rng.normal(size=(2, m))
    at = rng.choice(m * m, n, replace=False)
    with laboratory() as client:
        labels = [f"compound {k}" for k in range(1, m + 1)], [f"assay {k}" for k in range(1, m + 1)]
        path = begin(client, "large", *labels, rank=2, acquisition="predictive_variance")
        rows, cols = np.divmod(at, m)
        values = np.einsum("nr,rn->n", left[rows], right[:, cols]) + 0.3 * rng.normal(size=n)
        lines = [
            {"row": labels[0][i], "col": labels[1][j], "value": float(x)}
            for i, j, x in zip(rows, cols, values, strict=True)
        ]
        assert client.post(f"{path}/tell", json={"lines": lines}).status_code == 200
        someone = Watched(browser, client.url)
        page = someone.tab(address(path))
        shown(page, 2)
        page.keyboard.press("3")
        page.locator(".map[data-loaded=value]").wait_for()
        picture(page, folder, "large-measured")
        page.keyboard.press("1")
        fitted(page)
        page.locator(".map[data-loaded^=mean]").wait_for()
        picture(page, folder, "large-mean")
        someone.close()


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    given.add_argument("--large", action="store_true", help="the matrix of 1,000 x 1,000 instead")
    wanted = given.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache, chromium() as browser:
        os.environ["MAXENTRY_CACHE"] = cache
        (large if wanted.large else small)(browser, wanted.folder)


if __name__ == "__main__":
    main()
