"""`gemweb verify`: a certificate, and that episodes are those it was issued for.

Only a key is trusted that was given with --key or pinned before, never one that comes with the certificate. The network
is used only where --key is the address of a site.
"""

from __future__ import annotations

import argparse
import binascii
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

from gem.cli.replay import STDIN
from gem.errors import UsageError
from gem.validation.dependencies import CLIENT_PACKAGES, VERIFICATION_PACKAGES, require_installed
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.verification.certificates import Certificate, SignedCertificate
    from gem.verification.keys import PublishedKey, TrustedKeys
    from gem.verification.reexecution import Summary

KEY_BYTES = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="a file; - reads standard input")
    parser.add_argument(
        "episodes", type=Path, nargs="?", metavar="EPISODES", help="the episodes, as JSON or JSON lines"
    )
    parser.add_argument(
        "--key",
        metavar="KEY_OR_SITE",
        help="the public key to trust: a PEM file, base64, or the address of a site, which is asked for its keys",
    )
    parser.add_argument("--pin", action="store_true", help="keep the keys of the site, so that later checks need none")
    parser.add_argument("--execute", action="store_true", help="execute every episode again as well")
    parser.add_argument("--processes", type=int, default=1, help="how many processes execute (1)")


def run(
    certificate: Path,
    episodes: Path | None,
    key: str | None,
    pin: bool,
    execute: bool,
    processes: int,
    modules: list[str] | None = None,
) -> int:
    """Verify a certificate; the exit code is 1 if something is not as it says, and 2 if it cannot be verified."""
    require_installed("gemweb verify", VERIFICATION_PACKAGES)
    if processes < 1:
        raise UsageError("--processes is at least 1.")
    if execute and episodes is None:
        raise UsageError("Name the file of the episodes that --execute is to execute again.")
    from gem.verification import certificates  # noqa: PLC0415 (the other commands start faster without it)

    signed = certificates.read(_content(certificate))
    trusted = find_keys(signed, key, pin=pin)
    try:
        verified = signed.verified(trusted)
        _print_certificate(verified, trusted, signed.signature.key)
        if episodes is not None:
            _check(verified, episodes)
    except certificates.NotProved as error:
        print(f"NOT PROVED. {error}")
        return 1
    if episodes is not None and execute:
        return _execute(episodes, processes, modules or [])
    return 0


def find_keys(signed: SignedCertificate, key: str | None, *, pin: bool) -> TrustedKeys:
    """Return the keys that are trusted: those given, else those pinned for the site that the certificate names.

    Raises:
        UsageError: if there are none, or they cannot be read.
        Unreachable: if a site gives no answer.
    """
    from gem.verification.keys import PublicKey, TrustedKeys  # noqa: PLC0415 (as above)

    if pin and (key is None or _is_key(key)):
        raise UsageError("--pin keeps the keys of a site: name it with --key https://... as well.")
    if key is None:
        return _pinned(signed.site)
    path = Path(key)
    if path.is_file():
        return TrustedKeys.single(PublicKey.from_pem(_content(path)), f"the file {path}")
    if _is_key(key):
        return TrustedKeys.single(PublicKey.from_base64(key), "--key")
    if path.suffix in (".pem", ".pub", ".key"):
        raise UsageError(f"There is no file {path}.")
    require_installed("To fetch the keys of a site, gemweb verify", CLIENT_PACKAGES)
    from gem.client import site_keys  # noqa: PLC0415 (as above)

    published = site_keys.fetch(key)
    if pin:
        print(f"The keys of {published.site} are kept in {site_keys.pin(published.site, published)}.")
    return TrustedKeys.of_site(published, f"the list of keys of {published.site}")


def _pinned(site: str) -> TrustedKeys:
    from gem.client import site_keys  # noqa: PLC0415 (as above)
    from gem.verification.keys import TrustedKeys  # noqa: PLC0415

    published = site_keys.pinned(site)
    if published is None:
        raise UsageError(
            f"No key of {site or 'this site'} is pinned here, and one inside a certificate proves nothing. "
            "Give the key with --key: a PEM file, base64, or the address of the site."
        )
    return TrustedKeys.of_site(published, f"the list of keys of {site} that is pinned here")


def _is_key(text: str) -> bool:
    try:
        return len(b64decode(text, validate=True)) == KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def _content(path: Path) -> bytes:
    path = STDIN if str(path) == "-" else path
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error


def _print_certificate(certificate: Certificate, trusted: TrustedKeys, key_id: str) -> None:
    entry: PublishedKey | None = trusted.find(key_id)
    assert entry is not None, "a trusted key has signed the certificate"
    print(f"Signed by the key {entry.id} of {certificate.site} (from {trusted.source}), {certificate.issued:%Y-%m-%d}.")
    benchmark = certificate.benchmark
    where = f" on {benchmark.name}, version {benchmark.version}" if benchmark else ""
    print(f"{certificate.agent.name}{where}: {count(certificate.episodes, 'episode')}, {certificate.tier}.")
    if certificate.score is not None:
        low, high = certificate.score.low, certificate.score.high
        interval = "" if low is None or high is None else f" (95 % interval {low:.3f} to {high:.3f})"
        print(f"Score {certificate.score.mean:.3f}{interval}.")
    print(certificate.proves)


def _check(certificate: Certificate, path: Path) -> None:
    from gem.records import episode_files  # noqa: PLC0415 (as above)
    from gem.verification.checking import check_episodes  # noqa: PLC0415

    if str(path) == "-":
        raise UsageError("Episodes are read twice if one of them is wrong: give a file.")
    number = check_episodes(certificate, lambda: episode_files.read(path))
    if number < certificate.episodes:
        print(
            f"{count(number, 'episode')} of the {certificate.episodes:,} of the certificate: proved to be among them."
        )
    else:
        print(f"All {count(number, 'episode')} are those of the certificate, and its means follow from them.")


def _execute(path: Path, processes: int, modules: list[str]) -> int:
    from gem.records import episode_files  # noqa: PLC0415 (as above)
    from gem.verification.reexecution import Summary, reexecute  # noqa: PLC0415

    summary = Summary()
    for finding in reexecute(episode_files.read(path), processes=processes, modules=modules):
        summary.add(finding)
    print_summary(summary)
    if summary.first is not None:
        kind = "" if summary.first.status == "differs" else "cannot be executed here. "
        print(f"NOT PROVED. {summary.first.name}, {summary.first.env_id}: {kind}{summary.first.sentence}")
        return 1
    return 0


def print_summary(summary: Summary) -> None:
    """Print how many episodes were executed again, and what that did not prove."""
    total = summary.same + summary.differing + summary.unknown
    print(f"{summary.same:,} of {count(total, 'episode')} executed again with the same result.")
    if failed := summary.failed_at_once:
        which = "it failed before its first turn" if failed == 1 else "they failed before their first turn"
        print(f"{count(failed, 'episode')} not executed: {which}.")
    for note, number in summary.notes.items():
        print(f"{count(number, 'episode')}: {note}")
