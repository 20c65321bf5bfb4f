"""Finding a Chromium for the walks, or installing one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",
]
"""One process draws all pages of a profile: a page with a process of its own costs a third more processor time."""
SHELL = "chromium-headless-shell"
"""The same engine without the windows of a browser: a page costs a third of the processor time."""
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
MISSING = (
    f"No Chromium was found and none could be installed: install one (on Debian: apt-get install {SHELL}), "
    "or name its program in BROWSER_PATH."
)


def find_browser() -> str | None:
    """BROWSER_PATH, then Chromium's headless shell, then another browser on PATH, then Playwright's own."""
    return find_shell() or next(filter(None, map(shutil.which, NAMES)), None) or _playwright_browser()


def find_shell() -> str | None:
    """BROWSER_PATH, or the headless shell on PATH or of Playwright."""
    return os.environ.get("BROWSER_PATH") or shutil.which(SHELL) or _playwright_shell()


def install_browser() -> str | None:
    """Install the headless shell with what this machine has; where that does not work, any browser will do."""
    attempts = [[sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        apt = ["apt-get", "-o", "DPkg::Lock::Timeout=60"]
        attempts.insert(0, ["sh", "-c", f"{' '.join(apt)} -q update && {' '.join(apt)} install -qy {SHELL}"])
    for command in attempts:
        print(f"browser: {' '.join(command[-3:])}", flush=True)
        try:
            subprocess.run(
                command,
                check=True,
                stdin=subprocess.DEVNULL,
                timeout=600,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        except (OSError, subprocess.SubprocessError):
            continue
        found = find_shell()
        if found:
            return found
    return find_browser()


def main() -> int:
    """Make sure there is a browser; in CI its absence is a failure."""
    found = find_shell() or install_browser()
    if found:
        return 0
    print(MISSING, file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


def _playwright_shell() -> str | None:
    places = _playwright_place().parents[2].glob("chromium_headless_shell-*/*/*headless*shell")
    return next((str(place) for place in sorted(places, reverse=True)), None)


def _playwright_browser() -> str | None:
    place = _playwright_place()
    return str(place) if place.exists() else None


def _playwright_place() -> Path:
    """Where Playwright's own Chromium is, or would be."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path)


if __name__ == "__main__":
    sys.exit(main())
