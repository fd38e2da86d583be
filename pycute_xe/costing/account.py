"""How long a kernel takes at the least and at the most, what binds, and what that assumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pycute_xe.arch.target import Target
from pycute_xe.costing.device import Device, Figure, get_device
from pycute_xe.costing.facts import Facts, KernelFacts, facts_of, sizes_of
from pycute_xe.costing.own import AnyFigures, with_own
from pycute_xe.costing.roofline import roofline
from pycute_xe.drawing.scene import Scene
from pycute_xe.errors import plural
from pycute_xe.kernel import Kernel, Loop
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.visiting import visit
from pycute_xe.naming.subjects import Named, kernel_of
from pycute_xe.signatures import typed
from pycute_xe.typing import glance, shown

__all__ = [
    "Bound",
    "Cost",
    "Effect",
    "cost",
    "cost_of",
    "Ahead",
    "aheads",
]

CHANGE = 0.3
"""By how much a figure is changed to see what it decides."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The seconds that a resource is busy, at the least and at the most, and by which figures."""

    resource: str
    least: float
    most: float
    figures: tuple[str, ...]
    detail: str

    def __str__(self) -> str:
        return f"{self.resource:7} {_time(self.least, self.most):>20}  {self.detail}"


@dataclass(frozen=True, slots=True)
class Effect:
    """A figure, and the least and the most seconds with 30 % less and with 30 % more of it."""

    figure: Figure
    less: tuple[float, float]
    more: tuple[float, float]

    def __str__(self) -> str:
        less, more = _time(*self.less), _time(*self.more)
        name = f"{self.figure.name} ({self.figure.origin})"
        return f"{name} 30 % less: {less}; 30 % more: {more}"


@dataclass(frozen=True)
class Cost:
    """What a kernel costs at a size on a device: facts, bounds by resource, what binds.

    ``least`` is as if all overlapped: the greatest of the least bounds. ``most`` is as if nothing
    did: their sum, and no bound on what ``unknown`` adds. What no figure is known of is listed in
    ``unknown`` and in neither. Nothing here was measured on a device.
    """

    kernel: Kernel
    device: Device
    facts: Facts
    bounds: tuple[Bound, ...]
    launch: Figure

    _repr_mimebundle_ = shown

    @property
    def least(self) -> float:
        """Seconds, if everything overlaps and every figure is at its best."""
        return max(bound.least for bound in self.bounds) + self.launch.least * 1e-6

    @property
    def most(self) -> float:
        """Seconds, if nothing overlaps and every figure is at its worst."""
        return sum(bound.most for bound in self.bounds) + self.launch.most * 1e-6

    @property
    def binds(self) -> str:
        """The resource that is busy longest, at the least."""
        return max(self.bounds, key=lambda bound: bound.least).resource

    @property
    def prefetches(self) -> tuple[Ahead, ...] | None:
        """How far ahead operands are prefetched, beside memory's latency; None without prefetches.

        >>> import pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> estimate = cost(gemm, "b70", M=4096, N=4096, K=4096)
        >>> [(one.operand, one.trips, one.in_time) for one in estimate.prefetches]
        [('A', 2, True), ('B', 2, True)]
        """
        started = self.least - self.launch.least * 1e-6, self.most - self.launch.most * 1e-6
        return aheads(self.kernel, self.facts, self.device, started)

    @property
    def unknown(self) -> tuple[str, ...]:
        """What no figure is known of; what `prefetches` decides is not among it.

        >>> import pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> cost(gemm, "b70", M=4096, N=4096, K=4096).unknown[-1]
        'waiting at 32,768 barriers'
        """
        return _unknown(self)

    @property
    def assumptions(self) -> tuple[Figure, ...]:
        """The figures that count here, those without a public source first."""
        names = dict.fromkeys(name for bound in self.bounds for name in bound.figures)
        figures = [self.device[name] for name in names]
        return tuple(sorted(figures, key=lambda figure: figure.kind != "assumed"))

    @property
    def scene(self) -> Scene:
        """A roofline, as `draw` shows it. Raises `InputError` for a kernel without DPAS.

        >>> import pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> cx.draw(cost(gemm, "b70", M=4096, N=4096, K=4096)).scene.legend
        ('L1', 'L2', 'memory', 'DPAS', 'the kernel')
        """
        extents = " ".join(f"{name}={value}" for name, value in self.facts.sizes.items())
        title = f"{self.kernel.name} at {extents} on {self.device}"
        done = self.facts.operations * 1e-12
        peak = self.device.engines * self.device.cores * self._rate_of_dpas
        return roofline(title, self.facts, self.device, peak, (done / self.most, done / self.least))

    @property
    def _rate_of_dpas(self) -> float:
        """TFLOP/s of an engine that does nothing but DPAS."""
        row, clock = self.device["dpas_row"], self.device["clock"]
        each = self.facts.operations / max(1, self.facts.rows)
        return each * clock.most * 1e-6 / row.least

    def effects(self) -> dict[str, Effect]:
        """Return for each figure what 30 % less and 30 % more of it do to the interval.

        >>> import pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> print(cost(gemm, "b70", M=4096, N=4096, K=4096).effects()["l2"])
        l2 (assumed) 30 % less: 0.749 to 1.88 ms; 30 % more: 0.749 to 1.61 ms
        """
        out: dict[str, Effect] = {}
        for figure in self.assumptions:
            two = [self._with(figure.scaled(factor)) for factor in (1 - CHANGE, 1 + CHANGE)]
            out[figure.name] = Effect(figure, *two)
        return out

    def _with(self, figure: Figure) -> tuple[float, float]:
        """Return the interval with another value of a figure."""
        device = self.device.with_rows((figure,))
        other = replace(self, device=device, bounds=bounds_of(self.facts, device))
        return other.least, other.most

    def __repr__(self) -> str:
        """The device and the time."""
        return glance(self)

    def __str__(self) -> str:
        """Facts, then bounds, then what was assumed."""
        return "\n".join(_lines(self))


@typed
def cost(
    kernel: Kernel | Named,
    device: str | Target | Device = "bmg",
    *,
    tables: Mapping[str, Any] | None = None,
    figures: AnyFigures | None = None,
    **sizes: int,
) -> Cost:
    """Return what a kernel does at a size, and how long that takes on a device at the least.

    ``kernel`` may be text that names one, or a file: "gemm", "kernel.json".
    ``device`` is a product ("b580", "b70", "max1550", …) or a target, whose first product counts;
    ``sizes`` are the kernel's, by name; ``tables`` the arrays that its indices look things up in;
    ``figures`` replaces figures of the device for this call: numbers by name, what `calibrate`
    returned, or the file that it wrote. Law: messages, bytes, DPAS and
    barriers are those of ``run(…, report=True)``. Raises `InputError` for sizes that are missing or
    are not the kernel's, `TargetError` for an unknown device or figure, `LegalityError` for a
    kernel that `check` refuses there, `KernelError` where the work depends on what the kernel
    writes. No counterpart in CUTLASS.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> estimate = cost(gemm, "b70", M=4096, N=4096, K=4096)
    >>> estimate.binds, estimate.facts.dpas, estimate.facts.waves
    ('DPAS', 33554432, 8)
    """
    kernel = kernel_of("cost", kernel)
    chosen = get_device(device)
    chosen = with_own(chosen, figures)
    sizes_of(kernel, sizes)
    return cost_of(facts_of(kernel, chosen.target), chosen, sizes, tables)


def cost_of(
    known: KernelFacts,
    device: Device,
    sizes: Mapping[str, int],
    tables: Mapping[str, Any] | None = None,
) -> Cost:
    """Return what a kernel whose facts are known costs at a size. Raises as `cost`.

    >>> import pycute_xe as cx
    >>> from pycute_xe.costing import devices
    >>> known = facts_of(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> cost_of(known, devices()[0], {"M": 4096, "N": 4096, "K": 4096}).binds
    'DPAS'
    """
    counted = known.at(sizes, device.cores, tables)
    bounds = bounds_of(counted, device)
    return Cost(known.kernel, device, counted, bounds, device["launch"])


def bounds_of(counted: Facts, device: Device) -> tuple[Bound, ...]:
    """Return how long each resource is busy.

    Work-groups are dealt to cores whole: the core that has most of them decides for what a core
    does itself, all of them together for memory.
    """
    clock = device["clock"]
    used = min(device.engines, counted.subgroups * counted.resident)
    share = -(-counted.groups // device.cores) / max(1, counted.groups)

    def on_core(resource: str, count: float, name: str, over: float, detail: str) -> Bound:
        figure = device[name]
        clocks = count * share / over
        least, most = clocks / (clock.most * 1e6), clocks / (clock.least * 1e6)
        if figure.is_rate:
            least, most = least / figure.most, most / figure.least
        if not figure.is_rate:
            least, most = least * figure.least, most * figure.most
        return Bound(resource, least, most, (name, "clock"), detail)

    out = [
        on_core("DPAS", counted.rows, "dpas_row", used, f"{counted.dpas:,} instructions"),
        _alu(counted, device, share / used),
        on_core("L1", counted.requested + counted.shared, "l1", 1, _bytes(counted.requested)),
        on_core("L2", counted.fetched, "l2", 1, f"{_bytes(counted.fetched)} for all work-groups"),
    ]
    rate, reached = device["memory rate"], device["memory"]
    least = counted.least / (rate.most * reached.most * 1e9)
    most = counted.least / (rate.least * reached.least * 1e9)
    detail = f"{_bytes(counted.least)}, every operand once"
    out.append(Bound("memory", least, most, ("memory rate", "memory"), detail))
    return tuple(out)


def _alu(counted: Facts, device: Device, share: float) -> Bound:
    """How long vector pipes move, convert and compute."""
    clock, rate = device["clock"], device["alu"]
    counts = {"widen": counted.widened, "convert": counted.converted, "function": counted.computed}
    least = counted.moves + sum(n * device[name].least for name, n in counts.items())
    most = counted.moves + sum(n * device[name].most for name, n in counts.items())
    count = f"{least:,.0f} to {most:,.0f}" if least != most else f"{least:,.0f}"
    detail = f"{count} instructions on registers, addresses apart"
    names = tuple(name for name, count in counts.items() if count)
    return Bound(
        "ALU",
        least * share / rate.most / (clock.most * 1e6),
        most * share / rate.least / (clock.least * 1e6),
        ("alu", *names, "clock"),
        detail,
    )


def _unknown(estimate: Cost) -> tuple[str, ...]:
    counted = estimate.facts
    out = [
        "latencies that nothing hides",
        "instructions for addresses and loops",
        "how often operands are brought from memory again",
    ]
    if counted.barriers:
        out.append(f"waiting at {counted.barriers:,} barriers")
    undecided = _undecided(estimate.kernel, estimate.prefetches or ())
    if undecided:
        out.append(f"whether prefetches of {', '.join(undecided)} come in time")
    if counted.over:
        out.append(f"spills: {counted.over} registers too many")
    return tuple(out)


def _undecided(kernel: Kernel, ahead: tuple[Ahead, ...]) -> list[str]:
    """The operands that are prefetched, of which no interval says whether that is in time."""
    decided = {one.operand for one in ahead if one.in_time is not None}
    prefetched = (name for one in kernel.statements() for name in one.touched.prefetched)
    return [name for name in dict.fromkeys(prefetched) if name not in decided]


# ------------------------------------------------------------ text


def _bytes(count: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if count < 10_000 or unit == "GB":
            break
        count /= 1000
    return f"{count:,.0f} {unit}"


def _time(least: float, most: float) -> str:
    scale, unit = (1e3, "ms") if most >= 1e-3 else (1e6, "µs")
    low, high = (f"{value * scale:.3g}" for value in (least, most))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def _lines(estimate: Cost) -> list[str]:
    known = estimate.facts
    extents = " ".join(f"{name}={value}" for name, value in known.sizes.items())
    rates = [known.operations / seconds / 1e12 for seconds in (estimate.most, estimate.least)]
    grid = f"{known.groups:,} work-groups of {known.subgroups} subgroups"
    waves = f"{known.waves} waves, the last {known.last:.0%} full"
    work = f"{known.dpas:,} DPAS, {known.barriers:,} barriers, {known.moves:,} moves"
    time = _time(estimate.least, estimate.most)
    lines = [
        f"{estimate.kernel.name} at {extents} on {estimate.device}: {time}",
        f"  {rates[0]:.3g} to {rates[1]:.3g} TFLOP/s of DPAS; binds: {estimate.binds}",
        f"  {grid}, {known.resident} at a time on a core: {waves}",
        f"  registers {known.registers} of {known.grf_mode}; {work}",
    ]
    for name, count in known.messages.items():
        lines.append(f"  {name:12} {count:>14,} messages {known.nbytes.get(name, 0):>18,} bytes")
    shares = ", ".join(f"{value:.4g} of {name}" for name, value in known.intensity.items())
    lines.append(f"  operations for a byte: {shares}")
    lines += [f"  {bound}" for bound in estimate.bounds]
    lines += [f"  prefetch {one}" for one in estimate.prefetches or ()]
    lines += [f"  not known: {one}" for one in estimate.unknown]
    named = [one for one in estimate.assumptions if one.file or one.kind == "assumed"]
    lines += [f"  {one.origin}: {one}" for one in named]
    return lines


# ------------------------------------------------------------ ahead


@dataclass(frozen=True, slots=True)
class Ahead:
    """An operand that is prefetched: trips ahead of its load, and the seconds these take."""

    operand: str
    trips: int
    seconds: tuple[float, float]
    latency: Figure

    @property
    def in_time(self) -> bool | None:
        """Whether it is there when it is loaded: None where the intervals overlap."""
        least, most = (value * 1e-9 for value in (self.latency.least, self.latency.most))
        if self.seconds[0] >= most:
            return True
        return False if self.seconds[1] < least else None

    def __str__(self) -> str:
        least, most = (f"{value * 1e9:,.0f}" for value in self.seconds)
        latency = f"{self.latency.least:.4g} to {self.latency.most:.4g} ns of memory's latency"
        match self.in_time:
            case True:
                answer = "in time"
            case False:
                answer = "late"
            case None:
                answer = "in time or late"
        trips = plural(self.trips, "trip")
        return f"{self.operand} {trips} ahead, {least} to {most} ns: {answer} ({latency})"


def aheads(
    kernel: Kernel, counted: Facts, device: Device, interval: tuple[float, float]
) -> tuple[Ahead, ...] | None:
    """Return how far ahead each operand is prefetched; None for a kernel that does not prefetch.

    A trip takes the time of the kernel divided by its waves and its trips. An operand that is not
    loaded in the loop that prefetches it, or a loop whose trips depend on tables, is left out.
    """
    statements = [*kernel.statements()]
    if not any(one.touched.prefetched for one in statements):
        return None
    out: dict[str, Ahead] = {}
    for loop in (one for one in statements if isinstance(one, Loop)):
        if not (loop.start.names | loop.stop.names) <= set(counted.sizes) or loop.stop.looked_up:
            continue
        count = loop.stop.at(counted.sizes) - loop.start.at(counted.sizes)
        if count < 1:
            continue
        for operand, trips in _distances(loop):
            each = (seconds * trips / (counted.waves * count) for seconds in interval)
            least, most = each
            out[operand] = Ahead(operand, trips, (least, most), device["latency"])
    return tuple(out.values())


def _distances(loop: Loop) -> Iterator[tuple[str, int]]:
    """Yield each operand that a loop prefetches and loads, and how many trips lie between."""
    accesses = [one.effects.memory for one in visit(loop.body) if not one.loops]
    prefetches = [access for access in accesses if access is not None and access.prefetches]
    loads = [access for access in accesses if access is not None and access.fills]
    for prefetch in prefetches:
        for load in loads:
            if load.operand == prefetch.operand:
                trips = _trips(prefetch, load, loop.var)
                if trips is not None:
                    yield prefetch.operand, trips


def _trips(prefetch: MemoryAccess, load: MemoryAccess, var: str) -> int | None:
    """Return by how many trips two indices differ; None where they differ otherwise."""
    trips: int | None = None
    for ahead, here in zip(prefetch.at, load.at, strict=True):
        apart, scale = ahead - here, dict(here.terms).get(var, 0)
        if apart.terms or not scale:
            if apart.terms or apart.at({}):
                return None
            continue
        count, rest = divmod(apart.at({}), scale)
        if rest or trips is not None:
            return None
        trips = count
    return trips
