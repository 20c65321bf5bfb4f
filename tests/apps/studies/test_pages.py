"""The pages of studies: those that come with gemweb, those that people start, and what recipes learned."""

from __future__ import annotations

import importlib
import io
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.site.templatetags.ui import unbroken
from apps.studies import claims, operations, pages, recording
from apps.studies.models import Study, StudyRun
from apps.studies.topics import StudyTopic
from gem.studies import results
from gem.studies.report import report
from gem.studies.results import FolderResults
from gem.studies.study import all_studies, find, read
from gem.training import recipes
from tests.apps.studies.started import PLAN, make_all, result, start
from tests.apps.trainings.trainings import small
from tests.engine.studies.small_study import filled
from tests.html import tight, whole_of

pytestmark = pytest.mark.django_db


def test_the_list_has_every_study_with_what_is_done(client: Client, ada: User) -> None:
    study = start(ada)
    page = tight(client.get("/studies/"))
    for one in pages.recorded_studies():
        assert f'href="/studies/{one.study.name}/"' in page
        assert one.study.question in page
    assert f'href="/studies/started/{study.pk}/"' in page


def test_the_tabs_say_in_words_what_each_study_is_about(client: Client) -> None:
    page = tight(client.get("/studies/gamma-fifty/"))
    assert '<a href="/studies/gamma-fifty/" aria-current="page">Discount, 1 to 50</a>' in page
    names = dict(pages.tabs()["tabs"])
    assert names.keys() == {study.name for study in all_studies()}
    assert not any("gamma" in name.lower() or "-" in name for name in names.values())


def test_every_study_has_a_page_that_says_what_its_results_allow(client: Client) -> None:
    for study in all_studies():
        page = tight(client.get(f"/studies/{study.name}/"))
        shown = pages.recorded(study.name)
        assert shown is not None
        assert f"{shown.report.done} of {shown.report.total} runs" in page
        for sentence in shown.report.sentences:
            assert unbroken(tight(sentence)) in page
        assert page.count('class="multiple"') == len(shown.plots)


def test_the_profile_and_its_table_say_the_same(client: Client) -> None:
    shown = pages.recorded("algorithms")
    assert shown is not None
    page = tight(client.get("/studies/algorithms/"))
    for one in shown.ranked:
        share = f"{100 * one.profile_cells[2].mean:.0f}\u00a0%"
        assert f'<th scope="row">{one.row.title}</th>' in page
        assert share in page
    assert page.count('class="band"') == len(shown.ranked) * (1 + len(shown.plots))


def test_a_page_follows_the_results(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    study = find("algorithms").model_copy(update={"tuning": {}, "seeds": 4})
    monkeypatch.setattr(importlib.import_module("apps.studies.pages.reading"), "all_studies", lambda: (study,))
    folder = tmp_path / study.name
    before = tight(client.get(f"/studies/{study.name}/"))
    assert "too few for a comparison" in before
    assert 'id="differences"' not in before
    filled(study, folder, {"reinforce": 100, "rebn": 150, "grpo": 101, "ppo": 200}, 4)
    after = tight(client.get(f"/studies/{study.name}/"))
    assert "PPO solves more than ReBN" in after
    assert "Too close to call: GRPO and REINFORCE." in after
    shutil.rmtree(folder / "gcd")
    assert "Nothing is counted yet for gcd." in tight(client.get(f"/studies/{study.name}/"))


def test_what_is_no_study_is_not_found(client: Client) -> None:
    assert client.get("/studies/algoritms/").status_code == 404
    assert client.get("/studies/started/none/").status_code == 404
    assert client.get("/studies/curves/none/").status_code == 404


# ------------------------------------------------------------------ the form


def test_the_form_estimates_and_starts_a_study_that_comes_with_gemweb(as_ada: Client) -> None:
    page = tight(as_ada.get("/studies/new/?study=gamma"))
    assert 'name="environments" value="guess-ten"' in page
    entries = {"study": "gamma", "seeds": "6", "reuses_results": "on", "environments": ["guess-ten"]}
    part = tight(as_ada.post("/studies/estimate/", entries))
    assert "5 <small>of 30</small>" in part
    assert Study.objects.count() == 0
    assert as_ada.post("/studies/new/", entries | {"check": "1"}).status_code == 200
    assert Study.objects.count() == 0
    answer = as_ada.post("/studies/new/", entries)
    study = Study.objects.get()
    assert answer.headers["Location"] == study.get_absolute_url()
    assert (study.total, study.done) == (30, 25)


def test_the_form_takes_a_plan_and_says_what_is_wrong_with_it(as_ada: Client) -> None:
    plan = {key: value for key, value in PLAN.items() if key != "name"}
    entries = {"study": "own", "plan": json.dumps(plan), "seeds": "2"}
    answer = as_ada.post("/studies/new/", entries)
    study = Study.objects.get()
    assert answer.headers["Location"] == study.get_absolute_url()
    assert (study.title, study.total, study.plan.seeds) == ("A small study", 8, 2)
    refused = as_ada.post("/studies/new/", entries | {"plan": json.dumps({**plan, "environments": {}})})
    assert refused.status_code == 422
    assert "environments" in refused.content.decode()
    assert "Write the plan as JSON" in as_ada.post("/studies/new/", entries | {"plan": "{"}).content.decode()
    assert "Write a plan" in as_ada.post("/studies/new/", {"study": "own"}).content.decode()


def test_a_plan_that_asks_an_environment_for_too_much_is_refused_with_the_reason(client: Client) -> None:
    stage = {"env_id": "rg:count_primes", "updates": 2, "env_kwargs": {"config": {"min_n": 1, "max_n": 10**9}}}
    plan = {key: value for key, value in PLAN.items() if key != "name"} | {"environments": {"primes": stage}}
    answer = client.post("/studies/estimate/", {"study": "own", "plan": json.dumps(plan), "seeds": "2"})
    assert "count_primes does not take this config: it needs more than 2 GB of memory" in tight(answer)


def test_a_visitor_logs_in_first_and_keeps_the_entries(client: Client) -> None:
    answer = client.post("/studies/new/", {"study": "gamma", "seeds": "7"})
    assert answer.status_code == 302
    assert "seeds%3D7" in answer.headers["Location"]
    assert 'value="7"' in tight(client.get("/studies/new/?study=gamma&seeds=7"))


# ------------------------------------------------------------------ one that somebody has started


def test_the_page_is_the_figure_which_fills_in_while_runs_end(as_ada: Client, ada: User) -> None:
    study = start(ada)
    before = tight(as_ada.get(study.get_absolute_url()))
    assert "too few for a comparison" in before
    assert before.count('class="ep"') == 12
    claim = claims.claim()
    assert claim is not None
    recording.record_progress(claim, 1, 2, [0.25, 0.5])
    running = tight(as_ada.get(study.get_absolute_url()))
    assert "fifteen, ReBN, seed 0: update 1 of 2" in running
    recording.record_result(claim, result(claim, 50), None)
    make_all(study, {"rebn": 80, "ppo": 40})
    after = tight(as_ada.get(study.get_absolute_url()))
    assert after.count('data-s="won"') == 12
    assert "ReBN solves more than PPO" in after
    assert "ReBN solves more than PPO" in tight(as_ada.get(f"{study.get_absolute_url()}figures/"))


def test_a_page_that_is_open_hears_of_changes(ada: User) -> None:
    study = start(ada)
    topic = StudyTopic()
    seen = topic.current(study.pk)
    assert seen is not None
    assert topic.events(study.pk, seen, "watch") == []
    claim = claims.claim()
    assert claim is not None
    recording.record_result(claim, result(claim, 50), None)
    (event,) = topic.events(study.pk, seen, "watch")
    assert 'data-done="1"' in event.html
    assert topic.allows(study.pk, "watch", ada, "")
    assert not topic.allows(study.pk, "play", ada, "")


def test_each_run_has_a_page_from_which_it_can_be_trained_once_more(as_ada: Client, ada: User) -> None:
    study = start(ada)
    make_all(study, {"rebn": 80, "ppo": 40})
    page = tight(as_ada.get(f"{study.get_absolute_url()}runs/0/"))
    assert "fifteen, ReBN, seed 0" in page
    assert "80.0\u00a0%" in page
    address = page.partition('<a href="/jobs/train/?')[2].partition('"')[0].replace("&amp;", "&")
    form = tight(as_ada.get(f"/jobs/train/?{address}"))
    assert 'value="game:FifteenPuzzle-v0-easy"' in form
    assert "&quot;max_length&quot;: 128" in form
    assert as_ada.get(f"{study.get_absolute_url()}runs/99/").status_code == 404


def test_a_run_whose_settings_are_no_longer_valid_has_a_page(as_ada: Client, ada: User) -> None:
    study = start(ada, tuning={"learning_rate": [0.001, 0.002]})
    StudyRun.objects.filter(study=study, number=0).update(tuned=5.0, state=StudyRun.State.FAILED, sentence="Too much.")
    page = tight(as_ada.get(f"{study.get_absolute_url()}runs/0/"))
    assert "Too much." in page
    assert "Train this again" not in page


def test_results_are_downloaded_in_the_form_of_the_repository(as_ada: Client, ada: User, tmp_path: Path) -> None:
    study = start(ada)
    make_all(study, {"rebn": 80, "ppo": 40})
    content = whole_of(as_ada.get(f"{study.get_absolute_url()}results.zip"))
    zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
    plan = read(tmp_path / "small.json")
    found = report(FolderResults(plan, tmp_path / "small.results"))
    assert found.is_complete
    assert found.sentences[0].startswith("ReBN solves more than PPO by 40 (")


def test_the_buttons_pause_resume_cancel_and_delete(as_ada: Client, ada: User) -> None:
    study = start(ada)
    address = study.get_absolute_url()
    for action, state in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        as_ada.post(f"{address}change/", {"do": action})
        study.refresh_from_db()
        assert study.state == state
    as_ada.post(f"{address}visibility/", {"visibility": "private"})
    assert Client().get(address).status_code == 404
    as_ada.post(f"{address}delete/")
    assert not Study.objects.exists()


def test_a_study_that_has_not_ended_is_not_deleted(as_ada: Client, ada: User) -> None:
    study = start(ada)
    page = as_ada.post(f"{study.get_absolute_url()}delete/", follow=True)
    assert "Cancel it first; nothing was deleted." in page.content.decode()
    assert Study.objects.filter(pk=study.pk).exists()


# ------------------------------------------------------------------ what recipes learned


def test_the_page_of_curves_has_one_for_each_recipe_that_was_measured(client: Client) -> None:
    page = tight(client.get("/studies/curves/"))
    found = pages.learned()
    assert len(found) > 5
    assert page.count('class="multiple"') == len(found)
    for one in found:
        assert f'href="/studies/curves/{one.recipe.name}/"' in page
    games = tight(client.get("/studies/curves/?family=games&sort=gain"))
    assert games.count('class="multiple"') == sum(one.env_id.startswith("game:") for one in found)
    assert re.search(r'class="pick"[^>]*sort=gain"[^>]*aria-current="true"', games), "the order that was chosen is seen"


def test_a_recipe_shows_its_seeds_and_the_trainings_that_began_with_it(as_ada: Client, ada: User) -> None:
    from apps.trainings import operations as trainings
    from gem.training.spec import read_spec

    job = trainings.submit(ada, read_spec(recipes.data("gcd") | {"updates": 3}))
    other = trainings.submit(ada, small())
    page = tight(as_ada.get("/studies/curves/gcd/"))
    one = next(one for one in pages.learned() if one.recipe.name == "gcd")
    assert page.count('<th scope="row">') >= len(one.rows)
    assert job.get_absolute_url() in page
    assert other.get_absolute_url() not in page
    operations.start(ada, find("gamma"))  # is no training of a recipe
    assert page.count("after update") == 0
