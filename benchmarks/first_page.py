"""From `maxentry serve` to the first page.

    .venv/bin/python -m benchmarks.first_page [turns]    # writes benchmarks/first_page.md

A new process each time, over a storage with three campaigns. Seconds from its start until it says where it is, until
the page has come, and until headless Chromium (started before) shows the list of campaigns; then, in the same browser,
from the click on a campaign of 1,000 x 1,000 until its map of measured values is drawn. Medians, and the slowest.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from benchmarks.measures import table
from tests.dashboard.browser import Watched, chromium

from maxentry.campaign.campaign import Campaign

SHAPE, TOLD = (1000, 1000), 20_000
STEPS = ("it says where it is", "the page has come", "the list is shown", "the map of 1,000 x 1,000 is drawn")


def storage(folder: str) -> str:
    """Three campaigns, one of them large."""
    where = f"{folder}/lab.db"
    for name in ("yields", "solvents"):
        Campaign.create(where, name, 24, 16, seed=1).close()
    with Campaign.create(where, "large", *SHAPE, seed=1) as large:
        rows, cols = np.divmod(
            np.random.default_rng(1).choice(SHAPE[0] * SHAPE[1], TOLD, replace=False), SHAPE[1]
        )
        large.tell(row=rows.tolist(), col=cols.tolist(), value=np.sin(rows / 90.0) * np.cos(cols / 70.0))
    return where


def once(where: str, browser: Any) -> list[float]:
    """Seconds until each step."""
    command = [sys.executable, "-m", "maxentry", "serve", "--port", "0", "--storage", where]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            assert server.stdout is not None
            said = next(line for line in server.stdout if "http://" in line)
            seconds = [time.perf_counter() - begun]
            url = "http://" + said.split("http://")[1].split()[0].rstrip("/.,;")
            assert httpx.get(url, timeout=30).status_code == 200
            seconds.append(time.perf_counter() - begun)
            someone = Watched(browser, url)
            page = someone.tab()
            page.get_by_role("link", name="large").wait_for()
            seconds.append(time.perf_counter() - begun)
            clicked = time.perf_counter()
            page.get_by_role("link", name="large").click()
            page.get_by_role("button", name="Measured", exact=True).click()
            page.locator(".map[data-loaded=value]").wait_for()
            seconds.append(time.perf_counter() - clicked)
            someone.close()
        finally:
            server.kill()  # it has begun a fit of the large one, which is of no interest here
            server.wait(30)
    return seconds


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        os.environ["MAXENTRY_CACHE"] = f"{folder}/cache"
        where = storage(folder)
        load = os.getloadavg()[0]
        found = np.array([once(where, browser) for _ in range(turns)])
    lines = [[step, f"{np.median(x):.2f}", f"{x.max():.2f}"] for step, x in zip(STEPS, found.T, strict=True)]
    assert __doc__ is not None
    words = "\n".join(__doc__.splitlines()[4:])
    text = f"# {__doc__.splitlines()[0]}\n\n{words}\n\n{table(['until', 'median, s', 'slowest, s'], lines)}\n"
    text += f"\n{turns} turns on {os.cpu_count()} cores; the load was {load:.1f} before.\n"
    Path(__file__).with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
