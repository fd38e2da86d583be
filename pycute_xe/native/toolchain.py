"""Floor 11: Intel's offline compiler and disassembler, found on PATH and run in a folder apart."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from pycute_xe.errors import ToolError

__all__ = ["PACKAGES", "assembled", "disassembled", "missing"]

PACKAGES = "intel-opencl-icd libigc-tools"
"""The packages of Debian and Ubuntu that hold both programs."""

_SECONDS = 300


def missing() -> str:
    """Return one line that says what is not installed and how to install it; empty if nothing."""
    absent = [name for name in ("ocloc", "iga64") if shutil.which(name) is None]
    if not absent:
        return ""
    return f"{' and '.join(absent)} not found on PATH: apt-get install {PACKAGES}"


def assembled(text: str, device: str, options: str) -> bytes:
    """Return the binary that ``ocloc`` makes of OpenCL C.

    Raises `ToolError` where it is not installed, and with its words where it refuses.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder, "kernel.cl")
        source.write_text(text, encoding="utf-8")
        said = _run(
            [
                *("ocloc", "compile", "-file", str(source), "-device", device),
                *("--format", "zebin", "-options", options, "-out_dir", folder),
            ],
            folder,
        )
        found = sorted(Path(folder).glob("*.bin"))
        if not found:
            raise ToolError(
                "compile",
                {"device": device},
                f"ocloc refuses the text: {_detail(folder) or _first(said)}",
                "emit(kernel) is the text it was given",
            )
        return found[0].read_bytes()


def disassembled(code: bytes, platform: str, *options: str) -> str:
    """Return machine code as text, or as the options say, by ``iga64``."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "kernel.isa")
        file.write_bytes(code)
        return _run(["iga64", "-p", platform, "-d", str(file), *options], folder)


def _run(command: list[str], folder: str) -> str:
    if shutil.which(command[0]) is None:
        raise ToolError("compile", {"program": command[0]}, missing(), f"install {PACKAGES}")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            "compile",
            {"program": command[0]},
            f"{command[0]} does not end within {_SECONDS} seconds",
            "use a smaller tile",
        ) from error
    if command[0] == "iga64":
        if done.returncode:
            condition = f"iga64 cannot read the code: {_first(done.stderr)}"
            raise ToolError("compile", {"program": "iga64"}, condition, "use a newer libigc-tools")
        return done.stdout
    return done.stdout + done.stderr


def _detail(folder: str) -> str:
    """What the assembler of vISA says of the first wrong instruction; empty for nothing."""
    said = Path(folder, "kernel.errors.txt")
    if not said.is_file():
        return ""
    lines = [line.strip() for line in said.read_text(encoding="utf-8").splitlines()]
    told = [line for line in lines if line.startswith(("in instruction", "*"))]
    return " ".join(" ".join(told[:2]).split())


def _first(said: str) -> str:
    """The first line that tells what is wrong, else the last one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower()]
    return (wrong or lines or ["no reason was given"])[0 if wrong else -1]
