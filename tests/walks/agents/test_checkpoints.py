"""Somebody uploads a checkpoint, is told what is wrong with another one, and watches it play."""

import io
import re
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gem.training.built_in_policies import policy_location
from tests.archives import pack
from tests.walks.conftest import check_looks

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="policies need torch, which `make test` installs")
TRIED_MS = 120_000


def archive(tmp_path: Path, *more: str) -> Path:
    """The base policy in a file, with files that hold a letter."""
    file = io.BytesIO()
    pack(Path(policy_location("nano-base")), file, "policy")
    with zipfile.ZipFile(file, "a") as bundle:
        for name in more:
            bundle.writestr(f"policy/{name}", "x")
    path = tmp_path / f"policy{len(more)}.zip"
    path.write_bytes(file.getvalue())
    return path


def test_what_is_wrong_with_a_checkpoint_is_said_and_another_one_may_follow(
    logged_in: Page, expected: list[str], tmp_path: Path
) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # it left
    page = logged_in
    page.set_default_timeout(TRIED_MS)  # a click waits for the page that it leads to
    page.goto("/agents/")
    page.get_by_role("link", name="Upload a checkpoint").click()
    expect(page.get_by_label("Archive")).to_be_visible()
    check_looks(page)

    page.get_by_label("Archive").set_input_files(archive(tmp_path, "pytorch_model.bin"))
    page.get_by_label("Name", exact=True).fill("traveller")
    page.get_by_role("button", name="Upload checkpoint").click()
    expect(page.get_by_role("heading", level=1, name="traveller")).to_be_visible()
    expect(page.get_by_text("pytorch_model.bin is refused")).to_be_visible(timeout=TRIED_MS)
    check_looks(page)
    page.get_by_role("link", name="Upload another").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("traveller")


@pytest.mark.long
def test_a_checkpoint_is_uploaded_and_plays(logged_in: Page, expected: list[str], tmp_path: Path) -> None:
    expected += ["htmx:sendAbort", "htmx:afterRequest"]  # it left
    page = logged_in
    page.set_default_timeout(TRIED_MS)  # a click waits for the page that it leads to
    page.goto("/agents/upload/?name=traveller")
    page.get_by_label("Archive").set_input_files(archive(tmp_path))
    page.get_by_role("button", name="Upload checkpoint").click()
    expect(page.get_by_role("heading", name="Your checkpoint is being checked")).to_be_visible()
    check_looks(page)
    expect(page.get_by_role("heading", name="First turn")).to_be_visible(timeout=TRIED_MS)
    expect(page.get_by_role("heading", level=1, name=re.compile("traveller"))).to_be_visible()
    check_looks(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    assert zipfile.ZipFile(download.value.path()).testzip() is None

    page.get_by_role("link", name="Watch it now").click()
    page.get_by_role("button", name="Watch").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("traveller")
    expect(page.locator("#turns li").first).to_be_visible(timeout=TRIED_MS)
