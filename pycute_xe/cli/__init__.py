"""The command line, ``pycute-xe``.

`app` has the program, its short commands and what becomes of errors; each long command is a module
(`gemm_command`, `make_command`, `layout_command`, `atom_command`, `atoms_command`). Arguments
become values of the library: text by `expression` and `evaluation`, arrays by `files`. A verb of
the package is asked, and its outcome is printed, as text or as JSON (`lsc_outcome` for messages).
"""

from __future__ import annotations

from pycute_xe.cli.app import main

__all__ = ["main"]
