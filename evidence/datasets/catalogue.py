"""The real matrices of the studies: what each is, whose it is, and where its publisher keeps it.

How a download is known to be what it should be:

- `checksum` of the file. MovieLens: the MD5 that GroupLens publishes beside each archive, as widely quoted (it was
  not taken from GroupLens itself). Jester: the publisher gives none; this is the SHA-256 that two others recorded of
  the publisher's file. The rest have none; those on GitHub are addressed by commit, whose content GitHub promises
  not to change, and the digest below checks it.
- `digest` of the content, for all, wherever it comes from: the SHA-256 of the matrix's values once they are parsed
  (not of its labels, which nothing checks where there is no checksum). No publisher gives it; it was computed from
  copies made earlier.
"""

from __future__ import annotations

from evidence.datasets.dataset import File, Info
from evidence.datasets.parsers import (
    buchwald_hartwig,
    complete_raters,
    direct_arylation,
    kinase_affinities,
    movielens_1m,
    movielens_100k,
    read_jester,
    read_movielens_1m,
    read_npz,
    solver_runs,
    wide_csv,
)

GITHUB = "https://raw.githubusercontent.com"
OBOE = f"{GITHUB}/udellgroup/oboe"
EDBO = f"{GITHUB}/b-shields/edbo/f7890ae84ca6347de7010cfd9dad9a3df3bd8a8f/experiments/data"
RXN_YIELDS = f"{GITHUB}/rxn4chemistry/rxn_yields/d9e6b87ce1b881978490d68bfc00021e3b48127a/data"
ASLIB = f"{GITHUB}/coseal/aslib_data"
GROUPLENS = "https://files.grouplens.org/datasets/movielens"
TURKU = "https://staff.cs.utu.fi/~aatapa/data/DrugTarget"
AFFINITIES = "drug-target_interaction_affinities_Kd__Davis_et_al.2011.txt"

_MOVIELENS_LICENCE = (
    "GroupLens: research use with acknowledgement; no commercial use and no redistribution without permission; "
    "no endorsement implied"
)
_MOVIELENS_CITATION = (
    "F. M. Harper and J. A. Konstan (2015). The MovieLens Datasets: History and Context. "
    "ACM Transactions on Interactive Intelligent Systems 5(4), 19. doi:10.1145/2827872"
)
_OBOE_CITATION = (
    "C. Yang, Y. Akimoto, D. W. Kim and M. Udell (2019). OBOE: Collaborative Filtering for AutoML Model Selection. "
    "KDD 2019. doi:10.1145/3292500.3330909"
)
_ASLIB_CITATION = (
    "B. Bischl et al. (2016). ASlib: A Benchmark Library for Algorithm Selection. "
    "Artificial Intelligence 237, 41-58. doi:10.1016/j.artint.2016.04.003"
)


def _aslib(
    name: str, title: str, shape: tuple[int, int], scenario: str, commit: str, size: int, digest: str
) -> Info:
    """Run times of solvers, all of them known: a scenario of ASlib."""
    runs = f"{scenario}/algorithm_runs.arff"
    return Info(
        name=name,
        title=title,
        shape=shape,
        known=shape[0] * shape[1],
        unit="s",
        licence="GPL-3.0 (ASlib)",
        citation=_ASLIB_CITATION,
        page="https://www.aslib.net",
        files=(File(runs, (f"{ASLIB}/{commit}/{runs}",), size),),
        parse=solver_runs,
        copy=f"aslib/{scenario}.npz",
        read_copy=read_npz,
        digest=digest,
    )


CATALOGUE: tuple[Info, ...] = (
    Info(
        name="jester",
        title="Jester: 7,200 people who rated all 100 jokes",
        shape=(7200, 100),
        known=720_000,
        unit="rating, -10 to 10",
        licence="free for research use when cited",
        citation=(
            "K. Goldberg, T. Roeder, D. Gupta and C. Perkins (2001). Eigentaste: A Constant Time Collaborative "
            "Filtering Algorithm. Information Retrieval 4(2), 133-151. doi:10.1023/A:1011419012209"
        ),
        page="https://eigentaste.berkeley.edu/dataset/",
        files=(
            File(
                "jester_dataset_1_1.zip",
                (
                    "https://eigentaste.berkeley.edu/dataset/jester_dataset_1_1.zip",
                    "https://eigentaste.berkeley.edu/dataset/archive/jester_dataset_1_1.zip",
                    # the publisher's host is away at times; the Internet Archive keeps the same file
                    "https://web.archive.org/web/20250409222630id_/https://eigentaste.berkeley.edu/dataset/archive/"
                    "jester_dataset_1_1.zip",
                ),
                4_171_628,
                "sha256:cb7841756ded125b15f3d95c9f8241224065e96354c132a46ae4214deeab7615",
                also=("jester-data-1.zip", "jester-data-1.xls"),
            ),
        ),
        parse=complete_raters,
        copy="jester/jester1_complete.npz",
        read_copy=read_jester,
        digest="676004573084dda846c2683a59043e21551d7db80d3363a304e74948c1366652",
    ),
    Info(
        name="movielens-100k",
        title="MovieLens 100K: 943 people, 1,682 movies",
        shape=(943, 1682),
        known=100_000,
        unit="stars, 1 to 5",
        licence=_MOVIELENS_LICENCE,
        citation=_MOVIELENS_CITATION,
        page="https://grouplens.org/datasets/movielens/100k/",
        files=(
            File(
                "ml-100k.zip",
                (f"{GROUPLENS}/ml-100k.zip",),
                4_924_029,
                "md5:0e33842e24a9c977be4e0107933c0723",
                also=("u.data",),
            ),
        ),
        parse=movielens_100k,
        copy="ml-100k/u.data",
        read_copy=movielens_100k,
        digest="544767718c5ec7c12f9140e34f44ea67e066fedbe9b2b9cb0136736d20b8369e",
    ),
    Info(
        name="movielens-1m",
        title="MovieLens 1M: 6,040 people, the 2,514 movies with at least 50 ratings",
        shape=(6040, 2514),
        known=977_839,
        unit="stars, 1 to 5",
        licence=_MOVIELENS_LICENCE,
        citation=_MOVIELENS_CITATION,
        page="https://grouplens.org/datasets/movielens/1m/",
        files=(
            File(
                "ml-1m.zip",
                (f"{GROUPLENS}/ml-1m.zip",),
                5_917_549,
                "md5:c4d9eecfca2ab87c1945afe126590906",
                also=("ratings.dat",),
            ),
        ),
        parse=movielens_1m,
        copy="ml-1m/ml1m_core.npz",
        read_copy=read_movielens_1m,
        digest="49b95469c6fce3592fa2778e2d6586e61319a80dc6f363ae8912d73efddd88a3",
    ),
    Info(
        name="oboe-error",
        title="AutoML: error of 219 models on 418 OpenML data sets",
        shape=(418, 219),
        known=91_542,
        unit="balanced error rate",
        licence="BSD 3-Clause",
        citation=_OBOE_CITATION,
        page="https://github.com/udellgroup/oboe",
        files=(
            File(
                "error_matrix.csv",
                (f"{OBOE}/35f871045b74b34e081876d48f8c14e896521452/automl/defaults/error_matrix.csv",),
                1_648_145,
            ),
        ),
        parse=wide_csv,
        copy="oboe/oboe_error.npz",
        read_copy=read_npz,
        digest="af515ad70e3fa39f5efb2815b60d53122a2f8c0dd84a8e8ee6aa6936cc6001cb",
    ),
    Info(
        name="oboe-runtime",
        title="AutoML: run time of 219 models on 418 OpenML data sets",
        shape=(418, 219),
        known=91_542,
        unit="s",
        licence="BSD 3-Clause",
        citation=_OBOE_CITATION,
        page="https://github.com/udellgroup/oboe",
        files=(
            File(
                "runtime_matrix.csv",
                (f"{OBOE}/1654485d59d916cbeabf1921e0e41a3659691c16/oboe/defaults/Oboe/runtime_matrix.csv",),
                1_789_017,
            ),
        ),
        parse=wide_csv,
        copy="oboe/oboe_runtime.npz",
        read_copy=read_npz,
        digest="96aebfc926c4f9b33c72f64d74dee9496c9d39ee2af39de5599db404f0dabeea",
    ),
    Info(
        name="direct-arylation",
        title="Direct arylation: yields with 48 ligands and bases in 36 conditions",
        shape=(48, 36),
        known=1_728,
        unit="yield, %",
        licence="MIT (the authors' repository)",
        citation=(
            "B. J. Shields et al. (2021). Bayesian Reaction Optimization as a Tool for Chemical Synthesis. "
            "Nature 590, 89-96. doi:10.1038/s41586-021-03213-y"
        ),
        page="https://github.com/b-shields/edbo",
        files=(
            File(
                "direct_arylation/experiment_index.csv",
                (f"{EDBO}/direct_arylation/experiment_index.csv",),
                169_936,
            ),
        ),
        parse=direct_arylation,
        copy="reactions/direct_arylation.npz",
        read_copy=read_npz,
        digest="b52ee8e2ff19ec368d2babd43b2bfd4180cc66cdf6304fea2726e301d3057c98",
    ),
    Info(
        name="buchwald-hartwig",
        title="Buchwald-Hartwig: yields of 45 halides and bases with 88 ligands and additives",
        shape=(45, 88),
        known=3_955,
        unit="yield, %",
        licence="MIT (this table); Apache-2.0 (the authors' repository)",
        citation=(
            "D. T. Ahneman, J. G. Estrada, S. Lin, S. D. Dreher and A. G. Doyle (2018). Predicting Reaction "
            "Performance in C-N Cross-Coupling Using Machine Learning. Science 360, 186-190. "
            "doi:10.1126/science.aar5169"
        ),
        page="https://github.com/rxn4chemistry/rxn_yields",
        files=(
            File(
                "Dreher_and_Doyle_input_data.xlsx",
                (f"{RXN_YIELDS}/Buchwald-Hartwig/Dreher_and_Doyle_input_data.xlsx",),
                2_134_762,
            ),
        ),
        parse=buchwald_hartwig,
        copy="reactions/buchwald_hartwig.npz",
        read_copy=read_npz,
        digest="5de0fca45a179dbdd0d6eebe51554db67309d689aa88cb21b739433e37a06060",
    ),
    Info(
        name="davis",
        title="Davis: 68 kinase inhibitors against 442 kinases",
        shape=(68, 442),
        known=30_056,
        unit="pKd",
        licence="no licence stated; cite the papers",
        citation=(
            "M. I. Davis et al. (2011). Comprehensive Analysis of Kinase Inhibitor Selectivity. Nature Biotechnology "
            "29, 1046-1051. doi:10.1038/nbt.1990; table by T. Pahikkala et al. (2015). Briefings in Bioinformatics "
            "16, 325-337. doi:10.1093/bib/bbu010"
        ),
        page="https://staff.cs.utu.fi/~aatapa/data/DrugTarget/",
        files=(
            File(AFFINITIES, (f"{TURKU}/{AFFINITIES}",), 200_000),
            File("drug_PubChem_CIDs.txt", (f"{TURKU}/drug_PubChem_CIDs.txt",), 600),
            File("target_gene_names.txt", (f"{TURKU}/target_gene_names.txt",), 3_000),
        ),
        parse=kinase_affinities,
        copy="davis/davis_pKd.npz",
        read_copy=read_npz,
        digest="6e9be6be082fef322ad9fa0aa3a58ddf5a9f383dc4852d10c0ece9f6ee4679c4",
    ),
    _aslib(
        "sat11",
        "SAT 2011, industrial: run time of 18 solvers on 300 formulas, cut off at 5,000 s",
        shape=(300, 18),
        scenario="SAT11-INDU",
        commit="ff5cffb640006f817f161392bba5bf9349a49b70",
        size=622_727,
        digest="1ec071f52c19054fe780ad31972bf4bb7ec64211dd5bacd6a82e8d31614c7567",
    ),
    _aslib(
        "sat20",
        "SAT 2020, main track: run time of 67 solvers on 400 formulas, cut off at 5,000 s",
        shape=(400, 67),
        scenario="SAT20-MAIN",
        commit="66a5b2ddd5ad9cdf68539568d1de3ae47dd8bd57",
        size=1_970_699,
        digest="ecb16efaa252845124980c11bbfc6e7d8c88967f9ea232c8b843464f94a33af8",
    ),
)
