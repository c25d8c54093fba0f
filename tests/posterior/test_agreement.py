"""The default sampler and the corrected Algorithm 2 share no step and must sample one posterior."""

import numpy as np
import pytest
from benchmarks import agreement

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    return agreement.problem(seed=1)


@pytest.fixture(scope="module")
def reference(data):
    return agreement.by_algorithm2(data, agreement.PRIORS, 20_000, seed=2)


def test_the_two_samplers_agree_in_every_entry_and_both_variances(data, reference):
    ours = agreement.by_conjugate(data, agreement.PRIORS, 20_000, seed=3)
    result = agreement.compare(ours, reference)
    assert np.abs(result.z).max() < agreement.PASS
    assert result.p.min() > agreement.ACCEPT
    assert result.agrees
    # The means of 48 entries of one matrix depend on each other, but no systematic excess may hide below PASS.
    assert np.sqrt((result.z**2).mean()) < 1.6


def test_negative_control_the_printed_slip_in_sigma2_is_seen(data, reference):
    wrong = agreement.by_conjugate(data, agreement.printed_slip(agreement.PRIORS), 20_000, seed=4)
    result = agreement.compare(wrong, reference)
    assert np.abs(result.z).max() > 2 * agreement.PASS
    assert result.p.min() < agreement.ACCEPT


def test_negative_control_one_more_measurement_is_seen(data, reference):
    again = data._replace(
        rows=np.append(data.rows, data.rows[0]),
        cols=np.append(data.cols, data.cols[0]),
        values=np.append(data.values, data.values[0] + 1.0),
    )
    result = agreement.compare(agreement.by_conjugate(again, agreement.PRIORS, 20_000, seed=5), reference)
    assert np.abs(result.z).max() > 2 * agreement.PASS
