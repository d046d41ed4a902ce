"""Unchecked loads and stores by address, for compiled loops that have checked their bounds.

Plain arrays in Numba count references at every call and read one byte at a time; hashing
and scanning want neither. A compiled function takes `address_of(array)` once, keeps the
array alive, and passes the address (an int64) on. Callers check bounds themselves.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE = ir.IntType(8)
_WORD = ir.IntType(64)
_DOUBLE_WORD = ir.IntType(128)


@intrinsic
def address_of(typing_context, array):
    """The address of an array's first item, as an int64."""

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.ptrtoint(data, _WORD)

    return types.int64(array), codegen


def _pointer(builder, base, at, item):
    return builder.gep(builder.inttoptr(base, item.as_pointer()), [at])


@intrinsic
def byte_at(typing_context, base, at):
    """The byte at `base + at`, as an int64."""

    def codegen(context, builder, signature, args):
        return builder.zext(builder.load(_pointer(builder, *args, _BYTE)), _WORD)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def word_at(typing_context, base, at):
    """The eight bytes from `base + at` on, little-endian, as a uint64."""

    def codegen(context, builder, signature, args):
        address = builder.bitcast(_pointer(builder, *args, _BYTE), _WORD.as_pointer())
        loaded = builder.load(address)
        loaded.align = 1
        return loaded

    return types.uint64(types.int64, types.int64), codegen


@intrinsic
def integer_at(typing_context, base, index):
    """The int64 number `index` of an int64 array at `base`."""

    def codegen(context, builder, signature, args):
        return builder.load(_pointer(builder, *args, _WORD))

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def put_integer(typing_context, base, index, value):
    """Stores an int64 as number `index` of an int64 array at `base`."""

    def codegen(context, builder, signature, args):
        builder.store(args[2], _pointer(builder, args[0], args[1], _WORD))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def copy_bytes(typing_context, to, begin, length):
    """Copies `length` bytes between addresses that do not overlap."""

    def codegen(context, builder, signature, args):
        pointer = _BYTE.as_pointer()
        copy = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, _WORD])
        to, begin = (builder.inttoptr(address, pointer) for address in args[:2])
        builder.call(copy, [to, begin, args[2], ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def folded_product(typing_context, one, other):
    """The two halves of the 128-bit product of two uint64, combined by exclusive or."""

    def codegen(context, builder, signature, args):
        product = builder.mul(*(builder.zext(factor, _DOUBLE_WORD) for factor in args))
        upper = builder.lshr(product, ir.Constant(_DOUBLE_WORD, 64))
        return builder.xor(builder.trunc(product, _WORD), builder.trunc(upper, _WORD))

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def trailing_zeros(typing_context, word):
    """The number of zero bits below the lowest one bit, as an int64 (64 for zero)."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen
