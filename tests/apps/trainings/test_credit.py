"""The page about the credit of each algorithm."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.trainings import pages
from tests.html import tight

pytestmark = pytest.mark.django_db


def test_credit_has_a_curve_and_a_row_for_each_recipe_and_algorithm(client: Client) -> None:
    page = tight(client.get("/jobs/train/credit/"))
    plots = pages.credit_plots()
    assert page.count('class="multiple"') == 3 * len(plots) > 0
    for plot in plots:
        assert ("truth computed exactly" if plot.is_exact else "truth measured by forking") in page
        assert f'aria-label="{plot.recipe}: {plot.in_words}"' in page
        by_title = {row.title: row for row in plot.rows}
        assert by_title["REINFORCE"].correlation == pytest.approx(by_title["ReBN"].correlation, abs=1e-3)
        points = len(plot.studies[0].points)
        assert all(row.line.count("L") == row.bias_line.count("L") == points - 1 for row in plot.rows)
        assert plot.return_line.count("L") == plot.solved_line.count("L") == points - 1
        assert abs(by_title["ReBN"].bias) < abs(by_title["REINFORCE"].bias)
