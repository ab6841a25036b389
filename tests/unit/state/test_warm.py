from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from numba.core.registry import CPUDispatcher

import weir
from weir.operators.warm import warm
from weir.state import memory


def kernels() -> dict[str, Any]:
    return {
        f"{module.__name__}.{name}": value
        for module in list(sys.modules.values())
        if module is not None and module.__name__.startswith(("weir.state", "weir.operators"))
        for name, value in vars(module).items()
        if isinstance(value, CPUDispatcher) and value.py_func.__module__ == module.__name__
    }


def test_after_warming_every_kernel_is_there_and_nothing_was_compiled_twice() -> None:
    warm()
    found = kernels()
    assert len(found) > 30
    entries = {name: kernel for name, kernel in found.items() if kernel.signatures}
    assert {name: kernel.signatures for name, kernel in entries.items() if len(kernel.signatures) > 1} == {}
    # Those without a signature of their own are compiled into others that were loaded from the cache.
    assert {name.rpartition(".")[2] for name in entries} >= {
        "fold", "intern", "move_slots", "clear_epochs", "put_back", "pick_words", "pick_bits", "choose_groups",
        "write_words", "write_seen", "read_words", "read_means", "read_seen", "measure_strings", "copy_strings",
        "hash_word_column", "hash_bytes_column", "scatter", "choose_targets", "sort_by_target",
    }  # fmt: skip


def test_a_change_of_any_kernel_file_makes_cached_kernels_stale() -> None:
    """Numba itself looks at one file only, and would go on using a callee's old code."""
    assert {kernel._cache._cache_file._source_stamp for kernel in kernels().values()} == {memory._DIGEST}
    root = Path(weir.__file__).parent
    for name in kernels():
        module = sys.modules[name.rpartition(".")[0]]
        assert module.__file__ is not None
        file = Path(module.__file__)
        assert file.parent == root / "state" or file == root / "operators" / "scatter.py", "not in the digest"
