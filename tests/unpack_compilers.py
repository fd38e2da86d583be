"""Unpack Debian unstable's `ocloc` and `iga64` with their libraries beside the system.

Run by `make compilers`. apt works with its own state and cache and an empty list of what is
installed, so that the system is left as it is; its signed index is the check. Programs are started
by their own loader (`pycute_xe.native.toolchains`). Where it cannot be done, one line says why.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from pycute_xe.facts import rows  # noqa: E402 - the checkout's, whether or not it is installed

FOLDER = Path(os.environ.get("PYCUTE_XE_COMPILERS") or ROOT / ".compilers")
PACKAGES = ("intel-ocloc", "libigc2", "libigdfcl2", "libigdgmm12", "libigc-tools")
LIBC = ("libc6", "libstdc++6", "libgcc-s1", "zlib1g")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://deb.debian.org/debian"
SECONDS = 300
VERSIONS = "versions.txt"


class Failure(Exception):
    """Why the compilers are not unpacked."""


def main() -> None:
    """Fetch and unpack; leave with 1 and one line where that fails."""
    new = FOLDER.with_name(f"{FOLDER.name}.new")
    try:
        demand_possible()
        found = unpacked(new)
        shutil.rmtree(FOLDER, ignore_errors=True)
        new.rename(FOLDER)
    except (Failure, OSError, subprocess.TimeoutExpired) as error:
        shutil.rmtree(new, ignore_errors=True)
        sys.exit(f"no compilers are unpacked, what needs them is left out: {error}")
    tried = {name for row in rows("native", "compiler") for name in row["packages"]}  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType]
    print(f"unpacked into {FOLDER}:")
    for name in found:
        print(f"  {name}" + ("" if name in tried else " (not the version that was tried)"))


def demand_possible() -> None:
    """Raise `Failure` where the programs could not run, or would replace something else."""
    if (machine := os.uname().machine) != "x86_64":
        raise Failure(f"they are programs for x86_64, this is {machine}")
    for program in ("apt-get", "dpkg", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Failure(f"{program} is not found on PATH")
    if FOLDER.exists() and not (FOLDER / VERSIONS).is_file():
        raise Failure(f"{FOLDER} holds something else; name another folder")


def unpacked(folder: Path) -> list[str]:
    """Fetch the packages and unpack them into a new folder; their names with versions."""
    shutil.rmtree(folder, ignore_errors=True)
    apt = folder / "apt"
    options = configured(apt)
    run("apt-get", *options, "update", "--error-on=any")
    install = ("--download-only", "--yes", "--no-install-recommends", "install")
    run("apt-get", *options, *install, *PACKAGES, *LIBC)
    found: list[str] = []
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        run("dpkg", "-x", str(package), str(folder))
        named = ("dpkg-deb", "--show", "--showformat=${Package} ${Version}", str(package))
        if (name := run(*named)).split()[0] in PACKAGES:
            found.append(name)
    shutil.rmtree(apt)
    (folder / VERSIONS).write_text("\n".join(found) + "\n", encoding="utf-8")
    return found


def configured(apt: Path) -> list[str]:
    """Make the folders of apt, with the one source; the options that name them."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    sources = apt / "sid.list"
    signed = f"[arch=amd64 signed-by={KEYRING}]"
    sources.write_text(f"deb {signed} {mirror()} sid main\n", encoding="utf-8")
    said = {
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "APT::Architecture": "amd64",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "Acquire::http::Timeout": "30",
    }
    return [part for name, value in said.items() for part in ("-o", f"{name}={value}")]


def mirror() -> str:
    """The mirror of Debian that the system uses; Debian's own elsewhere."""
    files = [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*.*"))]
    for file in files:
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
        if found := re.search(r"https?://\S+/debian/?(?=\s)", lines + "\n"):
            return found[0]
    return MIRROR


def run(*command: str) -> str:
    """What a program prints. `Failure` with its first line of complaint where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["no reason was given"]
        wrong = next((line for line in lines if line.startswith("E:")), lines[0])
        raise Failure(f"{command[0]}: {wrong.removeprefix('E: ')}")
    return done.stdout


if __name__ == "__main__":
    main()
