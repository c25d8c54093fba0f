"""A seed gives the draws, estimates and designs that it gave when they were recorded, to the last bit."""

import copy

import pytest
from tests.frozen import draws, records

RECORD = records.read("draws")


def test_every_case_is_recorded():
    assert sorted(RECORD["cases"]) == sorted(draws.CASES)


@pytest.mark.parametrize("name", draws.CASES)
def test_draws(name):
    records.check(RECORD["cases"][name], draws.CASES[name](), RECORD["machine"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("threads 1", "threads 2"),
        ("threads 1 by the environment", "threads 2 by the environment"),
        ("one chain, gaussian, threads 1", "one chain, gaussian, threads 2"),
        ("one chain, student, threads 1", "one chain, student, threads 2"),
    ],
)
def test_the_record_itself_has_the_same_draws_for_any_number_of_threads(one, other):
    assert RECORD["cases"][one] == RECORD["cases"][other]


def test_other_numbers_are_found_and_told_from_other_bits():
    recorded = RECORD["cases"]["gaussian, rank 1"]
    far, near = copy.deepcopy(recorded), copy.deepcopy(recorded)
    far["draws"]["mu"]["numbers"][3] *= 1 + 1e-5
    with pytest.raises(AssertionError, match=r"draws\.mu\.numbers\[3\]: was .* \(off by a relative 1e-05\)"):
        records.check(recorded, far, RECORD["machine"])
    near["draws"]["mu"]["sha256"] = "0" * 64
    with pytest.raises(AssertionError, match=r"other bits than recorded: draws\.mu"):
        records.check(recorded, near, records.machine())
    with pytest.raises(AssertionError, match=r"numpy 1\.26 then"):
        records.check(recorded, near, records.machine() | {"numpy": "1.26"})
    records.check(recorded, recorded, RECORD["machine"])


def test_bits_of_blas_are_compared_on_the_same_kind_of_processor_only():
    recorded = RECORD["cases"]["nuclear norm"]
    other = copy.deepcopy(recorded)
    other["matrix"]["sha256"] = "0" * 64
    with pytest.raises(AssertionError, match="other bits"):
        records.check(recorded, other, records.machine())
    with pytest.warns(UserWarning, match="openblas Other then"):
        records.check(recorded, other, records.machine() | {"blas": "openblas Other"})


def test_sums_in_single_precision_agree_to_a_millionth_of_the_largest():
    recorded = RECORD["cases"]["single precision"]
    largest = max(abs(x) for name, part in recorded["maps"].items() if name != "single" for x in part)
    for size, seen in ((0.5e-6, False), (2e-6, True)):
        other = copy.deepcopy(recorded)
        other["maps"]["mean"][1] += size * largest
        if seen:
            with pytest.raises(AssertionError, match=r"maps\.mean\[1\]: was"):
                records.check(recorded, other, RECORD["machine"])
        else:
            records.check(recorded, other, RECORD["machine"])
