"""Work in the background: 202 and a job, progress, streams, calling off, and that nobody else waits for it."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import httpx
import pytest
from tests.server.live import begin, post, running, serving

from maxentry._io import checkpoint
from maxentry.campaign import fits as fitting
from maxentry.errors import DataError
from maxentry.server import service
from maxentry.server.connections import CLIENT
from maxentry.server.jobs import MOST_RESULTS, Job, JobQueue
from maxentry.server.options import ServerLimits
from maxentry.server.problems import HttpProblem
from maxentry.server.service import CampaignFits


class Slow:
    """In the place of the sampler: goes on, step by step, until it is let go."""

    def __init__(self) -> None:
        self.go, self.calls = threading.Event(), 0

    def __call__(self, state: Any, cache: Any = None, *, progress: Any = None) -> Any:
        self.calls += 1
        bar = progress(10_000, "sampling")
        while not self.go.is_set():
            bar.advance()
            time.sleep(0.005)
        return REAL(state, cache, progress=progress)


REAL = fitting.fit_posterior


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    made = Slow()
    monkeypatch.setattr(fitting, "fit_posterior", made)
    return made


def measured(client: httpx.Client, name: str = "yields", **given: Any) -> str:
    path = begin(client, name, **given)
    lines = [
        {"row": i, "col": j, "value": i + j / 7} for i, j in ((0, 0), (1, 1), (2, 2), (3, 3), (0, 4), (1, 0))
    ]
    assert client.post(f"{path}/tell", json={"lines": lines}).status_code == 200
    return path


def until(client: httpx.Client, job: dict[str, Any], *statuses: str) -> dict[str, Any]:
    end = time.monotonic() + 120
    while job["status"] not in statuses and time.monotonic() < end:
        time.sleep(0.02)
        job = client.get(f"/jobs/{job['id']}").json()
    assert job["status"] in statuses, job
    return job


def test_a_fit_that_takes_long_is_a_job_with_progress(slow: Slow) -> None:
    with serving() as client:
        path = measured(client)
        answer = client.get(f"{path}/posterior?wait=0.1")
        assert answer.status_code == 202
        assert answer.headers["Location"] == f"/api/v1/jobs/{answer.json()['id']}"
        first = until(client, answer.json(), "running")
        later, end = first["progress"], time.monotonic() + 60
        while later["done"] <= first["progress"]["done"] and time.monotonic() < end:
            time.sleep(0.01)
            later = client.get(f"/jobs/{first['id']}").json()["progress"]
        assert later["what"] == "sampling"
        assert first["progress"]["done"] < later["done"] < later["total"] == 10_000
        same = client.get(f"{path}/posterior?wait=0")
        assert same.json()["id"] == first["id"]  # whoever else wants it does not begin another
        slow.go.set()
        assert until(client, first, "done")["result"]["measurements"] == 6
        assert client.get(f"{path}/posterior?wait=0").status_code == 200
        assert slow.calls == 1


def test_nobody_else_waits_for_a_fit(slow: Slow) -> None:
    """Reading, telling, and asking where no model is needed, of this campaign and of others."""
    with serving() as client:
        path = measured(client)
        fit = until(client, client.get(f"{path}/posterior?wait=0").json(), "running")
        other = begin(client, "other")
        for place in (
            "",
            "/asked",
            "/history",
            "/measurements",
            "/export",
            "/labels",
            "/entry?row=0&col=0",
            "/map?what=value",
        ):
            assert client.get(path + place).status_code == 200, place
        assert (
            client.post(f"{path}/tell", json={"lines": [{"row": 3, "col": 4, "value": 1.0}]}).status_code
            == 200
        )
        for where in (path, other):
            assert client.post(f"{where}/ask?wait=30", json={"n": 1}).status_code == 201
        fits = [job for job in client.get("/jobs").json()["items"] if job["kind"] == "fit"]
        assert [(job["id"], job["status"]) for job in fits] == [(fit["id"], "running")]


def test_the_last_fit_serves_while_the_next_is_made(slow: Slow) -> None:
    slow.go.set()
    with serving() as client:
        path = measured(client)
        assert client.get(f"{path}/posterior?wait=60").json()["fit"]["current"] is True
        slow.go.clear()
        client.post(f"{path}/tell", json={"lines": [{"row": 3, "col": 4, "value": 1.0}]})
        assert client.get(f"{path}/posterior?wait=0").status_code == 202
        stale = client.get(f"{path}/posterior?wait=0&stale=true")
        assert stale.status_code == 200
        assert stale.json()["fit"] == {"version": 2, "current": False, "measurements": 6}
        entry = client.get(f"{path}/entry?row=3&col=4").json()
        assert entry["measurements"][0]["value"] == 1.0
        assert entry["fit"]["current"] is False
        assert entry["believed"]["low"] <= entry["believed"]["mean"] <= entry["believed"]["high"]


def test_a_stream_follows_a_job_to_its_end(slow: Slow) -> None:
    with serving() as client:
        path = measured(client)
        job = client.get(f"{path}/posterior?wait=0").json()
        seen: list[tuple[str, dict[str, Any]]] = []
        with client.stream("GET", f"/jobs/{job['id']}/events") as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            kind = ""
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    kind = line.removeprefix("event: ")
                if line.startswith("data: "):
                    seen.append((kind, json.loads(line.removeprefix("data: "))))
                if not slow.go.is_set():
                    before = list(seen)
                    done = [data["progress"]["done"] for _, data in before]
                    if len(before) >= 3 and done[-1] > done[0]:
                        slow.go.set()
        assert {kind for kind, _ in before} == {"progress"}
        assert done == sorted(done)
        assert len(before) >= 3
        assert seen[-1][0] == "done"


def test_a_stream_follows_a_campaign() -> None:
    with serving() as client:
        path = begin(client)
        with client.stream("GET", f"{path}/changes?seconds=600") as stream:
            lines = stream.iter_lines()
            first = next(line for line in lines if line.startswith("data: "))
            client.post(f"{path}/ask", json={"n": 1})
            second = next(line for line in lines if line.startswith("data: "))
        versions = [json.loads(line.removeprefix("data: "))["version"] for line in (first, second)]
        assert versions == [1, 2]


def test_a_job_is_cancelled(slow: Slow) -> None:
    with serving() as client:
        path = measured(client, acquisition="predictive_variance", n_initial=2)
        answer = client.post(f"{path}/ask?wait=0.05", json={"n": 2})
        assert answer.status_code == 202
        until(client, answer.json(), "running")
        assert client.delete(f"/jobs/{answer.json()['id']}").status_code == 202
        ended = until(client, answer.json(), "cancelled")
        assert ended["problem"]["type"].endswith("cancelled")
        assert client.get(path).json()["pending"] == 0  # nothing was handed out
        slow.go.set()
        assert client.post(f"{path}/ask?wait=60", json={"n": 2}).status_code == 201


def test_a_job_that_waits_is_cancelled_at_once(slow: Slow) -> None:
    """And makes room for another, though the one that runs goes on."""
    with serving(limits=ServerLimits(rate=0, workers=1, waiting=1)) as client:
        paths = [measured(client, f"campaign {k}") for k in range(3)]
        runs, waits = (client.get(f"{path}/posterior?wait=0").json() for path in paths[:2])
        until(client, runs, "running")
        assert client.delete(f"/jobs/{waits['id']}").json()["status"] == "cancelled"
        assert client.get(f"{paths[2]}/posterior?wait=0").status_code == 202
        assert client.get(f"/jobs/{runs['id']}").json()["status"] == "running"
        slow.go.set()
        until(client, runs, "done")
        assert client.get(f"/jobs/{waits['id']}").json()["status"] == "cancelled"


def test_a_real_fit_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends within a few of its thousands of sweeps, leaves nothing behind, and can be made after all."""
    count = Job.advance

    def wait(job: Job, n: int = 1) -> None:
        """Sampling is faster than a request may be: each step takes as long as the job may live."""
        count(job, n)
        job._cancelled.wait(120)

    monkeypatch.setattr(Job, "advance", wait)
    with serving() as client:
        path = begin(client, rows=40, cols=40)
        lines = [
            {"row": i, "col": j, "value": (i - 20) * (j % 7) / 40}
            for i in range(40)
            for j in range(40)
            if (3 * i + j) % 5 == 0
        ]
        client.post(f"{path}/tell", json={"lines": lines})
        job = client.get(f"{path}/posterior?wait=0").json()
        end = time.monotonic() + 120
        while not job["progress"]["done"] and not job["ended_at"] and time.monotonic() < end:
            time.sleep(0.01)
            job = client.get(f"/jobs/{job['id']}").json()
        assert job["status"] == "running"
        client.delete(f"/jobs/{job['id']}")
        assert until(client, job, "cancelled")["progress"]["done"] < job["progress"]["total"]
        entry = client.get(f"{path}/entry?row=0&col=0").json()
        assert (entry["fit"], entry["believed"]) == (None, None)
        again = client.get(f"{path}/posterior?wait=0").json()
        assert again["id"] != job["id"]
        client.delete(f"/jobs/{again['id']}")


def test_whoever_waits_hears_that_the_server_ends(slow: Slow) -> None:
    with serving() as client:
        path = measured(client)
        jobs = client.app.state.service.jobs  # type: ignore[attr-defined]
        answers: list[httpx.Response] = []
        waiting = threading.Thread(target=lambda: answers.append(client.get(f"{path}/posterior?wait=60")))
        waiting.start()
        end = time.monotonic() + 60
        while not jobs.recent() and time.monotonic() < end:
            time.sleep(0.01)
        jobs.cancel_all()
        waiting.join(250)
        assert len(answers) == 1
        for answer in (*answers, client.get(f"{path}/posterior?wait=60")):
            assert answer.status_code == 503
            assert answer.headers["Retry-After"]
            assert answer.json()["type"].endswith("closing")
        assert not slow.go.is_set()
        assert client.get(path).status_code == 200  # what needs no work is still answered


def test_streams_are_not_without_number(slow: Slow) -> None:
    """Those that are let in are counted from then on, and no longer than they last."""
    with serving(limits=ServerLimits(rate=0, streams=2)) as client:
        path = measured(client)
        job = client.get(f"{path}/posterior?wait=0").json()
        open_now = client.app.state.streams  # type: ignore[attr-defined]
        with (
            client.stream("GET", f"{path}/changes?seconds=600") as one,
            client.stream("GET", f"/jobs/{job['id']}/events") as other,
        ):
            assert (one.status_code, other.status_code) == (200, 200)
            refused = client.get(f"{path}/changes")
            assert refused.status_code == 429
            assert refused.headers["Content-Type"] == "application/problem+json"
        end = time.monotonic() + 60
        while open_now and time.monotonic() < end:
            time.sleep(0.02)
        assert not open_now
        assert client.get(f"{path}/changes?seconds=0").status_code == 200
        slow.go.set()


def test_the_fit_of_an_ask_serves_as_the_last_one() -> None:
    with serving() as client:
        path = measured(client, acquisition="predictive_variance", n_initial=2, rank=1)
        assert client.post(f"{path}/ask?wait=60", json={"n": 1}).status_code == 201
        client.post(f"{path}/tell", json={"lines": [{"row": 3, "col": 4, "value": 1.0}]})
        stale = client.get(f"{path}/posterior?wait=0&stale=true")
        assert stale.status_code == 200
        assert stale.json()["fit"] == {"version": 2, "current": False, "measurements": 6}


def test_fits_of_campaigns_that_are_not_looked_at_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """From memory; what was found is found again."""
    monkeypatch.setattr(service, "MOST_FITTED", 2)
    with serving() as client:
        paths = [measured(client, f"campaign {k}", rank=1) for k in range(4)]
        maps = [client.get(f"{path}/map?what=mean&wait=60").json()["values"] for path in paths]
        at_hand = [client.get(f"{path}/entry?row=0&col=0").json()["fit"] is not None for path in paths]
        assert at_hand == [False, False, True, True]
        opened = [client.app.state.service.open(f"campaign {k}") for k in range(4)]  # type: ignore[attr-defined]
        assert [len(one.fits) > 0 for one in opened] == at_hand
        assert [len(one.maps) > 0 for one in opened] == at_hand
        assert client.get(f"{paths[0]}/map?what=mean&wait=60").json()["values"] == maps[0]


def test_an_ask_in_the_background_is_had_by_its_key(slow: Slow) -> None:
    with serving() as client:
        path = measured(client, acquisition="predictive_variance", n_initial=2)
        key = {"Idempotency-Key": "k"}
        answer = client.post(f"{path}/ask?wait=0", json={"n": 2}, headers=key)
        assert answer.status_code == 202
        assert (
            client.post(f"{path}/ask?wait=0", json={"n": 2}, headers=key).json()["id"] == answer.json()["id"]
        )
        slow.go.set()
        ids = until(client, answer.json(), "done")["result"]["ids"]
        entries = client.post(f"{path}/ask?wait=0", json={"n": 2}, headers=key)
        assert entries.status_code == 201
        assert [entry["id"] for entry in entries.json()["entries"]] == ids == [1, 2]
        assert client.get(f"{path}/batch", params={"id": ids}).json()["entries"] == entries.json()["entries"]
        assert client.get(path).json()["pending"] == 2


def test_what_went_wrong_is_told_at_once_or_with_the_job() -> None:
    with serving() as client:
        path = begin(client, rows=2, cols=2)
        client.post(f"{path}/ask", json={"n": 4})
        refused = client.post(f"{path}/ask?wait=30", json={"n": 1})
        assert refused.status_code == 409
        assert refused.json()["error"] == "NothingToAskError"
        assert "4 pending" in refused.json()["detail"]
        assert client.get(f"{path}/posterior").json()["error"] == "CampaignError"


def test_too_much_work_is_refused(slow: Slow) -> None:
    with serving(limits=ServerLimits(rate=0, workers=1, waiting=1)) as client:
        paths = [measured(client, f"campaign {k}") for k in range(3)]
        answers = [client.get(f"{path}/posterior?wait=0") for path in paths]
        assert [a.status_code for a in answers] == [202, 202, 429]
        assert answers[2].headers["Retry-After"]
        assert client.get(paths[2]).status_code == 200


def test_a_server_ends_although_a_fit_goes_on(slow: Slow) -> None:
    with serving() as client:
        path = measured(client)
        client.get(f"{path}/posterior?wait=0")
        job = client.app.state.service.jobs.recent()[0]  # type: ignore[attr-defined]
    assert job.status == "cancelled"
    assert not slow.go.is_set()


# Jobs and fits by themselves


def test_a_job_s_error_is_a_problem() -> None:
    jobs = JobQueue(1, 4)

    def fails(_: Any) -> None:
        raise DataError("expected better.")

    job = jobs.start(Job("fit", "x", "1"), fails)
    end = time.monotonic() + 120
    while not job.over and time.monotonic() < end:
        time.sleep(0.01)
    assert job.status == "failed"
    assert job.problem.detail == "expected better."
    jobs.close()
    with pytest.raises(HttpProblem):
        jobs.start(Job("fit", "x", "1"), fails)


def test_those_who_want_one_fit_share_it() -> None:
    fits = CampaignFits(None)
    assert fits.get("a") is None  # this thread is to make it
    made, found = object(), []
    threads = [threading.Thread(target=lambda: found.append(fits.get("a"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    assert found == []
    fits.put("a", made)  # type: ignore[arg-type]
    for thread in threads:
        thread.join(250)
    assert found == [made] * 3


def test_who_gives_up_leaves_it_to_the_next() -> None:
    fits = CampaignFits(None)
    assert fits.get("a") is None
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(fits.get("a")))
    thread.start()
    time.sleep(0.05)
    assert found == []
    fits.release()
    thread.join(250)
    assert found == [None]


def test_nobody_joins_what_was_cancelled() -> None:
    jobs, go = JobQueue(1, 5), threading.Event()
    first = jobs.start(Job("fit", "a", "1"), lambda watch: go.wait(30), "key")
    assert jobs.start(Job("fit", "a", "1"), lambda watch: None, "key") is first
    first.cancel()
    second = jobs.start(Job("fit", "a", "1"), lambda watch: "made", "key")
    assert second is not first
    go.set()
    jobs.close()


def test_to_close_waits_for_no_job_that_was_cancelled_in_the_queue() -> None:
    jobs, running, go = JobQueue(1, 5), threading.Event(), threading.Event()

    def work(watch: Any) -> None:
        running.set()
        go.wait(60)

    jobs.start(Job("fit", "a", "1"), work)
    queued = jobs.start(Job("fit", "b", "2"), lambda watch: "made")
    assert running.wait(60)
    threading.Timer(0.05, go.set).start()
    began = time.monotonic()
    jobs.close(seconds=60)
    assert time.monotonic() - began < 30
    assert queued.over
    assert queued.result is None


def test_one_client_cannot_fill_the_queue() -> None:
    """Over REST: fits of many campaigns from one address, and one from another."""
    go = threading.Event()
    limits = ServerLimits(rate=0, workers=1, waiting=8, client_jobs=3)
    with running(limits=limits) as (url, app):
        jobs = app.state.service.jobs
        token = CLIENT.set("127.0.0.1")
        begun = [jobs.start(Job("fit", "a", str(k)), lambda watch: go.wait(60)) for k in range(3)]
        CLIENT.reset(token)
        body = {"name": "x", "rows": 4, "cols": 4, "seed": 1}
        assert post(f"{url}/api/v1/campaigns", json=body).status_code == 201
        address = f"{url}/api/v1/campaigns/x/ask?wait=0"
        refused = post(address, json={"n": 1})
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) > 0
        assert "at most 3 jobs of one client" in refused.json()["detail"]
        with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2"), timeout=60) as other:
            assert other.post(address, json={"n": 1}).status_code == 202
        go.set()
        while not all(job.over for job in begun):
            time.sleep(0.01)
        assert post(address, json={"n": 1}).status_code in (201, 202)


def test_old_results_are_let_go() -> None:
    jobs = JobQueue(1, 500)
    made = [jobs.start(Job("next", "a", "1"), lambda watch: "made") for _ in range(MOST_RESULTS + 2)]
    while not all(job.over for job in made):
        time.sleep(0.01)
    jobs.start(Job("next", "a", "1"), lambda watch: "made")
    assert [job.result for job in made[:3]] == [None, None, "made"]
    jobs.close()


def test_the_result_of_a_long_job_is_there_though_many_short_ones_were_quicker() -> None:
    """The oldest job by its beginning is the latest by its end: who waited for it was answered by 500."""
    jobs, go = JobQueue(2, 500), threading.Event()
    long = jobs.start(Job("curve", "a", "1"), lambda watch: go.wait(60) and "made")

    def run_short_jobs() -> None:
        for _ in range(MOST_RESULTS + 2):
            short = jobs.start(Job("ask", "a", "1"), lambda watch: "made")
            while not short.over:
                time.sleep(0.001)

    run_short_jobs()
    go.set()
    while not long.over:
        time.sleep(0.001)
    jobs.start(Job("ask", "a", "1"), lambda watch: "made")
    assert long.result == "made"
    long.waiting = 1  # a request that has not seen yet that it is over
    run_short_jobs()
    assert long.result == "made"
    jobs.close()


def test_work_without_progress_is_cancelled_at_its_next_checkpoint() -> None:
    queue, begun = JobQueue(1, 1), threading.Event()

    def search(_: object) -> None:
        for _ in range(600):  # a minute at most, should nothing cancel it
            begun.set()
            checkpoint()
            time.sleep(0.1)

    job = queue.start(Job("ask", "x", "1"), search)
    assert begun.wait(120)
    job.cancel()
    queue.close(120)
    assert job.status == "cancelled"
    assert not queue.running
