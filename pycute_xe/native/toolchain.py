"""Intel's offline compiler and disassembler: on PATH, and unpacked beside the system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from pycute_xe.errors import ToolError
from pycute_xe.facts import Row, rows
from pycute_xe.signatures import typed, typed_fields

__all__ = ["Toolchain", "missing", "toolchain_for", "toolchains"]

PACKAGES = "intel-opencl-icd libigc-tools"
"""The packages of Debian 12 and Ubuntu that hold both programs."""

_UNPACKED = Path(__file__).resolve().parents[2] / ".compilers"
_LOADER = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
_PROCESSOR_SECONDS = 300
"""What a program may take of a processor, however busy the machine is: a hang ends there."""
_OTHERWISE = "or run `make compilers` in a checkout"


@typed_fields
@dataclass(frozen=True)
class Toolchain:
    """A compiler and its disassembler: version, the targets that both know, their command lines.

    ``folder`` is where they were unpacked, empty for those on PATH.
    """

    version: str
    targets: tuple[str, ...]
    ocloc: tuple[str, ...]
    iga64: tuple[str, ...]
    folder: str = ""

    @property
    def tried(self) -> bool:
        """Whether this version is one of those that the project was tried with."""
        return self._row is not None

    @property
    def _row(self) -> Row | None:
        short = ".".join(self.version.split(".")[:2])
        return next((row for row in rows("native", "compiler") if row["version"] == short), None)

    @property
    def name(self) -> str:
        """Compiler and version, and that of the graphics compiler in it where it is known."""
        inside = f"IGC {self._row['igc']}" if self._row else "untried"
        return f"ocloc {self.version} ({inside})"

    def __str__(self) -> str:
        """Name, targets and where it was found."""
        where = f"unpacked in {self.folder}" if self.folder else "on PATH"
        return f"{self.name} for {', '.join(self.targets)}, {where}"

    def assembled(self, text: str, target: str, options: str) -> bytes:
        """Return the binary that ``ocloc`` makes of OpenCL C.

        Raises `ToolError` with its words where it refuses.
        """
        with TemporaryDirectory() as folder:
            return self._assembled(text, target, options, folder, {})

    def followed(self, text: str, target: str, options: str) -> tuple[bytes, str, tuple[str, ...]]:
        """Return the binary, the vISA that it was made of, and listings of the machine code.

        The vISA names lines of the text, and a listing instructions of the vISA; there are several
        where the compiler tried more than once. Raises `ToolError` where it refuses, and where it
        was built without these.
        Document: intel/intel-graphics-compiler, documentation/configuration_flags.md.
        """
        with TemporaryDirectory() as folder:
            steps = Path(folder, "steps")
            asked = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(steps)}
            binary = self._assembled(text, target, f"{options} -gline-tables-only", folder, asked)
            visa, listings = (
                tuple(path.read_text(encoding="utf-8") for path in sorted(steps.glob(name)))
                for name in ("*_entry_*[0-9].visaasm", "*_entry_*[0-9].asm")
            )
        if not visa or not listings:
            raise ToolError(
                "explain",
                {"compiler": self.name, "device": target},
                "the graphics compiler does not write down its steps",
                "use a version of atoms/native.toml",
            )
        return binary, visa[-1], listings

    def _assembled(
        self, text: str, target: str, options: str, folder: str, asked: dict[str, str]
    ) -> bytes:
        source = Path(folder, "kernel.cl")
        source.write_text(text, encoding="utf-8")
        given = ["compile", "-file", str(source), "-device", target, "-options", options]
        command = [*self.ocloc, *given, *_format(self.ocloc), "-out_dir", folder]
        done = _run(command, folder, asked)
        binaries = sorted(Path(folder).glob("*.bin"))
        if not binaries:
            reason = _detail(folder) or _first(done.stdout + done.stderr)
            raise ToolError(
                "compile",
                {"compiler": self.name, "device": target},
                f"ocloc refuses the text: {reason}",
                "emit(kernel) is the text it was given",
            )
        return binaries[0].read_bytes()

    def disassembled(self, code: bytes, target: str, *options: str) -> str:
        """Return machine code as text, or as the options say, by ``iga64``."""
        with TemporaryDirectory() as folder:
            file = Path(folder, "kernel.isa")
            file.write_bytes(code)
            platform = cast("str", _platform(target)["name"])
            done = _run([*self.iga64, "-p", platform, "-d", str(file), *options], folder)
        if done.returncode:
            given = {"program": "iga64", "target": target}
            newer = "use bmg" if _platform(target).get("confirmed") else "use a newer libigc-tools"
            condition = f"iga64 cannot read the code: {_first(done.stderr)}"
            raise ToolError("compile", given, condition, newer)
        return done.stdout

    def listing(self, binary: bytes, name: str, code: bytes, target: str) -> str:
        """Return the text of a kernel of a zebin: by ocloc where iga64 does not know the target."""
        if _platform(target).get("confirmed"):
            return self._own(binary, name, target)
        return self.disassembled(code, target)

    def _own(self, binary: bytes, name: str, target: str) -> str:
        """The text that ocloc makes of a kernel of a zebin, empty where it makes none."""
        with TemporaryDirectory() as folder:
            file = Path(folder, "kernel.bin")
            file.write_bytes(binary)
            given = ["disasm", "-file", str(file), "-device", target, "-dump", folder]
            _run([*self.ocloc, *given], folder)
            own = Path(folder, f".text.{name}.asm")
            return own.read_text(encoding="utf-8") if own.is_file() else ""

    def confirm(self, binary: bytes, name: str, code: bytes, target: str) -> None:
        """Compare a disassembly with ocloc's own, where iga64 does not know the target.

        Raises `ToolError` where they differ.
        """
        if not _platform(target).get("confirmed"):
            return
        text = self._own(binary, name, target)
        if _lines(text) != _lines(self.disassembled(code, target, "-Xno-print-bfnexprs")):
            raise ToolError(
                "compile",
                {"compiler": self.name, "target": target},
                f"iga64 has no platform for {target}, and reads the code otherwise than ocloc does",
                "use bmg",
            )


def _lines(text: str) -> list[str]:
    """The lines of a disassembly without comments; how columns are aligned says nothing."""
    return [" ".join(line.split("//")[0].split()) for line in text.splitlines() if line.strip()]


# ------------------------------------------------------------ finding


@typed
def toolchains() -> tuple[Toolchain, ...]:
    """Return the compilers that are found: on PATH, then what ``make compilers`` unpacked.

    Compilers are unpacked in the folder ``.compilers`` of the checkout; the environment variable
    PYCUTE_XE_COMPILERS names another one.
    """
    chains: list[Toolchain] = []
    on_path = tuple(filter(None, map(shutil.which, ("ocloc", "iga64"))))
    if len(on_path) == 2:
        chains.append(_asked((on_path[0],), (on_path[1],), ""))
    folder = Path(os.environ.get("PYCUTE_XE_COMPILERS") or _UNPACKED)
    loader, tools = folder / _LOADER, folder / "usr/bin"
    programs = [sorted(tools.glob(name)) for name in ("ocloc*", "iga64*")]
    if loader.is_file() and all(programs):
        start = (str(loader), "--library-path", str(loader.parent))
        ocloc, iga64 = ((*start, str(program[0])) for program in programs)
        chains.append(_asked(ocloc, iga64, str(folder)))
    return tuple(t for t in chains if t.targets)


@cache
def _asked(ocloc: tuple[str, ...], iga64: tuple[str, ...], folder: str) -> Toolchain:
    """What the programs say of themselves; no targets where they cannot be started."""
    with TemporaryDirectory() as place:
        _run([*ocloc, "query", "OCL_DRIVER_VERSION"], place)
        file = Path(place, "OCL_DRIVER_VERSION")
        version = file.read_text(encoding="utf-8").strip("\0 \n") if file.is_file() else "unknown"
        listed = _run([*iga64, "-h=p"], place)
        platforms = set(re.findall(r"\w+", listed.stdout + listed.stderr))
        targets = tuple(
            cast("str", row["target"])
            for row in rows("native", "platform")
            if row["name"] in platforms
            and not _run([*ocloc, "ids", str(row["target"])], place).returncode
        )
    return Toolchain(version, targets, ocloc, iga64, folder)


@cache
def _format(ocloc: tuple[str, ...]) -> tuple[str, ...]:
    """The option for the format that is read here, of compilers that write another one as well."""
    with TemporaryDirectory() as place:
        help_text = _run([*ocloc, "compile", "--help"], place).stdout
    return ("--format", "zebin") if "--format" in help_text else ()


def _platform(target: str) -> Row:
    return next(row for row in rows("native", "platform") if row["target"] == target)


@typed
def missing(target: str = "pvc", version: str = "") -> str:
    """Return one line that says what is not installed and how to install it; empty if nothing.

    What is asked for is a compiler for ``target``, of a ``version`` that begins so.
    """
    if any(target in t.targets and t.version.startswith(version) for t in toolchains()):
        return ""
    absent = [name for name in ("ocloc", "iga64") if shutil.which(name) is None]
    named = f"ocloc {version} for {target}" if version or target != "pvc" else "ocloc and iga64"
    if named.startswith("ocloc and") and len(absent) == 1:
        named = absent[0]
    return f"{named} not found on PATH: apt-get install {PACKAGES} (Debian 12), {_OTHERWISE}"


@typed
def toolchain_for(target: str = "pvc", version: str = "") -> Toolchain:
    """Return the first compiler for a target, of a version that begins so.

    Raises `ToolError` where no compiler is found.
    """
    chains = toolchains()
    for each in chains:
        if target in each.targets and each.version.startswith(version):
            return each
    condition = missing(target, version)
    if chains:
        condition = f"no compiler of version {version or 'any'} for {target} among these: "
        condition += "; ".join(map(str, chains))
    raise ToolError(
        "compile",
        {"target": target, "compiler": version},
        condition,
        f"install {PACKAGES} for pvc, {_OTHERWISE} for others",
    )


# ------------------------------------------------------------ running


def _run(
    command: list[str], folder: str, asked: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Start a program in a folder, with more in its environment; how it ended, and its words."""
    program = command[0]
    try:
        with subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(asked or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            _limit(process.pid)
            out, err = process.communicate()
    except OSError as error:
        condition = f"{program} cannot be started: {error.strerror}"
        raise ToolError("compile", {"program": program}, condition, "install it anew") from error
    if process.returncode == -_SIGXCPU:
        condition = f"{program} takes more than {_PROCESSOR_SECONDS} s of a processor"
        raise ToolError("compile", {"program": program}, condition, "use a smaller tile")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


_SIGXCPU = 24
"""What ends a program that exceeds its processor time; a number, since Windows lacks the name."""


def _limit(process: int) -> None:
    """Let a process take so much of a processor; where the system cannot, it ends by itself."""
    try:
        from resource import RLIMIT_CPU, prlimit
    except ImportError:
        return
    with suppress(OSError):  # it has ended already
        # At a hard limit that is the same, the system may kill first: as where memory runs out.
        prlimit(process, RLIMIT_CPU, (_PROCESSOR_SECONDS, _PROCESSOR_SECONDS + 60))


def _detail(folder: str) -> str:
    """What the assembler of vISA says of the first wrong instruction; empty for nothing."""
    log = Path(folder, "kernel.errors.txt")
    if not log.is_file():
        return ""
    lines = [line.strip() for line in log.read_text(encoding="utf-8").splitlines()]
    reasons = [line for line in lines if line.startswith(("in instruction", "*"))]
    return " ".join(" ".join(reasons[:2]).split())


def _first(text: str) -> str:
    """The first line that tells what is wrong, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower()]
    return (wrong or lines or ["no reason was given"])[0 if wrong else -1]
