"""What all workers share: the job, the clock, and what is written. Needs NumPy alone, as it runs in every peer's venv.

A worker is called as `worker.py JOB.npz OUT`, in a process of its own, and writes OUT.json (times, memory, errors) and,
when it records, OUT.npz (`draws`: chain x sweep x watched entry).
"""

import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path

BEGAN = time.perf_counter(), time.process_time()

import numpy as np  # noqa: E402  (what it takes to import is part of what is measured)

GROWTH = 1.15  # from one look at the held-out error to the next


class Job:
    """What to do; the arrays and settings of JOB.npz as attributes.

    what: "timed" (sweeps and nothing else, for time and memory), "recorded" (predictions after every sweep), "first"
        (what a user's first small fit takes) or "tuned" (the settings that predict a tenth of the data best)
    shape, rows, cols, values: the entries to learn from
    test_rows, test_cols, test_values: the held-out ones
    watched_rows, watched_cols: unobserved entries whose draws are wanted
    rank, sweeps, burnin, threads, seeds, seconds: the settings; it stops of itself when the processor has spent the
        seconds on each thread
    options: of the peer, as JSON
    """

    def __init__(self, path):
        with np.load(path) as file:
            for name in file.files:
                value = file[name]
                setattr(self, name, value if value.ndim else value.item())
        self.options = json.loads(self.options)
        self.shape = tuple(int(m) for m in self.shape)
        self.seeds = [int(seed) for seed in self.seeds]

    @property
    def places(self):
        """Rows and columns of the watched entries, then of the held-out ones."""
        return (
            np.concatenate([self.watched_rows, self.test_rows]),
            np.concatenate([self.watched_cols, self.test_cols]),
        )


def memory(what):
    """MB resident now (VmRSS) or at most so far (VmHWM; unlike ru_maxrss it does not count what started us)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) * 1024 / 1e6
    return float("nan")


def looks(sweeps):
    """After which sweeps the held-out error is looked at."""
    found, t = [], 1.0
    while round(t) < sweeps:
        found.append(round(t))
        t = max(t * GROWTH, t + 1)
    return [*found, sweeps]


class RunningMean:
    """The mean of the predictions over the second half of the sweeps so far, in sums between two looks."""

    def __init__(self, sweeps):
        self.looks, self.t = set(looks(sweeps)), 0
        self.blocks, self.since, self.total = [], 0, 0.0

    def take(self, prediction):
        """After one more sweep; the mean where it is time for a look, otherwise None."""
        self.t += 1
        self.total = self.total + prediction
        if self.t not in self.looks:
            return None
        self.blocks.append((self.since, self.t, self.total))
        self.since, self.total = self.t, 0.0
        # Blocks wholly before the middle are never wanted again.
        self.blocks = [block for block in self.blocks if block[1] > self.t // 2]
        wanted = [block for block in self.blocks if block[0] >= self.t // 2] or self.blocks[-1:]
        return sum(block[2] for block in wanted) / sum(block[1] - block[0] for block in wanted)


class Record:
    """Times, errors and draws of one job; the clock runs only inside `timed`."""

    def __init__(self, job):
        self.job, self.begun = job, time.process_time()
        self.figures = {"imported": _since(BEGAN), "before": memory("VmRSS")}
        self.chains, self.note = [], ""

    @contextmanager
    def set_up(self):
        """From triples in memory to the first sweep."""
        begin = now()
        yield
        self.figures.setdefault("set_up", _since(begin))

    def chain(self):
        """Begin another chain."""
        self.laps, self.errors, self.draws = [], [], []
        self.mean = RunningMean(self.job.sweeps)
        self.chains.append((self.laps, self.errors, self.draws))

    @contextmanager
    def timed(self, sweeps=1):
        begin = now()
        yield
        self.laps.append([sweeps, *_since(begin)])

    def lap(self, sweeps, begin, end):
        """The same, where the sweeps are not ours to surround."""
        self.laps.append([sweeps, end[0] - begin[0], end[1] - begin[1]])

    @property
    def done(self):
        """Sweeps of this chain."""
        return sum(lap[0] for lap in self.laps)

    @property
    def over(self):
        """Whether all sweeps are made, or this chain's share of the seconds of each thread is over."""
        spent = (time.process_time() - self.begun) / self.job.threads
        return self.done >= self.job.sweeps or spent > self.job.seconds * len(self.chains) / len(
            self.job.seeds
        )

    def predicted(self, values):
        """A draw of the watched and held-out entries after the next sweep."""
        n = self.job.watched_rows.size
        self.draws.append(np.asarray(values[:n], np.float32))
        mean = self.mean.take(np.asarray(values[n:], float))
        if mean is not None:
            self.error(self.mean.t, mean)

    def error(self, sweep, estimate):
        self.errors.append([sweep, float(np.sqrt(np.mean((estimate - self.job.test_values) ** 2)))])

    def write(self, out):
        laps = [
            [[float(sum(lap[k] for lap in part)) for k in range(3)] for part in _parts(chain[0], 50)]
            for chain in self.chains
        ]
        self.figures |= {
            "laps": laps, "sweeps": [int(sum(lap[0] for lap in chain[0])) for chain in self.chains],
            "errors": [chain[1] for chain in self.chains], "clock": [_clock(*chain[:2]) for chain in self.chains],
            "peak": memory("VmHWM"), "note": self.note,
        }  # fmt: skip
        Path(f"{out}.json").write_text(json.dumps(self.figures))
        lengths = [len(chain[2]) for chain in self.chains]
        if lengths and min(lengths):
            np.savez(f"{out}.npz", draws=np.array([chain[2][: min(lengths)] for chain in self.chains]))


def now():
    """On the clock, of the processor."""
    return time.perf_counter(), time.process_time()


def _since(begin):
    return [end - start for end, start in zip(now(), begin, strict=True)]


def _parts(laps, most):
    size = max(1, -(-len(laps) // most))
    return [laps[k : k + size] for k in range(0, len(laps), size)]


def _clock(laps, errors):
    """Seconds of sampling, on the clock and of the processor, at each look at the error."""
    if not laps or not errors:
        return []
    ends = np.cumsum([[0, 0, 0], *laps], axis=0)
    at = [error[0] for error in errors]
    return np.column_stack([np.interp(at, ends[:, 0], ends[:, k]) for k in (1, 2)]).tolist()


def folded(job):
    """The job with a tenth of its entries held out instead: what settings are chosen by."""
    held = np.random.default_rng(0).random(job.values.size) < 0.1
    for name in ("rows", "cols", "values"):
        array = getattr(job, name)
        setattr(job, f"test_{name}", array[held])
        setattr(job, name, array[~held])
    return job


def rmse(job, estimate):
    return float(np.sqrt(np.mean((estimate - job.test_values) ** 2)))


def main(one_chain, tune=None):
    """Do what the command line asks for: `tune(job, record)`, or `one_chain(job, record, seed)` for each seed."""
    job_path, out = sys.argv[1:]
    job = Job(job_path)
    record = Record(job)
    if job.what == "tuned":
        record.chain()
        tune(job, record)
    else:
        for seed in job.seeds:
            record.chain()
            one_chain(job, record, seed)
    record.write(out)
