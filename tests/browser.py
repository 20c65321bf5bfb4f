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
]
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome", "chromium-headless-shell")
MISSING = (
    "No Chromium was found and none could be installed: install one (on Debian: apt-get install chromium), "
    "or name its program in BROWSER_PATH."
)


def find_browser() -> str | None:
    """BROWSER_PATH, then a browser on PATH, then Playwright's own."""
    named = os.environ.get("BROWSER_PATH")
    if named:
        return named
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return found
    return _playwright_browser()


def install_browser() -> str | None:
    """Install a browser with what this machine has; None when nothing works."""
    attempts = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        apt = ["apt-get", "-o", "DPkg::Lock::Timeout=60"]
        attempts.insert(0, ["sh", "-c", f"{' '.join(apt)} -q update && {' '.join(apt)} install -qy chromium"])
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
        found = find_browser()
        if found:
            return found
    return None


def main() -> int:
    """Make sure there is a browser; in CI its absence is a failure."""
    found = find_browser() or install_browser()
    if found:
        return 0
    print(MISSING, file=sys.stderr)
    return 1 if os.environ.get("CI") else 0


def _playwright_browser() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


if __name__ == "__main__":
    sys.exit(main())
