"""What a program of a kernel does on a device: place, build, run, compare, time, report."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from statistics import median
from typing import Any

import ml_dtypes
import numpy as np

from pycute_xe.emitting.figures import DEVICES, Figures
from pycute_xe.emitting.valuing import rounded, wide

Sizes = Mapping[str, int]
Arrays = Mapping[str, Any]
Window = tuple[range, ...]

ROOM = 1 << 23
"""Numbers of one array while an output is computed with NumPy."""


class Refused(Exception):
    """What stands in the way, as one line."""


@dataclass(frozen=True)
class Tensor:
    """An operand: its type, its modes as functions of sizes, and the numbers it is filled with.

    ``numbers`` is empty where the kernel takes elements as indices: those are given.
    """

    name: str
    dtype: str
    bits: int
    modes: tuple[str, ...]
    shape: Callable[[Sizes], tuple[int, ...]]
    contiguous: int
    role: str
    numbers: tuple[float, ...]

    def type(self) -> np.dtype[Any]:
        """Return the type of NumPy; elements below a byte have a byte of their own there."""
        return np.dtype(getattr(ml_dtypes, self.dtype, self.dtype))


@dataclass(frozen=True)
class Output:
    """What an output should be: its value on a window, the numbers of a row, and the tolerance."""

    name: str
    value: Callable[[Arrays, Sizes, Window], Any]
    row: Callable[[Sizes], int]
    tolerance: float


@dataclass(frozen=True)
class Target:
    """A kernel for a kind of device: its text, and what that device's launch and compiler take.

    ``lanes`` are the work-items of a subgroup, ``options`` the compiler's by the registers of a
    thread, ``demands`` an extension that the device must have, ``slow`` says that the compiler
    takes more than 30 s, and ``common`` are sizes to begin with.
    """

    text: str
    lanes: int
    options: Mapping[int, str]
    demands: str
    slow: bool
    common: Mapping[str, int]


@dataclass(frozen=True)
class Kernel:
    """A kernel as a program has it: a target by kind of device, and all that a launch needs."""

    name: str
    function: str
    identity: str
    subgroups: int
    sizes: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    outputs: tuple[Output, ...]
    groups: Callable[[Sizes, Arrays], tuple[int, ...]]
    operations: Callable[[Sizes], int]
    rules: tuple[tuple[str, str, int], ...]
    targets: Mapping[str, Target]


# ------------------------------------------------------------ memory
# Operands as rows of bytes, with pitches that block-2D messages take.


@dataclass(frozen=True)
class Surface:
    """Rows of an operand in memory: how many, the bytes of one that count, and from row to row."""

    shape: tuple[int, ...]
    rows: int
    width: int
    pitch: int
    pitches: tuple[int, ...]


def surface(kernel: Kernel, tensor: Tensor, sizes: Sizes, pitch: int | None) -> Surface:
    """Return how an operand lies in memory; refuse a pitch that messages do not take."""
    shape = tensor.shape(sizes)
    others = [m for m in range(len(shape)) if m != tensor.contiguous]
    rows, least = prod(shape[m] for m in others), _row_bytes(tensor, shape)
    width = max(-(-least // 4) * 4, 64)
    step = -(-width // 64) * 64 if pitch is None else pitch
    pitches = tuple(step * prod(shape[o] for o in others if o > m) for m in others)
    measured = {"width": width, "height": shape[others[-1]] if others else 1, "pitch": step}
    measured["base"] = pitches[-2] if len(pitches) > 1 else 0
    if step < width:
        raise Refused(f"{tensor.name}: a pitch of {step} bytes is below the {width} of a row")
    for quantity, how, bound in kernel.rules:
        value = measured[quantity]
        right = {
            "at_least": value >= bound,
            "at_most": value <= bound,
            "multiple_of": value % bound == 0,
        }
        if not right[how]:
            must = how.replace("_", " ").replace("multiple of", "a multiple of")
            raise Refused(f"{tensor.name}: its {quantity} of {value} must be {must} {bound}")
    return Surface(shape, rows, width, step, pitches)


def _row_bytes(tensor: Tensor, shape: tuple[int, ...]) -> int:
    return -(-shape[tensor.contiguous] * tensor.bits // 8)


def packed(tensor: Tensor, array: Any, place: Surface) -> Any:
    """Return the bytes of an operand, (rows, pitch); what lies behind a row is zero."""
    extent = place.shape[tensor.contiguous]
    flat = np.moveaxis(array, tensor.contiguous, -1).reshape(place.rows, extent)
    data = np.ascontiguousarray(flat).view(np.uint8).reshape(place.rows, -1)
    if tensor.bits < 8:
        count = 8 // tensor.bits
        codes = np.pad(data & ((1 << tensor.bits) - 1), ((0, 0), (0, -extent % count)))
        parts = codes.reshape(place.rows, -1, count) << (tensor.bits * np.arange(count))
        data = parts.sum(axis=2).astype(np.uint8)
    return np.pad(data, ((0, 0), (0, place.pitch - data.shape[1])))


def unpacked(tensor: Tensor, data: Any, place: Surface) -> Any:
    """Return the operand that rows of bytes are: the inverse of `packed`."""
    extent = place.shape[tensor.contiguous]
    data = data[:, : _row_bytes(tensor, place.shape)]
    if tensor.bits < 8:
        shifts = tensor.bits * np.arange(8 // tensor.bits)
        codes = (data[:, :, None] >> shifts & ((1 << tensor.bits) - 1)).reshape(place.rows, -1)
        data = codes[:, :extent].astype(np.uint8)
        if tensor.dtype.startswith("int"):
            top = 1 << (tensor.bits - 1)
            return _shaped(
                tensor, ((data ^ top).astype(np.int8) - top).astype(tensor.type()), place
            )
    return _shaped(tensor, np.ascontiguousarray(data).view(tensor.type())[:, :extent], place)


def _shaped(tensor: Tensor, rows: Any, place: Surface) -> Any:
    shape = [n for m, n in enumerate(place.shape) if m != tensor.contiguous]
    outer = rows.reshape(*shape, place.shape[tensor.contiguous])
    return np.moveaxis(outer, -1, tensor.contiguous)


# ------------------------------------------------------------ problem
# Sizes and inputs: those that are asked for, those of files, and small numbers for the rest.


def sizes_of(kernel: Kernel, kind: str, asked: Sizes, arrays: Arrays) -> dict[str, int]:
    """Return the sizes: those that are asked for, those of files, and common ones."""
    sizes = dict(kernel.targets[kind].common)
    for tensor in kernel.tensors:
        for mode, extent in zip(tensor.modes, np.shape(arrays.get(tensor.name, 0)), strict=False):
            sizes |= {mode: extent} if mode in sizes else {}
    known = {*sizes, *(tensor.name for tensor in kernel.tensors)}
    unknown = [name for name in (*asked, *arrays) if name not in known]
    sizes |= asked
    if unknown or min(sizes.values(), default=1) < 1:
        what = f"{unknown[0]} is unknown" if unknown else "a size must be 1 or more"
        raise Refused(f"{what}: {kernel.name} has the sizes {', '.join(kernel.sizes)}")
    return sizes


def inputs_of(kernel: Kernel, sizes: Sizes, arrays: Arrays, seed: int) -> dict[str, Any]:
    """Return an array for each operand that is read."""
    rng = np.random.default_rng(seed)
    read = [tensor for tensor in kernel.tensors if tensor.role in ("in", "inout")]
    return {tensor.name: _input(tensor, sizes, arrays, rng) for tensor in read}


def _input(tensor: Tensor, sizes: Sizes, arrays: Arrays, rng: np.random.Generator) -> Any:
    shape = tensor.shape(sizes)
    if tensor.name in arrays:
        array = np.asarray(arrays[tensor.name])
        if array.shape != shape:
            raise Refused(f"{tensor.name} is {array.shape} in the file, the sizes make it {shape}")
        return array.view(tensor.type()) if array.dtype.kind == "V" else array.astype(tensor.type())
    if not tensor.numbers:
        raise Refused(f"{tensor.name} has indices of other elements: give it by --data FILE.npz")
    return rng.choice(np.array(tensor.numbers), shape).astype(tensor.type())


# ------------------------------------------------------------ device


def opencl() -> Any:
    """Return pyopencl; it finds the CPU's driver where the package intel-opencl-rt has put it."""
    os.environ.setdefault("PYOPENCL_NO_CACHE", "1")
    driver = Path(sys.prefix) / "lib" / "libintelocl.so"
    if driver.exists() and "OCL_ICD_VENDORS" not in os.environ:
        vendors = Path(tempfile.mkdtemp())
        for entry in Path("/etc/OpenCL/vendors").glob("*.icd"):
            (vendors / entry.name).write_bytes(entry.read_bytes())
        (vendors / "intel-opencl-rt.icd").write_text(f"{driver}\n", encoding="utf-8")
        os.environ["OCL_ICD_VENDORS"] = str(vendors)
    try:
        return import_module("pyopencl")
    except ImportError as error:
        raise Refused("pyopencl is not installed: pip install pyopencl") from error


def device_of(cl: Any, kind: str | None) -> tuple[Any, str]:
    """Return the device to use and its kind: a GPU before a CPU, unless one is asked for."""
    try:
        there = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:
        there = []
    for name in (kind,) if kind else DEVICES:
        for device in there:
            if device.type & getattr(cl.device_type, name.upper()):
                return device, name
    what = f"no {kind.upper()}" if kind else "no device"
    raise Refused(
        f"OpenCL has {what} here: install Intel's graphics driver (intel-opencl-icd), "
        "or pip install intel-opencl-rt intel-cmplr-lib-rt for the CPU"
    )


def demand_device(device: Any, target: Target, needed: tuple[int, ...]) -> None:
    """Refuse a device without block-2D messages, and one with too little memory."""
    if target.demands and target.demands not in device.extensions.split():
        raise Refused(
            f"{device.name} has no block-2D messages ({target.demands}): use one of Xe-HPC or Xe2"
        )
    for what, bytes_, limit in (
        ("one operand", max(needed), device.max_mem_alloc_size),
        ("the operands", sum(needed), device.global_mem_size),
    ):
        if bytes_ > limit:
            need = f"{what} take {bytes_:,} bytes".replace("one operand take", "one operand takes")
            raise Refused(f"{need}, {device.name} gives {limit:,}: use smaller sizes")


def built(cl: Any, context: Any, kernel: Kernel, target: Target, registers: int) -> Any:
    """Return the kernel, compiled for the device."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = cl.Program(context, target.text).build(target.options[registers])
        except cl.Error as error:
            lines = [line for line in str(error).splitlines() if "error" in line]
            raise Refused(f"{kernel.name} does not build: {(lines or [str(error)])[0]}") from error
    return cl.Kernel(program, kernel.function)


# ------------------------------------------------------------ run


@dataclass(frozen=True)
class Given:
    """The problem: sizes, how operands lie in memory, and what those hold that are read."""

    sizes: Sizes
    places: Mapping[str, Surface]
    inputs: Arrays


@dataclass(frozen=True)
class Launch:
    """A kernel on a device with its operands in memory."""

    cl: Any
    queue: Any
    kernel: Kernel
    places: Mapping[str, Surface]
    buffers: Mapping[str, Any]
    call: Any
    shape: tuple[tuple[int, ...], tuple[int, ...]]

    def once(self) -> float:
        """Run it, and return the seconds that the device took."""
        event = self.cl.enqueue_nd_range_kernel(self.queue, self.call, *self.shape)
        event.wait()
        return (event.profile.end - event.profile.start) * 1e-9

    def output(self, name: str) -> Any:
        """Return an operand as it is now."""
        tensor = next(t for t in self.kernel.tensors if t.name == name)
        place = self.places[name]
        data = np.empty((place.rows, place.pitch), np.uint8)
        self.cl.enqueue_copy(self.queue, data, self.buffers[name])
        return unpacked(tensor, data, place)


def arguments(kernel: Kernel, given: Given, buffers: Arrays) -> list[Any]:
    """Return what the kernel is called with: its parameters in their order."""
    out: list[Any] = []
    for tensor in kernel.tensors:
        if not tensor.modes:
            integer = tensor.dtype.startswith(("int", "uint"))
            out.append((np.int32 if integer else np.float32)(given.inputs[tensor.name]))
            continue
        place = given.places[tensor.name]
        number = np.int32 if len(place.pitches) == 1 else np.int64
        out += [buffers[tensor.name], np.int32(place.width), *map(number, place.pitches)]
    return [*out, *(np.int32(given.sizes[name]) for name in kernel.sizes)]


def launched(
    cl: Any, device: Any, target: Target, kernel: Kernel, given: Given, registers: int
) -> tuple[Launch, float]:
    """Return the kernel ready to run, and the seconds that its compiler took."""
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    if target.slow:
        print("the compiler takes more than 30 s for this kernel", flush=True)
    start = time.perf_counter()
    call = built(cl, context, kernel, target, registers)
    seconds = time.perf_counter() - start
    buffers: dict[str, Any] = {}
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    for tensor in (t for t in kernel.tensors if t.modes):
        place, array = given.places[tensor.name], given.inputs.get(tensor.name)
        empty = np.zeros((place.rows, place.pitch), np.uint8)
        rows = empty if array is None else packed(tensor, array, place)
        buffers[tensor.name] = cl.Buffer(context, flags, hostbuf=rows)
    call.set_args(*arguments(kernel, given, buffers))
    lanes = target.lanes * kernel.subgroups
    first, *others = kernel.groups(given.sizes, given.inputs)
    shape = ((lanes * first, *others), (lanes, *(1 for _ in others)))
    return Launch(cl, queue, kernel, given.places, buffers, call, shape), seconds


# ------------------------------------------------------------ compare


def windows(shape: tuple[int, ...], row: int) -> Iterator[Window]:
    """Yield parts of an output of which NumPy computes one at a time: the ends, then the rest."""
    rows = shape[-2] if len(shape) > 1 else 1
    step = max(1, ROOM // max(row, 1))
    starts = sorted(
        range(0, rows, step), key=lambda at: (at not in (0, (rows - 1) // step * step), at)
    )
    for at in starts:
        for lead in np.ndindex(*shape[:-2]):
            columns = range(shape[len(shape) - 1])
            inside = (range(at, min(at + step, rows)), columns) if len(shape) > 1 else (columns,)
            yield (*(range(i, i + 1) for i in lead), *inside)


def compared(launch: Launch, given: Given, seconds: float) -> tuple[str, float]:
    """Return the first element that differs, in words, and the share of elements compared."""
    arrays = {name: _whole(array) for name, array in given.inputs.items()}
    elements = checked = 0
    for output in launch.kernel.outputs:
        out = launch.output(output.name)
        tensor = next(t for t in launch.kernel.tensors if t.name == output.name)
        limit, elements = time.perf_counter() + seconds, elements + out.size
        for window in windows(out.shape, output.row(given.sizes)):
            with np.errstate(all="ignore"):
                wanted = rounded(output.value(arrays, given.sizes, window), tensor.dtype)
            part = out[tuple(slice(r.start, r.stop) for r in window)]
            words = differing(output, _whole(part), wanted, window)
            if words:
                return words, 0.0
            checked += part.size
            if time.perf_counter() > limit:
                break
    return "", checked / elements


def _whole(array: Any) -> Any:
    integer = array.dtype.kind in "iu" or "int" in array.dtype.name
    return array.astype(np.int64 if integer else np.float64)


def differing(output: Output, out: Any, wanted: Any, window: Window) -> str:
    """Return the first element of a window that differs, in words; nothing where none does."""
    largest = np.abs(np.where(np.isfinite(wanted), wanted, 0)).max(initial=0)
    near = np.abs(out - wanted) <= output.tolerance * largest if output.tolerance else out == wanted
    near = near | (out == wanted) | (np.isnan(wide(out)) & np.isnan(wide(wanted)))
    if near.all():
        return ""
    at = np.unravel_index(int(np.argmin(near)), near.shape)
    place = ", ".join(str(r.start + int(i)) for r, i in zip(window, at, strict=True))
    return f"{output.name}[{place}] is {out[at]}, NumPy has {wanted[at]}"


# ------------------------------------------------------------ report


def document(measured: Figures) -> str:
    """Return a measurement as a document of pycute_xe, which `read_report` reads."""
    value = {"class": "Measurement", **asdict(measured)}
    return json.dumps({"format": "pycute_xe", "version": 1, "kind": "Measurement", "value": value})


def traffic(launch: Launch) -> int:
    """Return the bytes of all operands, each read or written once."""
    times = {"in": 1, "out": 1, "inout": 2, "scratch": 0}
    return sum(
        times[t.role] * launch.places[t.name].rows * _row_bytes(t, launch.places[t.name].shape)
        for t in launch.kernel.tensors
        if t.modes
    )


def printed(measured: Figures) -> None:
    """Print what was measured."""
    print(f"device   {measured.device}, driver {measured.driver}")
    print(f"sizes    {' '.join(f'{name}={size}' for name, size in measured.sizes)}")
    print(f"built    in {measured.build_seconds:.1f} s")
    share = f" ({measured.compared:.0%} of the elements)" if measured.compared < 1 else ""
    near = f" within {measured.tolerance:.2g} of the largest" if measured.tolerance else ""
    print(f"result   {measured.different or f'equal to NumPy{near}{share}'}")
    usual, best = median(measured.seconds), min(measured.seconds)
    tera, giga = measured.operations / usual / 1e12, measured.bytes / usual / 1e9
    rates = f"{tera:.4g} TFLOP/s, {giga:.4g} GB/s"
    print(f"time     {usual * 1e3:.3f} ms (best {best * 1e3:.3f}): {rates}")


# ------------------------------------------------------------ command line


def numbers(text: str) -> dict[str, int]:
    """Return the numbers of ``M=4096,N=4096`` by name."""
    out: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals or not value.strip().isdecimal():
            raise argparse.ArgumentTypeError(f"{part!r} is not of the form M=4096")
        out[name.strip()] = int(value)
    return out


def options_of(kernel: Kernel, given: list[str] | None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=f"Run {kernel.name}, compare it with NumPy, time it."
    )
    parser.add_argument(
        "--size", type=numbers, default={}, help=f"of {', '.join(kernel.sizes)}: M=4096,N=4096"
    )
    parser.add_argument("--pitch", type=numbers, default={}, help="bytes from row to row: A=8192")
    parser.add_argument("--data", type=Path, help="a .npz file of operands by name")
    parser.add_argument("--device", choices=DEVICES, help="a GPU before a CPU if left out")
    parser.add_argument(
        "--registers", type=int, choices=(128, 256), default=256, help="of a thread"
    )
    parser.add_argument("--repeat", type=int, default=20, help="runs that are timed")
    parser.add_argument("--compare", type=float, default=60, help="seconds that NumPy may take")
    parser.add_argument("--seed", type=int, default=0, help="of the numbers that fill operands")
    parser.add_argument("--save", type=Path, metavar="FILE.json", help="where to write the report")
    return parser.parse_args(given)


def measured(kernel: Kernel, options: argparse.Namespace) -> Figures:
    """Run a kernel as asked: once to compare, then to warm up, then timed."""
    cl = opencl()
    device, kind = device_of(cl, options.device)
    target = kernel.targets[kind]
    arrays = dict(np.load(options.data)) if options.data else {}
    sizes = sizes_of(kernel, kind, options.size, arrays)
    tensors = [t for t in kernel.tensors if t.modes]
    places = {t.name: surface(kernel, t, sizes, options.pitch.get(t.name)) for t in tensors}
    demand_device(device, target, tuple(p.rows * p.pitch for p in places.values()))
    given = Given(sizes, places, inputs_of(kernel, sizes, arrays, options.seed))
    launch, building = launched(cl, device, target, kernel, given, options.registers)
    launch.once()
    different, share = compared(launch, given, options.compare)
    launch.once()
    seconds = tuple(launch.once() for _ in range(max(1, options.repeat)))
    return Figures(
        kernel.name, kernel.identity, device.name.strip(), kind, device.driver_version,
        tuple((name, sizes[name]) for name in kernel.sizes), options.registers, building, seconds,
        kernel.operations(sizes), traffic(launch), share,
        max((output.tolerance for output in kernel.outputs), default=0.0), different,
    )  # fmt: skip


def main(kernel: Kernel, given: list[str] | None = None) -> int:
    """Run a program; return 0 where the result is right, 1 where it is not, 2 if it cannot run."""
    options = options_of(kernel, given)
    try:
        result = measured(kernel, options)
        printed(result)
        if options.save:
            options.save.write_text(document(result) + "\n", encoding="utf-8")
    except (Refused, MemoryError, OSError) as error:
        print(f"{kernel.name}: {error or 'this machine has too little memory'}", file=sys.stderr)
        return 2
    return 1 if result.different else 0
