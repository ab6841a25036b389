from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from numba.core.registry import CPUDispatcher

import weir
from weir.operators.kernel_warmup import warm_up_kernels
from weir.state import numba_support


def kernels() -> dict[str, Any]:
    return {
        f"{module.__name__}.{name}": value
        for module in list(sys.modules.values())
        if module is not None and module.__name__.startswith(("weir.state", "weir.operators"))
        for name, value in vars(module).items()
        if isinstance(value, CPUDispatcher) and value.py_func.__module__ == module.__name__
    }


def test_warm_up_compiles_every_numba_kernel_once() -> None:
    warm_up_kernels()
    found = kernels()
    assert len(found) > 30
    entries = {name: kernel for name, kernel in found.items() if kernel.signatures}
    assert {name: kernel.signatures for name, kernel in entries.items() if len(kernel.signatures) > 1} == {}
    # A numba kernel has no signature if it is inlined into numba kernels that were loaded from the cache.
    assert {name.rpartition(".")[2] for name in entries} >= {
        "fold", "intern", "move_slots", "clear_epochs", "apply_undo_entries", "extract_words", "extract_bits", "choose_groups",
        "append_rows", "index_rows", "read_words", "read_means", "read_seen", "measure_strings", "copy_strings",
        "hash_word_column", "hash_bytes_column", "scatter", "choose_targets", "sort_by_target",
        "pack_rows", "unpack_rows",
    }  # fmt: skip


def test_a_change_in_any_file_with_numba_kernels_invalidates_all_cached_kernels() -> None:
    """Numba itself detects only a change of the file that contains the cached kernel. A cached kernel can call a
    kernel in another file. If only the file of the called kernel changed, numba would use the old code of this kernel."""
    assert {kernel._cache._cache_file._source_stamp for kernel in kernels().values()} == {numba_support._DIGEST}
    root = Path(weir.__file__).parent
    for name in kernels():
        module = sys.modules[name.rpartition(".")[0]]
        assert module.__file__ is not None
        file = Path(module.__file__)
        assert file.parent == root / "state" or file in {
            root / "operators" / name for name in ("packed_batch.py", "scatter.py")
        }, "the cache digest covers each file with kernels"
