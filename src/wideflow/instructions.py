"""What a processor does in one instruction, for kernels that compilers would break into single numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

instruction: Callable[..., Any] = intrinsic  # Numba's types do not see that callers leave out the first


@instruction
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Begin to bring what lies at an index of a flat array, before a loop asks for it: in compiled code only.

    Processors foresee what a few reads in a row need next, not what dozens do that go side by side.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(array)(context, builder, args[0]).data
        place = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        fetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [place.type], ir.FunctionType(ir.VoidType(), [place.type, flag, flag, flag])
        )
        builder.call(fetch, [place, flag(0), flag(3), flag(1)])  # to read, into the nearest cache, data
        return context.get_dummy_value()

    return types.void(array, index), build


@instruction
def copy_eight(typing: Any, out: Any, at: Any, array: Any, index: Any) -> Any:
    """Eight numbers of a flat array into eight of another: in compiled code only.

    Compilers unroll a loop as short as that into single numbers.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        run = _Runs(context, builder, signature, args, 8)
        run.store(run.load(2, 3))
        return context.get_dummy_value()

    return types.void(out, at, array, index), build


@instruction
def add_eight(typing: Any, out: Any, at: Any, array: Any, one: Any, two: Any) -> Any:
    """The same with the sum of two times eight."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        run = _Runs(context, builder, signature, args, 8)
        run.store(builder.fadd(run.load(2, 3), run.load(2, 4)))
        return context.get_dummy_value()

    return types.void(out, at, array, one, two), build


@instruction
def mix_four(typing: Any, out: Any, at: Any, array: Any, places: Any, weights: Any) -> Any:
    """The same with four times four numbers, each four times its weight, added in their order."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        run, total = _Runs(context, builder, signature, args, 4), None
        for k in range(4):
            place, weight = (cgutils.unpack_tuple(builder, args[i])[k] for i in (3, 4))
            four = builder.fmul(run.splat(weight), run.load(2, place))
            total = four if total is None else builder.fadd(total, four)
        run.store(total)
        return context.get_dummy_value()

    return types.void(out, at, array, places, weights), build


class _Runs:
    """Some numbers of an array in a row, as one value of the compiler."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, count: int) -> None:
        self._builder, self._args, self._count = builder, args, count
        self._array = lambda held: context.make_array(signature.args[held])(context, builder, args[held])
        number = signature.args[0].dtype
        self._type, self._bytes = ir.VectorType(context.get_value_type(number), count), number.bitwidth // 8

    def load(self, held: int, index: Any) -> Any:
        """From argument ``held`` on; the index is that of an argument, or a value itself."""
        return self._builder.load(self._place(held, index), align=self._bytes)

    def store(self, run: Any) -> None:
        """Into the first argument, where the second says."""
        self._builder.store(run, self._place(0, 1), align=self._bytes)

    def splat(self, number: Any) -> Any:
        """So many times one number."""
        one = self._builder.insert_element(ir.Constant(self._type, ir.Undefined), number, ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self._count), [0] * self._count)
        return self._builder.shuffle_vector(one, ir.Constant(self._type, ir.Undefined), zeros)

    def _place(self, held: int, index: Any) -> Any:
        at = self._args[index] if isinstance(index, int) else index
        return self._builder.bitcast(self._builder.gep(self._array(held).data, [at]), self._type.as_pointer())
