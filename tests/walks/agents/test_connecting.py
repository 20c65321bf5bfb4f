"""Somebody adds an agent that runs on their machine, starts the program that the page shows, and watches it play."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks


def test_from_a_name_to_turns_of_a_program_of_ones_own(logged_in: Page, tmp_path: Path) -> None:
    page = logged_in
    page.goto("/agents/")
    page.get_by_role("link", name="Connect your agent").click()
    page.get_by_label("Name", exact=True).fill("At home")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Connect At home")
    expect(page.locator("#strip")).to_contain_text("Waiting for your agent")
    check_looks(page)
    page.get_by_role("button", name="Make a token").click()
    token = page.get_by_label("Token", exact=True).input_value()
    program = tmp_path / "my_agent.py"
    program.write_text(page.get_by_label("The program").inner_text(), "utf-8")
    env = {"PATH": os.environ["PATH"], "GEMWEB_TOKEN": token}
    running = subprocess.Popen([sys.executable, program], env=env, stderr=subprocess.PIPE, text=True)
    try:
        expect(page.locator("#strip [role=status]")).to_contain_text("Connected")
        check_looks(page)
        page.get_by_role("link", name="Find it a seat").click()
        agent = re.search("agent=(at-home[^&]*)", page.url)
        assert agent is not None
        page.goto(f"/play/watch/new/?agent={agent[1]}&env_id=game:GuessTheNumber-v0-easy")
        page.get_by_role("main").get_by_role("button", name="Watch").click()
        expect(page.locator("#t1")).to_be_visible()  # the first guess may be right
    finally:
        running.kill()
        running.communicate()
