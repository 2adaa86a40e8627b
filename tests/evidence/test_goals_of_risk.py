# SPDX-License-Identifier: Apache-2.0
"""What the proposals of `accept plan` may risk in the mean, on both sides of its threshold."""

import pytest
from bench_risk import most_in_mean


@pytest.mark.parametrize(("share", "most"), [(1.0, 0.05), (0.9, 0.05), (0.89, 0.08), (0.01, 0.08)])
def test_only_where_few_records_have_a_proposal_may_it_risk_more_than_wanted(share, most):
    assert most_in_mean(share, uncertainty=0.03) == pytest.approx(most)
