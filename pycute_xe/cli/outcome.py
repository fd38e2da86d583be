"""Floor 12: what a command did, for people and for programs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pycute_xe.checking import Checked
    from pycute_xe.executing import Report
    from pycute_xe.kernel import Kernel
    from pycute_xe.verifying import Verdict

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """A GEMM that was run: its files and shapes, the kernel, and what the readers said."""

    a_file: str
    b_file: str
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    kernel: Kernel
    checked: Checked
    proof: Verdict | None = None
    report: Report | None = None
    files: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """M, N and K."""
        return {"M": self.a_shape[0], "N": self.b_shape[1], "K": self.a_shape[1]}

    def to_json(self) -> str:
        """Return everything, for programs."""
        report = self.report
        return json.dumps(
            {
                "inputs": {
                    "A": {"file": self.a_file, "shape": list(self.a_shape)},
                    "B": {"file": self.b_file, "shape": list(self.b_shape)},
                },
                **self.sizes,
                "types": {o.name: o.value_type.name for o in self.kernel.operands},
                "tile": list(self.kernel.mma.tile_mnk),
                "check": self._check(),
                "proof": self._proof(),
                "work": report
                and {
                    "executor": report.executor,
                    "messages": report.messages,
                    "bytes": report.bytes,
                    "dpas": report.dpas,
                    "barriers": report.barriers,
                    "copies": list(report.copies),
                    "seconds": report.seconds,
                },
                "files": list(self.files),
            },
            indent=2,
        )

    def _check(self) -> dict[str, Any]:
        checked = self.checked
        return {
            "target": checked.target.name,
            "legal": bool(checked),
            "rules_held": checked.passed,
            "findings": [
                {
                    "subject": finding.subject,
                    "rule": finding.broken.rule,
                    "level": finding.broken.level,
                    "condition": finding.broken.condition,
                    "source": finding.broken.source,
                    "fix": finding.broken.fix,
                }
                for finding in checked.findings
            ],
            "resources": [
                {"name": r.name, "used": r.used, "available": r.available}
                for r in checked.resources
            ],
        }

    def _proof(self) -> dict[str, Any] | None:
        if self.proof is None:
            return None
        return {
            "holds": bool(self.proof),
            "answer": self.proof.answer,
            "scope": self.proof.scope,
            "assumptions": list(self.proof.assumptions),
            "seconds": self.proof.seconds,
            "properties": [
                {
                    "property": p.property,
                    "holds": p.holds,
                    "answer": p.answer,
                    "statement": p.statement,
                    "condition": p.condition,
                    "reason": p.reason,
                }
                for p in self.proof.proofs
            ],
        }

    def show(self, verbose: bool, to_stderr: bool = False) -> None:
        """Print a summary, or everything."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False, stderr=to_stderr)
        if verbose:
            for part in (self.kernel, self.checked, self.proof):
                if part is not None:
                    console.print(Text(str(part)), soft_wrap=True)
                    console.print()
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in self._rows():
            table.add_row(name, Text(text))
        console.print(table)

    def _rows(self) -> list[tuple[str, str]]:
        sizes = " × ".join(str(self.sizes[name]) for name in "MNK")
        kinds = ", ".join(f"{o.name} {o.value_type} {o.layout_name}" for o in self.kernel.operands)
        rows = [("problem", f"{sizes} (M × N × K): {kinds}")]
        checked = self.checked
        refused = len(checked.errors)
        verdict = "legal" if checked else f"refused by {refused} rule{'s'[: refused > 1]}"
        binds = checked.binds
        used = f", {checked.registers} registers" + (f", bound by {binds.name}" if binds else "")
        rows.append(
            ("check", f"{checked.target.name}: {verdict}, {checked.passed} rules hold{used}")
        )
        if self.proof is not None:
            rows.append(("proof", str(self.proof).splitlines()[0]))
        if self.report is not None:
            rows += self._work(self.report)
        rows.append(("wrote", ", ".join(self.files)))
        return rows

    @staticmethod
    def _work(report: Report) -> list[tuple[str, str]]:
        moved = "; ".join(
            f"{count:,} {kind} ({report.bytes.get(kind, 0):,} bytes)"
            for kind, count in report.messages.items()
        )
        rows = [
            ("run", f"{report.executor} executor, {report.seconds:.3f} s"),
            ("messages", moved or "none"),
            ("dpas", f"{report.dpas:,} instructions"),
        ]
        if report.copies:
            rows.append(("copied", f"{', '.join(report.copies)}, onto a legal surface"))
        return rows
