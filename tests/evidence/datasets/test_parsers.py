"""The publishers' formats, each in a small file: what is read, and what is refused with a sentence."""

import re
import sys

import numpy as np
import pytest
from tests.evidence.datasets.samples import archive, rewritten, with_headers, written, xls, xlsx

from evidence.datasets import parsers
from evidence.datasets.parsers import (
    buchwald_hartwig,
    complete_raters,
    direct_arylation,
    kinase_affinities,
    movielens_1m,
    movielens_100k,
    solver_runs,
    wide_csv,
)
from maxentry.errors import DataError, MissingDependencyError

NAN = np.nan
U_DATA = b"2\t3\t5\t881250949\n1\t1\t3\t891717742\n2\t1\t1\t878887116\n"


def same(M, expected):
    np.testing.assert_array_equal(M, np.array(expected, dtype=float))


@pytest.mark.parametrize("zipped", [True, False])
def test_u_data_alone_or_in_its_zip(tmp_path, zipped):
    path = tmp_path / ("ml-100k.zip" if zipped else "u.data")
    path = (
        archive(path, **{"ml-100k__u_data": U_DATA, "ml-100k__u1_base": b""})
        if zipped
        else written(path, U_DATA)
    )
    M, rows, cols = movielens_100k(path)
    same(M, [[3, NAN, NAN], [1, NAN, 5]])
    assert rows == ("1", "2")
    assert cols == ("1", "2", "3")


def test_ratings_dat_keeps_the_movies_with_enough_ratings(tmp_path):
    data = b"1::7::5::97\n2::7::4::97\n2::9::1::97\n3::11::2::97\n3::7::3::97\n1::11::1::97\n"
    path = archive(tmp_path / "ml-1m.zip", **{"ml-1m__ratings_dat": data, "ml-1m__users_dat": b"1::F::1"})
    M, rows, cols = movielens_1m(path, fewest=2)
    same(M, [[5, 1], [4, NAN], [3, 2]])
    assert rows == ("1", "2", "3")
    assert cols == ("7", "11")


@pytest.mark.parametrize(
    "data",
    [b"", b"1\t1\n", b"1\t2\t3\t4\n1\t2\n", b"a\tb\tc\td\n", b"1\t1\t6\t9\n", b"0\t1\t3\t9\n", b"1::1::3::9\n",
     b"1\t999999999\t3\t9\n", b"1\t2\t" + b"9" * 25 + b"\t9\n", b"20000\t20000\t3\t9\n"],
)  # fmt: skip
def test_what_is_no_u_data_is_refused(tmp_path, data):
    with pytest.raises(DataError, match=r"expected lines of user, movie, stars .*, got others in .*u\.data"):
        movielens_100k(written(tmp_path / "u.data", data))


def test_jester_keeps_who_rated_every_joke(tmp_path):
    sheet = xls([[2, -7.82, 99, 1.5], [3, 4.08, -0.29, 6.36], [0, 99, 99, 99], [3, -9.95, 9.47, 0]])
    M, rows, cols = complete_raters(
        archive(tmp_path / "jester_dataset_1_1.zip", **{"jester-data-1_xls": sheet})
    )
    same(M, [[4.08, -0.29, 6.36], [-9.95, 9.47, 0]])
    assert rows == ("2", "4")
    assert cols == ("1", "2", "3")


@pytest.mark.parametrize(
    ("sheet", "says"),
    [
        (b"not a workbook", "expected an .xls sheet of numbers"),
        (xls([["user", "joke"]]), "expected an .xls sheet of numbers"),
        (xls([[3, 1.0, 2.0], [1, 5.0]])[:1500], "expected an .xls sheet of numbers"),
        (xls([[3], [4]]), "expected a column of counts"),
        (xls([]), "expected a column of counts"),
    ],
)
def test_what_is_no_jester_sheet_is_refused(tmp_path, sheet, says):
    path = written(tmp_path / "jester-data-1.xls", sheet)
    with pytest.raises(DataError, match=re.escape(says)):
        complete_raters(path)


def test_what_xlrd_has_to_say_of_a_sheet_stays_out_of_the_output(tmp_path, capsys, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "xlrd"]:
        monkeypatch.delitem(sys.modules, name)  # it takes stdout as it is when it is imported
    odd = xls([[2, 4.08, 1.5]]) + bytes(10)  # not a multiple of what such files are made of
    same(complete_raters(written(tmp_path / "jester-data-1.xls", odd)).M, [[4.08, 1.5]])
    assert capsys.readouterr() == ("", "")


def test_xlrd_is_asked_for_by_the_name_of_the_extra(tmp_path, monkeypatch):
    def without(name):
        raise ImportError(name)

    monkeypatch.setattr(parsers, "import_module", without)
    with pytest.raises(MissingDependencyError, match=r"pip install"):
        complete_raters(written(tmp_path / "jester-data-1.xls", xls([[1, 2.0]])))


def test_oboe_csv(tmp_path):
    text = "\ufeff,\"{'algorithm': 'AB', 'n': 1}\",KNN\n00003,0.25,1e-3\n41005,0.5,nan\n"
    M, rows, cols = wide_csv(written(tmp_path / "error_matrix.csv", text))
    same(M, [[0.25, 0.001], [0.5, NAN]])
    assert rows == ("3", "41005")
    assert cols == ("{'algorithm': 'AB', 'n': 1}", "KNN")


@pytest.mark.parametrize(
    "text", ["", "a,b\n", ",a,b\n1,2\n", ",a,b\n1,2,x\n", ",a,b\n1,2,3\n2,3\n", ",a\n1,2,3\n"]
)
def test_what_is_no_table_is_refused(tmp_path, text):
    with pytest.raises(DataError, match="expected a table of numbers"):
        wide_csv(written(tmp_path / "error_matrix.csv", text))


def test_a_label_of_thousands_of_digits_is_a_label(tmp_path):
    assert wide_csv(written(tmp_path / "error_matrix.csv", f",a\n{'7' * 5000},1\n000,2\n")).rows == (
        "7" * 5000,
        "0",
    )


@pytest.mark.parametrize(
    ("parse", "before"),
    [(wide_csv, ""), (direct_arylation, ""), (solver_runs, "@attribute instance_id\n@attribute algorithm\n"
      "@attribute runtime\n@data\n")],
)  # fmt: skip
def test_a_line_without_end_is_no_table(tmp_path, parse, before):
    with pytest.raises(DataError, match=r"expected lines of fields .* in .*table: field larger"):
        parse(written(tmp_path / "table", before + "x" * 200_000))


def test_direct_arylation_against_conditions_in_order_of_size(tmp_path):
    text = (
        ",base,ligand,solvent,concentration,temperature,yield\n"
        "0,K,PCy3,DMA,0.1,105,10\n1,K,PCy3,DMA,0.1,90,20.5\n2,Cs,PCy3,DMA,0.1,105,0\n3,K,PCy3,DMA,0.057,105,4\n"
    )
    M, rows, cols = direct_arylation(written(tmp_path / "experiment_index.csv", text))
    assert rows == ("PCy3|Cs", "PCy3|K")
    assert cols == ("DMA|0.057|105", "DMA|0.1|90", "DMA|0.1|105")
    same(M, [[NAN, NAN, 0], [4, 20.5, 10]])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("0,K,P,DMA,0.1,105", "7 fields"),
        ("0,K,P,DMA,0.1,105,good", "'good'"),
        ("0,K,P,DMA,0.1,105,1\n1,K,P,DMA,0.1,105,2", "several"),
        ("", "got none"),
    ],
)
def test_what_is_no_list_of_reactions_is_refused(tmp_path, line, says):
    with pytest.raises(DataError, match=says):
        direct_arylation(written(tmp_path / "experiment_index.csv", f"a,b,c,d,e,f,g\n{line}\n"))


def test_buchwald_hartwig_workbook(tmp_path):
    head = ["Ligand", "Additive", "Base", "Aryl halide", "Output"]
    lines = [["L1", "A1", "B1", "H1", 10.5], ["L1", "A2", "B1", "H1", 0.0], ["L1", "A1", "B2", "H1", 99.25]]
    sheets = {"FullCV_01": [["nothing"]], "Plates1-3": [head, *lines, [None, None, None, None, None]]}
    M, rows, cols = buchwald_hartwig(xlsx(tmp_path / "data.xlsx", sheets))
    assert rows == ("H1|B1", "H1|B2")
    assert cols == ("L1|A1", "L1|A2")
    same(M, [[10.5, 0], [99.25, NAN]])


def test_cells_left_out_of_a_workbook_shift_nothing(tmp_path):
    head = ["", "Ligand", "Additive", "Base", "Aryl halide", "Output"]
    path = xlsx(tmp_path / "data.xlsx", {"Plates1-3": [head, [None, "L", "A", "B", "H", 1.5]]})
    same(buchwald_hartwig(path).M, [[1.5]])


@pytest.mark.parametrize(
    ("sheets", "says"),
    [
        ({"Plates1-3": [["Ligand"]]}, "expected the columns"),
        ({"Other": [["Ligand"]]}, "with a sheet Plates1-3"),
    ],
)
def test_other_workbooks_are_refused(tmp_path, sheets, says):
    with pytest.raises(DataError, match=says):
        buchwald_hartwig(xlsx(tmp_path / "data.xlsx", sheets))


def test_a_workbook_that_is_cut_off_is_refused(tmp_path):
    path = xlsx(tmp_path / "data.xlsx", {"Plates1-3": [["Ligand"]]})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"expected an \.xlsx workbook"):
        buchwald_hartwig(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b't="inlineStr"><is><t>e</t></is>', b't="s"><v>99</v>'),  # a text that is not there
        (b't="inlineStr"><is><t>e</t></is>', b't="s"><v>four</v>'),
        (b'r="A1"', b'r="AAAAAAAAAAAA1"'),  # a line of 10^17 cells
        (b"<worksheet", b"<?xml version='1.0' encoding='klingon'?><worksheet"),
    ],
)
def test_a_workbook_that_contradicts_itself_is_refused(tmp_path, old, new):
    path = xlsx(tmp_path / "data.xlsx", {"Plates1-3": [["a", "b", "c", "d", "e"]]})
    with pytest.raises(DataError, match=r"expected an \.xlsx workbook"):
        buchwald_hartwig(rewritten(path, "xl/worksheets/sheet1.xml", old, new))


@pytest.mark.parametrize("spoilt", ["encrypted", "packed otherwise", "bytes"])
def test_a_workbook_that_cannot_be_unpacked_is_refused(tmp_path, spoilt):
    path = xlsx(tmp_path / "data.xlsx", {"Plates1-3": [["Ligand"]]})
    rewritten(path, "xl/worksheets/sheet1.xml", b"Data", b"Data")
    if spoilt == "encrypted":
        with_headers(path, 6, lambda _: b"\1\0", 2)
    elif spoilt == "packed otherwise":
        with_headers(path, 8, lambda _: b"\x63\0", 2)
    else:
        data, name = path.read_bytes(), b"xl/worksheets/sheet1.xml"
        start = data.index(name) + len(name)
        path.write_bytes(data[:start] + b"\xff" * 8 + data[start + 8 :])
    with pytest.raises(DataError, match=r"expected an \.xlsx workbook"):
        buchwald_hartwig(path)


def test_affinities_become_minus_log_molar(tmp_path):
    table = written(tmp_path / "Kd.txt", "43 10000\n0.1 1000\n")
    drugs, kinases = (
        written(tmp_path / "d.txt", "11\n22\n"),
        written(tmp_path / "k.txt", "AAK1\r\nABL1(E255K)\r\n"),
    )
    M, rows, cols = kinase_affinities(table, drugs, kinases)
    np.testing.assert_allclose(M, [[7.366531544, 5], [10, 6]], atol=1e-9)
    assert rows == ("11", "22")
    assert cols == ("AAK1", "ABL1(E255K)")


@pytest.mark.parametrize("text", ["", "1 2\n", "1 2\n3\n", "1 2\n3 x\n", "1 2\n3 0\n", "1 2\n3 nan\n"])
def test_affinities_that_do_not_fit_the_labels_are_refused(tmp_path, text):
    labels = written(tmp_path / "labels.txt", "a\nb\n")
    with pytest.raises(DataError, match="expected 2 x 2 positive numbers"):
        kinase_affinities(written(tmp_path / "Kd.txt", text), labels, labels)


ARFF = """@RELATION ALGORITHM_RUNS
@ATTRIBUTE instance_id STRING
@attribute repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE runstatus {ok, timeout}

@DATA
% a remark
b.cnf,1,solver,5000.0,timeout
'a, b.cnf',1,solver\\(fixed\\),0.25,ok
'a, b.cnf', 1, solver, 3, ok
"""


def test_solver_runs(tmp_path):
    M, rows, cols = solver_runs(written(tmp_path / "algorithm_runs.arff", ARFF))
    assert rows == ("a, b.cnf", "b.cnf")
    assert cols == ("solver", "solver_fixed_")
    same(M, [[3, 0.25], [5000, NAN]])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ARFF.replace("runtime", "seconds"), "expected the attributes instance_id, algorithm, runtime"),
        (ARFF.replace(",timeout\n", "\n"), "expected 5 fields"),
        (ARFF.partition("@DATA")[0], "got none"),
        ("", "got none"),
    ],
)
def test_other_arff_files_are_refused(tmp_path, text, says):
    with pytest.raises(DataError, match=says):
        solver_runs(written(tmp_path / "algorithm_runs.arff", text))
