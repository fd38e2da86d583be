"""Floor 11: what the compiler says of a kernel in its ``.ze_info`` section."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pycute_xe.errors import InputError

__all__ = ["Argument", "KernelInfo", "kernel_info"]

Entry = dict[str, str]


@dataclass(frozen=True, slots=True)
class Argument:
    """Where the kernel finds something it is given: what it is, its place and its size in bytes.

    ``index`` is the number of a parameter of the source, -1 for what the launch itself gives.
    """

    kind: str
    offset: int
    size: int
    index: int


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """Register mode, scratch bytes of a thread, lanes, barriers and the payload of a kernel.

    ``private`` are the bytes of memory of its own that a thread has besides.
    """

    registers: int
    scratch: int
    private: int
    lanes: int
    barriers: int
    slm: int
    arguments: tuple[Argument, ...]
    per_thread: tuple[str, ...]


def kernel_info(text: str) -> KernelInfo:
    """Read the section: the part of YAML that the compiler writes. `InputError` for what is not.

    Document: intel/compute-runtime, Zebin, ZEInfo.
    """
    env: Entry = {}
    lists: dict[str, list[Entry]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("kernels_misc_info"):
            break
        if found := re.fullmatch(r"    (\w+):", line):
            section = found[1]
        elif found := re.fullmatch(r"      (- |  )(\w+): +(.*)", line):
            entries = lists.setdefault(section, [])
            if found[1] == "- ":
                entries.append({})
            if entries:
                entries[-1][found[2]] = found[3]
            elif section == "execution_env":
                env[found[2]] = found[3]
        elif (found := re.fullmatch(r"      (\w+): +(.*)", line)) and section == "execution_env":
            env[found[1]] = found[2]
    if "grf_count" not in env or "simd_size" not in env:
        raise InputError("compile", {}, "the binary does not say how many registers it uses", "")
    buffers = lists.get("per_thread_memory_buffers", [])
    scratch = sum(int(b["size"]) for b in buffers if b.get("type") == "scratch")
    return KernelInfo(
        registers=int(env["grf_count"]),
        scratch=scratch,
        private=sum(int(b["size"]) for b in buffers) - scratch,
        lanes=int(env["simd_size"]),
        barriers=int(env.get("barrier_count", 0)),
        slm=int(env.get("slm_size", 0)),
        arguments=tuple(_argument(e) for e in lists.get("payload_arguments", [])),
        per_thread=tuple(
            e.get("arg_type", "") for e in lists.get("per_thread_payload_arguments", [])
        ),
    )


def _argument(entry: Entry) -> Argument:
    kind = entry["arg_type"]
    if entry.get("addrmode") == "stateful":
        kind = "stateful"  # a binding table, which takes no room in the payload
    return Argument(kind, int(entry["offset"]), int(entry["size"]), int(entry.get("arg_index", -1)))
