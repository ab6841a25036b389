"""Support for numba kernels. The decorator ``kernel`` compiles a function. Functions such as ``load64`` and ``store64`` read
and write memory at raw addresses.

Kernels take addresses (int64) instead of arrays. With addresses, kernels can read and write Arrow buffers of any type and
offset without a copy. Because all addresses have the same type, numba compiles each kernel for exactly one signature. During
the call of a kernel, the caller must hold references to the objects that own the memory at the addresses.

Addresses need not be aligned, because the body of a frame can begin at any address.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Words = npt.NDArray[np.int64]
signed: Callable[[Any], int] = cast(Any, np.int64)
"""Reinterprets a word as int64 in kernels. ``signed`` is np.int64 with a declared type, so that mypy treats the result as an
int."""
F = TypeVar("F", bound=Callable[..., Any])


def _source_digest() -> str:
    """Return the digest of all files that contain kernels."""
    package = Path(__file__).parent
    others = [package.parent / path for path in ("operators/packed_batch.py", "operators/scatter.py", "subtask/heartbeats.py")]
    files = [*sorted(package.glob("*.py")), *others]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_DIGEST = _source_digest()


def kernel(function: F) -> F:
    """Compile the function at its first call, cache the compiled code on disk, and release the GIL while the function runs.

    By default, numba recompiles a cached kernel only if the source file of the kernel has changed. However, the compiled code of
    a kernel can include kernels from other files. Therefore, the cache contains a digest of all files with kernels, instead of
    the time stamp of the kernel's source file. As a result, a change of any file with kernels invalidates all cached kernels.
    """
    compiled: Any = njit(nogil=True, cache=True)(function)
    compiled._cache._cache_file._source_stamp = _DIGEST
    return cast(F, compiled)


def _load(numba_type: Any, bits: int, *, floating: bool = False) -> Any:
    def declare(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            llvm_type = ir.DoubleType() if floating else ir.IntType(bits)
            return builder.load(builder.inttoptr(args[0], llvm_type.as_pointer()), align=1, typ=llvm_type)

        return numba_type(types.int64), generate

    return intrinsic(declare)


def _store(numba_type: Any, bits: int, *, floating: bool = False) -> Any:
    def declare(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            llvm_type = ir.DoubleType() if floating else ir.IntType(bits)
            builder.store(args[1], builder.inttoptr(args[0], llvm_type.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, numba_type), generate

    return intrinsic(declare)


load64 = _load(types.int64, 64)
load32 = _load(types.int32, 32)
load16 = _load(types.uint16, 16)
load8 = _load(types.uint8, 8)
load_f64 = _load(types.float64, 64, floating=True)
store64 = _store(types.int64, 64)
store32 = _store(types.int32, 32)
store16 = _store(types.int16, 16)
store8 = _store(types.int8, 8)
store_f64 = _store(types.float64, 64, floating=True)


def address_of(array: npt.NDArray[Any]) -> int:
    """Return the address of the first element of ``array``. The caller must hold a reference to ``array`` while it uses the
    address."""
    return cast(int, pa.py_buffer(array).address)  # an eighth of the time of ``__array_interface__``
