"""`manage.py` with the settings of the stack in STATE_DIR: `python -m gemweb.local.manage createsuperuser`."""

import re
import subprocess
import sys

from gemweb.local.config import ROOT, StackConfig
from gemweb.local.errors import StackError
from gemweb.local.servers.postgres import home_of
from gemweb.local.servers.reach import database
from gemweb.local.services import environment

UNUSED_VALKEY = "redis://127.0.0.1:1/0"
"""An address without a server, for a stack without Valkey: then no process needs notifications."""


def main(arguments: list[str]) -> int:
    """Run a Django command. Returns its exit code, or 1 after printing one sentence."""
    try:
        config = StackConfig.from_env()
        if not config.database_url and not (home_of(config.state_dir) / "data").exists():
            raise StackError(f"There is no database in {config.state_dir}: set STATE_DIR=... to its folder.")
        with database(config) as url:
            env = environment(config, url, valkey_url(config))
            return subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=env, check=False).returncode
    except StackError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1


def valkey_url(config: StackConfig) -> str:
    """The address of the Valkey of the stack."""
    if config.valkey_url:
        return config.valkey_url
    try:
        port = re.search(r"^port (\d+)$", (config.state_dir / "valkey" / "valkey.conf").read_text(), re.MULTILINE)
        password = (config.state_dir / "valkey_password").read_text().strip()
    except OSError:
        return UNUSED_VALKEY
    return f"redis://:{password}@127.0.0.1:{port[1]}/0" if port else UNUSED_VALKEY


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
