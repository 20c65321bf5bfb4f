"""The pages of studies."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest
from django.test import Client

from apps.trainings import pages
from gem.studies import results
from gem.studies.study import all_studies, find
from tests.engine.studies.test_studies import filled
from tests.html import tight

pytestmark = pytest.mark.django_db


def test_the_list_has_every_study_with_what_is_done(client: Client) -> None:
    page = tight(client.get("/jobs/train/studies/"))
    listed = pages.studies()
    assert [one.study.name for one in listed] == [study.name for study in all_studies()]
    for one in listed:
        assert f'href="/jobs/train/studies/{one.study.name}/"' in page
        assert one.study.question in page


def test_every_study_has_a_page_that_says_what_its_results_allow(client: Client) -> None:
    for study in all_studies():
        page = tight(client.get(f"/jobs/train/studies/{study.name}/"))
        shown = pages.study(study.name)
        assert shown is not None
        assert f"{shown.report.done} of {shown.report.total} runs" in page
        for sentence in shown.report.sentences:
            assert tight(sentence) in page
        assert page.count('class="multiple"') == len(shown.plots)


def test_a_page_follows_the_results(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    study = find("algorithms").model_copy(update={"tuning": {}, "seeds": 3})
    monkeypatch.setattr(importlib.import_module("apps.trainings.pages.studies"), "find", lambda _name: study)
    folder = tmp_path / study.name
    before = tight(client.get(f"/jobs/train/studies/{study.name}/"))
    assert "too few for a comparison" in before
    assert 'id="differences"' not in before
    filled(study, folder, {"reinforce": 100, "rebn": 150, "grpo": 101, "ppo": 200}, 3)
    after = tight(client.get(f"/jobs/train/studies/{study.name}/"))
    assert "PPO solves more than ReBN" in after
    assert "No order is shown for GRPO and REINFORCE." in after
    assert after.count('data-c="') >= 4 * len(study.environments)
    shutil.rmtree(folder / "gcd")
    assert "Nothing is counted yet for gcd." in tight(client.get(f"/jobs/train/studies/{study.name}/"))


def test_what_is_no_study_is_not_found(client: Client) -> None:
    assert client.get("/jobs/train/studies/algoritms/").status_code == 404
    assert pages.study("../../etc/passwd.json") is None


def test_credit_has_a_curve_and_a_row_for_each_recipe_and_algorithm(client: Client) -> None:
    page = tight(client.get("/jobs/train/studies/credit/"))
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
