"""Unchecked loads from byte arrays, for compiled loops that have checked their bounds.

Plain indexing in Numba handles negative indices and reads one byte at a time; hashing and
scanning want eight unaligned bytes in one instruction. Callers keep `at + 8 <= len(buffer)`.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(64)


def _address(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def byte_at(typing_context, buffer, at):
    """The byte at `at`, as an int64."""
    signature = types.int64(buffer, types.int64)

    def codegen(context, builder, signature, args):
        return builder.zext(builder.load(_address(context, builder, signature, args)), _WORD)

    return signature, codegen


@intrinsic
def word_at(typing_context, buffer, at):
    """The eight bytes from `at` on, little-endian, as a uint64."""
    signature = types.uint64(buffer, types.int64)

    def codegen(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        loaded = builder.load(builder.bitcast(address, _WORD.as_pointer()))
        loaded.align = 1
        return loaded

    return signature, codegen


@intrinsic
def trailing_zeros(typing_context, word):
    """The number of zero bits below the lowest one bit, as an int64 (64 for zero)."""
    signature = types.int64(types.uint64)

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return signature, codegen
