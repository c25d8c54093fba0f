"""What features of rows and columns are worth: beside SMURFF's Macau prior and myFM, and where they say nothing.

    python -m benchmarks.side_information                     # checks without a result, then side_information.md
    python -m benchmarks.side_information useless --again
    python -m benchmarks.side_information macau --quick       # one seed; prints only

Figures of single runs are kept in `results/*.jsonl`; delete a line to measure it again.
"""

from pathlib import Path

from benchmarks.checks import main
from benchmarks.side_information import against_macau, harmless, large, misfit, missing, ratings

HERE = Path(__file__).parent
NOTES = """
**macau**: the same features, rank 8 and as many sweeps for both: four of our chains with 300 each (200 of them to
settle), one chain of SMURFF 1.1 with 1,200 (400 of them to settle); all other sweeps are averaged. SMURFF has two
solvers: with fingerprints the faster one, conjugate gradients, else the direct one. One thread. Error is that of
held-out measurements; warm rows have others to learn from, cold ones none. Times are of the processor, on a busy
machine, without compilation. Fingerprints are simulated (2,000 x 100, 1,000 bits, 5% observed). MovieLens has age,
gender and occupation of users, genres and year of movies. AutoML errors have the errors of 20 models that are no
columns of the table; their fits without features average every fourth sweep. A tenth of the rows is cold, other ones
for each seed.

**misfit**: why the intervals of cold AutoML rows are wide by default. Tables are drawn from a fit that gives each
column (or row) a noise of its own, with that noise and with one noise of the same mean square; all are fitted with one
noise, as AutoML errors are by default. An error over its sd of 1 is right. 20 seeds, rank 8.

**missing**: rows without a measurement where features are missing at random, of all rows. Simulated: 100 rows with a
third of their 20 entries and 40 without any; four numbers, two of which matter, a solvent and a rare flag; rank 2.

**large**: simulated fingerprints of about 50 bits a row, by conjugate gradients; rank 8, one thread, processor time of
a sweep after twenty. **crossover**: the same bits with singular vectors, found once for all chains, and by conjugate
gradients, 1,200 sweeps a fit (the default's fewest). With these bits a fit takes vectors up to 1,500 rows and gradients
beyond: where thirty times the stored numbers are fewer than those of the vectors.

**u1, 80 to 20, 1M**: root mean square error, coverage of 90% predictive intervals, processor time, and the rank that
weighs most. Our rank is "auto", compared on parts of the training set; myFM has rank 10 and 300 sweeps.

**useless**: ten columns of random numbers as features of rows, and the first of them alone; 12 splits of each table.
Of real tables 30% of the entries are known, of simulated ones 15 to 40%. Features that say nothing of the values
beyond chance are left out: a permutation test finds that of nine in ten such sides, and their fit is the one without.
One in ten is used by chance, so 12 splits are few: **useless_often** has 300 of the smallest table. Simulated tables
are as the fit without features expects them, so that the prior of a fit that uses features must lose; what was tried:
[notes](NOTES.md#useless-features).
**sweep**: 1,000 x 1,000, 50,000 measurements, rank 8.
"""
CHECKS = (
    against_macau.CHECKS | misfit.CHECKS | missing.CHECKS | large.CHECKS | ratings.CHECKS | harmless.CHECKS
)

if __name__ == "__main__":
    head = f"{__doc__.splitlines()[0]}\n\nWritten by `python -m benchmarks.side_information`."
    head += (
        " Lines of 1M and u1 as grades are of priors of before: without features that of row and"
        " column effects, IG(1/2, 0.0001) ([averages](averages.md)); with features that of what they do not explain,"
        " Wishart(K) with S₀ = diag(0.1, …, 0.1, 0.01) ([mathematics](../docs/mathematics.md), section 20).\n"
    )
    head += NOTES
    main(__doc__, head, HERE.parent / "side_information.md", HERE / "results", CHECKS)
