"""Delete the state folder and the database that belongs to it: `make reset`."""

import shutil
import sys

from gemweb.local.config import StackConfig
from gemweb.local.errors import StackError, explain
from gemweb.local.servers.postgres import home_of
from gemweb.local.state import StateFolder


def main() -> int:
    """Delete both folders. Refuses while a stack uses them."""
    try:
        folder = StackConfig.from_env().state_dir
        if not folder.exists():
            return 0
        state = StateFolder(folder)
        state.open()
        try:
            for path in (home_of(folder), folder):
                if path.exists():
                    shutil.rmtree(path)
                    sys.stdout.write(f"deleted {path}\n")
        except OSError as error:
            raise explain(error, folder) from error
        finally:
            state.close()
    except StackError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
