"""What the compiled kernels stand on: the decorator that compiles, and loads and stores at raw addresses.

Kernels are given addresses (int64) instead of arrays, so that Arrow buffers of any type, offset and
owner go in and out without a copy and each kernel compiles for exactly one signature. Whoever calls a
kernel keeps the owners of all the addresses alive for the length of the call.

Addresses need not be aligned: a frame's body may begin anywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

Words = npt.NDArray[np.int64]
signed: Callable[[Any], int] = cast(Any, np.int64)
"""In kernels: reinterpret as int64. It is np.int64; the type says that the result goes where an int goes."""
F = TypeVar("F", bound=Callable[..., Any])


def _source_digest() -> str:
    """Of all files that hold kernels."""
    package = Path(__file__).parent
    files = [*sorted(package.glob("*.py")), package.parent / "operators" / "scatter.py"]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_DIGEST = _source_digest()


def kernel(function: F) -> F:
    """Compile on first use, keep the result in numba's on-disk cache, and let go of the GIL while running.

    Numba takes a cached kernel for stale when its own file has changed, although kernels of other files are compiled into
    it. So a change of any of these files makes all of them stale: their digest takes the place of the file's time.
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
    """Address of the first element. The caller keeps ``array`` alive."""
    return cast(int, array.__array_interface__["data"][0])
