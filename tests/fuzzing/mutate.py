"""Changes to a file that have broken readers before: bits, lengths, numbers, pieces moved and repeated."""

from __future__ import annotations

import copy
import json
import random
import struct
from typing import Any

_NUMBERS = (0, 1, -1, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1)
_TEXTS = (
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b"NaN",
    b'""',
    b"9" * 20,
    b"[" * 3000,
    b"\xff\xfe",
)


_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 2.5, 1e300, float("nan"), 2**31, 2**63, 10**30),
    *("", "depth", "0" * 32, "../../x", "covariance", "\0", "x" * 5000, [], {}, [[]], [None] * 3, {"": 1}),
)


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content after one to six random changes."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        chance.choice(_CHANGES)(data, chance)
    return bytes(data)


def shaken(content: bytes, chance: random.Random) -> bytes:
    """JSON in which some values are others: it is still JSON, so that readers get to what it says."""
    value = json.loads(content)
    for _ in range(chance.choice((1, 1, 2, 4))):
        value = _shake(value, chance)
    return json.dumps(value).encode()


def _shake(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict | list) and value and chance.random() < 0.85:
        key = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if chance.random() < 0.15:
            del value[key]
        else:
            value[key] = _shake(value[key], chance)
        return value
    return copy.deepcopy(chance.choice(_VALUES))


def _flip(data: bytearray, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _set(data: bytearray, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))


def _cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _remove(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    del data[start : start + chance.choice((1, 2, 4, 16, 100))]


def _repeat(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    piece = data[start : start + chance.choice((1, 4, 16, 100))]
    data[start:start] = piece * chance.choice((1, 2, 50))


def _number(data: bytearray, chance: random.Random) -> None:
    """An extreme number of 2, 4 or 8 bytes, in either order."""
    size, code = chance.choice(((2, "H"), (4, "I"), (8, "Q")))
    if len(data) >= size:
        start = chance.randrange(len(data) - size + 1)
        value = chance.choice(_NUMBERS) % 2 ** (8 * size)
        data[start : start + size] = struct.pack(f"{chance.choice('<>')}{code}", value)


def _digits(data: bytearray, chance: random.Random) -> None:
    """Another number in a text."""
    places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if places:
        start = chance.choice(places)
        data[start : start + 1] = chance.choice((b"9" * 20, b"-", b"0", b"1e308", b".", b"9999999"))


def _text(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    data[start : start + chance.choice((0, 1, 5))] = chance.choice(_TEXTS)


def _move(data: bytearray, chance: random.Random) -> None:
    start, length = chance.randrange(len(data) + 1), chance.choice((1, 4, 8, 64))
    piece = data[start : start + length]
    del data[start : start + length]
    target = chance.randrange(len(data) + 1)
    data[target:target] = piece


_CHANGES = (_flip, _flip, _set, _cut, _remove, _repeat, _number, _number, _digits, _text, _move)
