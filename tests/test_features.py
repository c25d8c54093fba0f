"""Features of rows and columns: read by label from any source, encoded, standardised, and stored exactly."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from maxentry import Sampling, complete, tables
from maxentry.errors import DataError, LabelError, MaxentryError
from maxentry.features import Features, FeatureTable, describe_slips, read_features, read_labels
from maxentry.labels import Axis
from maxentry.model import relevance

ROWS = Axis("row", 4, ("a", "b", "c", "d"))
NUMBERED = Axis("row", 4, None)
LOGP = [1.0, 2.0, 4.0, 5.0]
SOLVENT = ["THF", "DMF", "THF", "water"]


def frame(**more: Any) -> pd.DataFrame:
    columns = {"logp": LOGP, "acid": [True, False, False, True], "solvent": pd.Categorical(SOLVENT), **more}
    return pd.DataFrame(columns, index=list("abcd"))


def read_csv(text: str, axis: Axis = ROWS, **options: Any) -> Features:
    return Features.of(tables.read(io.StringIO(text)), axis, **options)


def test_numbers_flags_and_categories_become_standardised_columns() -> None:
    F = Features.of(frame(), ROWS)
    assert F.names == ("logp", "acid", "solvent=DMF", "solvent=THF", "solvent=water")
    assert F.shape == F.matrix.shape == (4, 5)
    np.testing.assert_allclose(F.matrix.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(F.matrix.std(axis=0), 1)
    np.testing.assert_allclose(F.matrix[:, 0] * F.scale[0] + F.centre[0], LOGP)
    np.testing.assert_allclose(F.matrix[:, 3] * F.scale[3] + F.centre[3], [1, 0, 1, 0], atol=1e-15)
    assert F.notes == ()


def test_a_frame_is_read_by_label_in_any_order_and_from_any_library() -> None:
    wanted = Features.of(frame(), ROWS).matrix
    shuffled = frame().iloc[[3, 1, 0, 2]]
    named = shuffled.reset_index(names="compound")
    in_polars = pl.DataFrame(named.astype({"solvent": str})).cast(
        {"solvent": pl.Enum(["DMF", "THF", "water"])}
    )
    lazy = in_polars.with_columns(pl.col("solvent").cast(pl.Categorical)).lazy()
    for given in (shuffled, named, in_polars, lazy):
        np.testing.assert_allclose(Features.of(given, ROWS).matrix, wanted, atol=1e-15)


def test_a_mapping_of_rows_is_read_by_label() -> None:
    numbers = frame()[["logp", "acid"]].iloc[[3, 1, 0, 2]]
    given: dict[Any, Any] = numbers.to_dict("index")
    np.testing.assert_array_equal(Features.of(given, ROWS).matrix, Features.of(numbers, ROWS).matrix)
    del given["b"]["acid"]
    assert "marked: acid (1)" in Features.of(given, ROWS).notes[0]


def test_labels_are_compared_as_text_so_that_numbers_from_a_file_are_found() -> None:
    F = read_csv("row,logp\n12,5\n10,1\n11,2\n13,7\n", Axis("row", 4, (10, 11, 12, 13)))
    np.testing.assert_allclose(F.matrix[:, 0] * F.scale + F.centre, [1, 2, 5, 7])


def test_arrays_are_in_the_order_of_the_rows() -> None:
    X = np.array([[1, 7], [2, 7], [3, 8], [9, 8]])
    F = Features.of(X, NUMBERED)
    np.testing.assert_allclose(F.matrix, (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-15)
    assert F.names == ("0", "1")
    with pytest.raises(DataError, match="expected features of 4 rows in their order, got 3"):
        Features.of(X[:3], NUMBERED)


def test_missing_values_are_the_mean_of_their_column_and_marked() -> None:
    F = Features.of(frame(logp=[1.0, None, 4.0, 7.0]), ROWS)
    assert F.names[-1] == "logp missing"
    assert F.matrix[1, 0] == 0  # the mean
    np.testing.assert_allclose(F.matrix[:, -1] * F.scale[-1] + F.centre[-1], [0, 1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(F.matrix[:, :-1].std(axis=0), 1)
    assert F.scale[-1] == 1  # a mark has the size of one sd of a feature, however rare it is
    assert F.notes == (
        "row features: missing values are taken as the mean of their column, and marked: logp (1)",
    )


def test_a_missing_category_is_its_mean_and_marked() -> None:
    F = Features.of(frame(solvent=pd.Categorical(["THF", None, "THF", "water"])), ROWS)
    assert F.names[-1] == "solvent missing"
    np.testing.assert_allclose(F.matrix[1, [2, 3]], 0, atol=1e-15)


def test_rows_without_features_are_missing_and_unknown_ones_left_out_and_both_are_said() -> None:
    F = Features.of(pd.DataFrame({"x": [1.0, 3.0, 9.0], "y": [2.0, 2.5, 0.0]}, index=["c", "zz", "a"]), ROWS)
    assert F.names == ("x", "y", "x missing")  # one mark for rows without any feature
    assert F.matrix[1, 0] == F.matrix[3, 0] == 0
    assert F.notes[:2] == (
        "row features: features of 1 unknown row are left out: 'zz'",
        "row features: 2 rows without features: 'b', 'd'",
    )
    with pytest.raises(DataError, match="expected features by row label"):
        Features.of(pd.DataFrame({"x": [1.0, 2.0]}, index=["A1", "A2"]), ROWS)
    with pytest.raises(DataError, match="'a' twice"):
        Features.of(pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "a"]), ROWS)


def test_constant_columns_are_dropped_and_said() -> None:
    F = Features.of(frame(batch=7, nothing=np.nan, nearly=1e9 + np.arange(4) * 1e-6), ROWS)
    assert "batch" not in F.names
    assert "nothing" not in F.names
    assert "nearly" not in F.names
    assert F.notes == ("row features: 3 constant features dropped: batch, nothing, nearly",)
    with pytest.raises(DataError, match="only constant"):
        Features.of(np.ones((4, 2)), NUMBERED)


def test_text_is_refused_with_a_hint_unless_it_is_declared_a_category() -> None:
    given = frame(solvent=SOLVENT)
    with pytest.raises(DataError, match=r"got the text 'THF'.*astype\({'solvent': 'category'}\)") as refused:
        Features.of(given, ROWS)
    assert refused.value.code == "text_feature"
    assert refused.value.fields == {"feature": "solvent"}
    np.testing.assert_array_equal(
        Features.of(given, ROWS, ["solvent"]).matrix, Features.of(frame(), ROWS).matrix
    )
    with pytest.raises(DataError, match="expected categories among the features 'logp'"):
        Features.of(given, ROWS, ["solvents"])
    smiles = Axis("row", 1200, tuple(range(1200)))
    with pytest.raises(DataError, match="at most 1000 levels"):
        Features.of(pd.DataFrame({"smiles": [f"C{k}" for k in range(1200)]}), smiles, ["smiles"])


def test_csv_with_decimal_commas_words_for_nothing_and_categories() -> None:
    text = "Verbindung;logP;polar;solvent\nd;5,0;yes;water\nb;2,0;no;DMF\nc;n.d.;no;THF\na;1,0;yes;THF\n"
    F = read_csv(text, categories=["solvent"])
    assert F.names[:3] == ("logP", "polar", "solvent=DMF")
    assert F.names[-1] == "logP missing"
    np.testing.assert_allclose(F.matrix[[0, 1, 3], 0] * F.scale[0] + F.centre[0], [1, 2, 5])
    assert read_labels(tables.read(io.StringIO(text)), "row") == ("d", "b", "c", "a")
    with pytest.raises(DataError, match=r"feature 'logP', line 2: '1,234' may mean 1234 or 1\.234"):
        read_csv('row,logP\na,"1,234"\nb,2\n')


def test_sparse_features_stay_sparse_and_keep_their_proportions() -> None:
    bits = sparse.random_array((50, 20_000), density=0.002, rng=np.random.default_rng(0), format="coo")
    bits.data[:] = 1
    F = Features.of(bits, Axis("row", 50, None))
    assert sparse.issparse(F.matrix)
    assert F.matrix.format == "csr"
    assert F.matrix.dtype == np.float64
    used = np.flatnonzero(bits.toarray().any(axis=0))
    np.testing.assert_allclose(F.matrix.toarray() * F.scale[0], bits.toarray()[:, used])
    np.testing.assert_allclose((F.matrix.data**2).sum() / 50, F.shape[1])
    assert F.names[0] == str(used[0])
    assert not F.centre.any()
    new = F.encode(bits.tocsr()[[3]])
    np.testing.assert_array_equal(new.matrix.toarray(), F.matrix[[3]].toarray())
    assert "constant features dropped" in F.notes[0]


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, sparse.lil_array])
def test_sparse_matrices_of_all_formats_mean_the_same(make: Any) -> None:
    X = np.array([[1.0, 0, 2], [0, 0, 1], [3, 0, 0], [0, 0, 0]])
    F = Features.of(make(X), NUMBERED)
    assert F.names == ("0", "2")
    np.testing.assert_allclose(F.matrix.toarray() * F.scale, X[:, [0, 2]])


def test_new_rows_are_encoded_in_the_same_columns() -> None:
    F = Features.of(frame(), ROWS)
    for new in (
        frame().iloc[[2]],
        {"logp": 4.0, "acid": False, "solvent": "THF"},
        pl.DataFrame({"solvent": ["THF"], "logp": [4], "acid": [False]}),
    ):
        np.testing.assert_allclose(F.encode(new).matrix, F.matrix[[2]], atol=1e-15)
    strange = F.encode({"logp": [3.0, 9.0], "solvent": ["toluene", None]})
    raw = strange.matrix * F.scale + F.centre
    np.testing.assert_allclose(raw[0], [3, 0.5, 0, 0, 0], atol=1e-15)  # no known solvent; acid: its mean
    np.testing.assert_allclose(raw[1], [9, 0.5, 0.25, 0.5, 0.25])  # nothing known: the mean
    assert strange.notes == (
        "unknown level of 'solvent' ('toluene'): none of its levels",
        "'acid' is not given: taken as its mean, and rows are as uncertain as that makes them",
        "missing values are taken as the mean of their column, and rows are as uncertain as that makes them: "
        "solvent (1)",
    )
    other = F.encode({"logp": 4.0, "acid": False, "solvent": "THF", "mass": 3.0, "pKa": 4.8})
    assert other.notes == ("2 features that the fit does not have, left out: 'mass', 'pKa'",)
    np.testing.assert_array_equal(
        other.matrix, F.encode({"logp": 4.0, "acid": False, "solvent": "THF"}).matrix
    )
    with pytest.raises(DataError, match="expected some of the features"):
        F.encode({"mass": 3.0})
    with pytest.raises(DataError, match="got the text 'high'"):
        F.encode({"logp": "high"})


def test_a_level_that_no_fitted_row_has_is_unknown_though_the_type_lists_it() -> None:
    """As where one frame with a category is split into rows that are fitted and new ones."""
    whole = pd.DataFrame({"logp": [1.0, 2.0, 3.0, 4.0], "solvent": list("aabc")}).astype(
        {"solvent": "category"}
    )
    F = Features.of(whole[:3], Axis("row", 3, None))
    found = F.encode(whole[3:])
    assert found.notes == ("unknown level of 'solvent': none of its levels",)
    np.testing.assert_array_equal(found.known, [[True, False, False]])
    assert F.encode(whole[1:2]).known.all()


def test_a_table_takes_and_appends_lines_with_new_levels() -> None:
    table, _ = read_features(frame(), ROWS)
    more, _ = read_features(
        pd.DataFrame({"solvent": ["toluene"], "logp": [0.5]}, index=["e"]),
        Axis("row", 1, ("e",)),
        ["solvent"],
    )
    grown = table.append(more)
    assert grown.levels[2] == ("DMF", "THF", "water", "toluene")
    np.testing.assert_array_equal(grown.cells[-1], [0.5, np.nan, 3.0])
    np.testing.assert_array_equal(grown.take([4, -1]).cells, [[0.5, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    wide = sparse.csr_array(np.eye(4))
    bits = FeatureTable.append(*(read_features(wide, NUMBERED)[0],) * 2)
    assert len(bits) == 8
    assert bits.take([-1, 2]).cells.toarray().tolist() == [[0] * 4, [0, 0, 1, 0]]
    with pytest.raises(DataError, match="sparse features in 4 columns"):
        bits.append(table)


@pytest.mark.parametrize(
    "given",
    [
        frame(logp=[0.1, np.nan, 1e-300, 1 / 3]),
        np.random.default_rng(1).standard_normal((4, 3)) * [1e-200, 1, 1e200],
        sparse.csr_array(np.eye(4)),
        sparse.csr_array(np.diag([0.1, 1 / 3, 1e9, 0])),
    ],
)
def test_json_gives_the_same_features_to_the_last_bit(given: Any) -> None:
    F = Features.of(given, ROWS)
    back = Features.from_json(json.loads(json.dumps(F.to_json(), allow_nan=False)))
    assert back.names == F.names
    assert back.notes == F.notes
    assert back.table.levels == F.table.levels
    dense = [x.matrix.toarray() if sparse.issparse(x.matrix) else x.matrix for x in (F, back)]
    np.testing.assert_array_equal(dense[0], dense[1])
    np.testing.assert_array_equal(F.scale, back.scale)


def test_values_of_any_size_are_standardised() -> None:
    huge = np.array([[1e308, 1e-308, 5e-324], [-1e308, 2e-308, 0], [1e307, 0, 0], [0, 3e-308, 0]])
    F = Features.of(huge, NUMBERED)
    assert np.isfinite(F.matrix).all()
    np.testing.assert_allclose(F.matrix.std(axis=0), 1)


ODD: list[Any] = [
    None, "descriptors", 3.5, [1, 2, 3, 4], np.zeros((4, 0)), np.zeros((4, 2, 2)), np.full((4, 2), np.nan),
    np.array([[np.inf], [1], [2], [3]]), np.full((4, 1), 1j), [["a"], ["b"], ["c"], ["d"]], pd.DataFrame(),
    pd.DataFrame(index=list("abcd")), pd.DataFrame({"x": pd.date_range("2024", periods=4)}, index=list("abcd")),
    pd.DataFrame(np.ones((4, 2)), columns=["x", "x"], index=list("abcd")), {}, {"x": [[1], [2], [3], [4]]},
    pl.DataFrame({"row": list("abcd")}), sparse.csr_array((4, 3)), sparse.csr_array(np.full((4, 1), np.nan)),
    sparse.csr_array((5, 3)), object(), pd.DataFrame({"x": [1 + 1j] * 4}, index=list("abcd")),
]  # fmt: skip


@pytest.mark.parametrize("given", ODD, ids=range(len(ODD)))
def test_odd_values_are_refused_in_a_sentence(given: Any) -> None:
    for axis in (ROWS, NUMBERED):
        with pytest.raises(MaxentryError, match=r"expected|not a number"):
            Features.of(given, axis)


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 2, None, 4], dtype="Int64"),
        pd.array([True, None, False, True], dtype="boolean"),
        [Decimal("1.5"), Decimal(2), Decimal(3), None],
        pd.arrays.SparseArray([0.0, 0.0, 1.0, 2.0]),
        np.array([1, 2, 3, 2**63], dtype=object),
        ["1.5", "2", "", "4"],
    ],
    ids=["Int64", "boolean", "Decimal", "sparse", "large", "text of numbers"],
)
def test_columns_of_many_types_are_numbers(column: Any) -> None:
    F = Features.of(pd.DataFrame({"x": column}, index=list("abcd")), ROWS)
    assert F.names[0] == "x"
    assert np.isfinite(F.matrix).all()


def test_features_of_other_new_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "LEVEL", 1.0)  # they say nothing, and are used
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.normal(size=12), "b": rng.normal(size=12)}, index=[f"r{i}" for i in range(12)]
    )
    Y = pd.DataFrame(rng.normal(size=(12, 6)), index=table.index)
    p = complete(
        Y, 1, row_features=table, sampling=Sampling(chains=4, anneal=5, settle=5, draws=4, thin=1), seed=1
    )
    with pytest.raises(LabelError, match="expected features of 'n1' and other new rows, got those of 'n9'"):
        p.rows({"n1": {}, "n2": {}}, features={"n9": {"a": 1.0}, "n8": {"a": 2.0}})
    with pytest.warns(UserWarning, match="1 row without features") as said:
        p.rows({"n1": {}, "n2": {}}, features={"n1": {"a": 1.0, "b": 2.0}})
    assert not any("missing values" in str(note.message) for note in said)


@pytest.mark.parametrize("name", ["row", "id"])
@pytest.mark.parametrize("ids", [(1, 2, 3, 4), ("a", "b", "c", "d")])
def test_an_index_left_over_from_sorting_is_no_label_beside_a_column_of_labels(name: str, ids: tuple) -> None:
    """A frame that was read from a file, then sorted, or some lines of it; the labels may be numbers, too."""
    axis, given = Axis("row", 4, ids), pd.DataFrame({name: ids, "logp": LOGP})
    for frame in (given, given[::-1], given.sort_values("logp")):
        found = Features.of(frame, axis)
        np.testing.assert_array_equal(found.table.cells[:, 0], LOGP)
        assert found.table.names == ("logp",)
    some = Features.of(given[given[name] != ids[1]], axis)
    np.testing.assert_array_equal(some.table.cells[:, 0], np.where(np.arange(4) == 1, np.nan, LOGP))
    labelled = given.set_index(pd.Index(ids)).drop(columns=name)  # an index of labels has no name, either
    np.testing.assert_array_equal(Features.of(labelled[::-1], axis).table.cells[:, 0], LOGP)
    wells = labelled.assign(row=[1, 1, 2, 2])[["row", "logp"]]  # a feature that has the name of labels
    assert Features.of(wells, axis).table.names == ("row", "logp")
    first = Features.of(given[1:], axis)  # of the ids 1 to 4 the index has as many as the column
    np.testing.assert_array_equal(first.table.cells[1:, 0], LOGP[1:])
    assert first.table.names == ("logp",)
    several = first.encode(given[1:3][::-1], ids[1:3])
    np.testing.assert_array_equal(several.table.cells[:, 0], LOGP[1:3])
    counts = labelled.assign(n=[2, 1, 4, 4])[["n", "logp"]]  # labels of the axis, too, but some come twice
    assert Features.of(counts, axis).table.names == ("n", "logp")
    new = Features.of(given, axis).encode(given[1:2], (ids[1],))
    np.testing.assert_array_equal(new.table.cells[:, 0], LOGP[1:2])


def test_more_rows_may_have_their_features_in_order() -> None:
    known = Features.of(frame(), ROWS).table
    two = known.cells.shape[1]
    more, _ = read_features(np.ones((2, two)), Axis("row", 2, ("n1", "n2")), known=FeatureTable(
        known.names, (None,) * two, np.zeros((1, two))))  # fmt: skip
    assert more.names == known.names
    bits = Features.of(sparse.csr_array(np.eye(4)), NUMBERED).table
    more, _ = read_features(np.ones((2, 4)), Axis("row", 2, ("n1", "n2")), known=bits)
    assert more.is_sparse
    assert bits.append(more).cells.shape == (6, 4)


def test_marks_of_missing_values_that_no_measured_row_has_are_left_out() -> None:
    """Nothing is learned of them, so that they would only widen what is said of the others."""
    cells = np.arange(12.0).reshape(4, 3)
    cells[0, 0] = cells[1, 1] = np.nan
    F = Features.of(cells, NUMBERED)
    assert F.names == ("0", "1", "2", "0 missing", "1 missing")
    one = F.without_marks(np.array([True, False, True, True]))
    assert one.names == ("0", "1", "2", "0 missing")
    np.testing.assert_array_equal(one.matrix, F.matrix[:, :4])
    assert F.without_marks(np.array([False, False, True, True])).names == ("0", "1", "2")


def test_lines_without_labels_are_not_given_the_features_of_their_neighbours() -> None:
    """A frame that counts from 1, beside a table that counts from 0."""
    counted = pd.DataFrame({"logp": LOGP}, index=range(1, 5))
    with pytest.raises(DataError, match="rows 0 to 3, which have no labels, got those of 1 to 4"):
        Features.of(counted, NUMBERED)
    np.testing.assert_array_equal(
        Features.of(counted.reset_index(drop=True), NUMBERED).table.cells[:, 0], LOGP
    )


def test_labels_of_new_rows_in_a_first_column_are_labels_whatever_it_is_called() -> None:
    F = Features.of(frame(), ROWS)
    new = pl.DataFrame(
        {"molecule": ["y", "x"], "logp": [1.0, 5.0], "acid": [1, 0], "solvent": ["THF", "DMF"]}
    )
    found = F.encode(new, ("x", "y"))
    np.testing.assert_array_equal(found.table.cells[:, 0], [5.0, 1.0])
    assert found.notes == ()
    left_out = F.encode(
        new.rename({"molecule": "remark"}).with_columns(remark=pl.Series(["p", "q"])), ("x", "y")
    )
    assert "1 feature that the fit does not have, left out: 'remark'" in left_out.notes
    np.testing.assert_array_equal(left_out.table.cells[:, 0], [1.0, 5.0])
    numbered = new.rename({"molecule": "id"}).with_columns(id=pl.Series([102, 101]))
    found = F.encode(numbered, (101, 102))
    np.testing.assert_array_equal(found.table.cells[:, 0], [5.0, 1.0])
    assert found.notes == ()
    assert (
        "left out: 'id'" in F.encode(numbered).notes[0]
    )  # of rows without labels it is a column like others


def test_numbers_that_must_be_slips_are_named() -> None:
    many, axis = np.random.default_rng(0).normal(size=(40, 2)), Axis("row", 40, None)
    assert Features.of(pd.DataFrame(many), axis).notes == ()
    slip = many.copy()
    slip[5, 1] = -999
    (note,) = Features.of(pd.DataFrame(slip), axis).notes
    assert "far from all others (one such number spoils its feature): '1' has -999 (nine tenths: -1" in note
    slip[[7, 9], 1] = -999  # a code for missing values, written every time
    many_codes = np.vstack([slip, slip[10:40], slip[10:40]])
    assert "'1' has -999" in Features.of(many_codes, Axis("row", 100, None)).notes[0]
    few = np.random.default_rng(1).normal(size=(8, 1))
    assert Features.of(few, Axis("row", 8, None)).notes == ()
    few[[3, 5]] = -999  # a quarter of them, of eight
    assert "'0' has -999" in Features.of(few, Axis("row", 8, None)).notes[0]
    few[[3, 5]] = few[0]
    degrees = 300 + 5 * np.random.default_rng(2).normal(size=(30, 1))
    degrees[4] = 0.0
    assert "'0' has 0 (nine" in Features.of(degrees, Axis("row", 30, None)).notes[0]
    assert "'0' has 9000" in Features.of(few, Axis("row", 8, None)).encode([[9e3]]).notes[0]
    known = Features.of(pd.DataFrame(many), axis).table
    far = describe_slips(FeatureTable(known.names, known.levels, np.array([[9e3, 0.1]])), known)
    assert "'0' has 9000 (nine tenths" in far[0]
    skewed = np.random.default_rng(0).lognormal(size=(1000, 50))
    assert Features.of(skewed, Axis("row", 1000, None)).notes == ()
    skewed[0] = 0.0  # one size is not known, or there is nothing
    assert Features.of(skewed, Axis("row", 1000, None)).notes == ()
    assert describe_slips(FeatureTable(known.names, known.levels, np.array([[2.0, 0.1]])), known) == []


def test_features_of_which_nothing_is_known_are_called_so() -> None:
    with pytest.raises(DataError, match="expected row features that vary, got no value at all"):
        Features.of(np.full((4, 2), np.nan), NUMBERED)


def test_a_frame_without_any_feature_is_refused_in_a_sentence() -> None:
    with pytest.raises(DataError, match="expected some of the features"):
        Features.of(frame(), ROWS).encode(pl.DataFrame({"row": ["x", "y"]}), ("x", "y"))
