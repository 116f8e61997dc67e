"""Eight histograms of a pixel at once, in the registers of a processor."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from wideflow.instructions import instruction

EIGHT = 8
_BINS = 8
_allocate: Callable[..., Any] = cgutils.alloca_once  # Numba has no types for these
_item: Callable[..., Any] = cgutils.get_item_pointer


@instruction
def eight_histograms(
    typing: Any, maps: Any, places: Any, low: Any, of_low: Any, of_high: Any, x: Any, noise: Any, out: Any,
    at: Any, step: Any,
) -> Any:  # fmt: skip
    """Read, turn and normalise eight histograms: in compiled code only.

    ``maps`` is flat, and histogram i of pixel ``x`` begins there at ``places[i, x]`` (8, width) int32. Bin k
    of what is written lies between bins ``low[k, x]`` and the next of what is read, whose shares are
    ``of_low[k, x]`` and ``of_high[k, x]``. Its eight bytes go to ``out``, which is flat, from
    ``at + k * step`` on. ``noise`` is the square of the norm that counts as noise.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [context.make_array(signature.args[i])(context, builder, args[i]) for i in range(5)]
        bytes_out = context.make_array(signature.args[7])(context, builder, args[7]).data
        number, whole = ir.FloatType(), ir.IntType(32)
        eight = ir.VectorType(number, _BINS)

        def held(array: Any, row: int) -> Any:
            width = builder.extract_value(array.shape, 1)
            index = builder.add(builder.mul(width, width.type(row)), args[5])
            return builder.load(builder.gep(array.data, [index]))

        def splat(one: Any) -> Any:
            first = builder.insert_element(ir.Constant(eight, ir.Undefined), one, whole(0))
            zeros = ir.Constant(ir.VectorType(whole, _BINS), [0] * _BINS)
            return builder.shuffle_vector(first, ir.Constant(eight, ir.Undefined), zeros)

        def shuffled(one: Any, two: Any, order: list[int]) -> Any:
            return builder.shuffle_vector(one, two, ir.Constant(ir.VectorType(whole, _BINS), order))

        runs = []
        for i in range(_BINS):
            place = builder.gep(arrays[0].data, [builder.zext(held(arrays[1], i), ir.IntType(64))])
            runs.append(builder.load(builder.bitcast(place, eight.as_pointer()), align=4))
        # histograms side by side: numbers of two runs in turn, then pairs of them, then halves
        pairs = []
        for i in range(0, _BINS, 2):
            pairs.append(shuffled(runs[i], runs[i + 1], [0, 8, 1, 9, 4, 12, 5, 13]))
            pairs.append(shuffled(runs[i], runs[i + 1], [2, 10, 3, 11, 6, 14, 7, 15]))
        fours = []
        for i in range(0, _BINS, 4):
            for j in range(2):
                fours.append(shuffled(pairs[i + j], pairs[i + j + 2], [0, 1, 8, 9, 4, 5, 12, 13]))
                fours.append(shuffled(pairs[i + j], pairs[i + j + 2], [2, 3, 10, 11, 6, 7, 14, 15]))
        halves = [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]
        turned = [shuffled(fours[k], fours[k + 4], half) for half in halves for k in range(4)]
        turned.append(turned[0])  # beyond the last bin is the first
        room = _allocate(builder, ir.ArrayType(eight, len(turned)))

        def bin_of(k: Any) -> Any:
            return builder.gep(room, [whole(0), k], inbounds=True)

        def next_to(k: Any, beyond: int) -> Any:
            return builder.add(k, k.type(beyond))

        for k, run in enumerate(turned):
            builder.store(run, bin_of(ir.IntType(64)(k)))
        total, values = splat(args[6]), []
        for k in range(_BINS):
            first = builder.zext(held(arrays[2], k), ir.IntType(64))
            one, two = (
                builder.fmul(
                    splat(held(share, k)), builder.load(bin_of(builder.add(first, first.type(beyond))))
                )
                for beyond, share in enumerate(arrays[3:5])
            )
            value = builder.fadd(one, two)
            total = builder.fadd(total, builder.fmul(value, value))
            values.append(value)
        root = builder.module.declare_intrinsic("llvm.sqrt.v8f32", (), ir.FunctionType(eight, [eight]))
        scale = builder.fdiv(splat(number(255.0)), builder.call(root, [total]))
        for k, value in enumerate(values):
            rounded = builder.fadd(builder.fmul(value, scale), splat(number(0.5)))
            short = builder.trunc(
                builder.fptosi(rounded, ir.VectorType(whole, _BINS)), ir.VectorType(ir.IntType(8), _BINS)
            )
            index = builder.add(args[8], builder.mul(args[9], args[9].type(k)))
            place = builder.bitcast(builder.gep(bytes_out, [index]), short.type.as_pointer())
            builder.store(short, place, align=1)
        return context.get_dummy_value()

    return types.void(
        maps, places, low, of_low, of_high, types.int64, noise, out, types.int64, types.int64
    ), build


@instruction
def eight_apart(typing: Any, a: Any, y: Any, x: Any, b: Any, ty: Any, tx: Any, cap: Any) -> Any:
    """`weighted_distance` of pixels that have eight histograms, for a cap below 2 to the power of 16.

    Squares of bytes and their sums stay within 16 bits, as sums above these are above the cap: so that twice
    as many fill a register.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, short, whole = ir.IntType(8), ir.IntType(16), ir.IntType(32)
        count = EIGHT * _BINS

        def run(held: int, begin: int, size: int, number: Any) -> Any:
            kind = signature.args[held]
            array = context.make_array(kind)(context, builder, args[held])
            index = [args[held + 1], args[held + 2], args[held + 1].type(begin)]
            place = _item(context, builder, kind, array, index, wraparound=False)
            loaded = builder.load(builder.bitcast(place, ir.VectorType(byte, size).as_pointer()), align=1)
            return builder.zext(loaded, ir.VectorType(number, size))

        def half(values: Any, size: int, second: int) -> Any:
            order = ir.Constant(ir.VectorType(whole, size), list(range(second * size, (second + 1) * size)))
            return builder.shuffle_vector(values, ir.Constant(values.type, ir.Undefined), order)

        steps = builder.sub(run(0, 0, count, short), run(3, 0, count, short))
        total, size = builder.mul(steps, steps), count
        while size > EIGHT:
            size //= 2
            kind = ir.VectorType(short, size)
            add = builder.module.declare_intrinsic(
                f"llvm.uadd.sat.v{size}i16", (), ir.FunctionType(kind, [kind, kind])
            )
            total = builder.call(add, [half(total, size, 0), half(total, size, 1)])
        limit = builder.insert_element(
            ir.Constant(total.type, ir.Undefined), builder.trunc(args[6], short), whole(0)
        )
        zeros = ir.Constant(ir.VectorType(whole, EIGHT), [0] * EIGHT)
        limit = builder.shuffle_vector(limit, ir.Constant(total.type, ir.Undefined), zeros)
        total = builder.select(builder.icmp_unsigned("<", total, limit), total, limit)
        weighted = builder.mul(builder.zext(total, zeros.type), run(0, count, EIGHT, whole))
        while size > 1:
            size //= 2
            weighted = builder.add(half(weighted, size, 0), half(weighted, size, 1))
        return builder.extract_element(weighted, whole(0))

    where = types.int64
    return types.int32(a, where, where, b, where, where, types.int32), build
