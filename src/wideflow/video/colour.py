"""From the colours of a video frame to our RGB: matrix and range, 8 or more bits, HDR to SDR."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wideflow.errors import FileError

# Numbers of ITU-T H.273
_UNSPECIFIED = 2
_BT709, _BT601, _BT2020 = 1, 5, 9
_MATRICES = {1: 1, 4: 4, 5: 5, 6: 5, 7: 7, 9: 9, 10: 9}  # those that the scaler knows, by H.273 number
_PQ, _HLG = 16, 18  # transfer curves SMPTE ST 2084 and ARIB STD-B67
_BT2020_PRIMARIES = 9

_HD_HEIGHT = 720  # a video that does not name its matrix uses BT.709 from here on
_WHITE_16 = 65280.0  # what the scaler makes of white in 16 bits
_REFERENCE_WHITE = 203.0  # cd/m2 of diffuse white in HDR (ITU-R BT.2408)
_HLG_PEAK = 1000.0  # cd/m2 of the nominal HLG display
_KNEE = 0.6  # linear brightness up to which tone mapping changes nothing

_BT709_FROM_BT2020 = np.array(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]], np.float32
)


def frame_rgb(frame: Any, dtype: type[np.generic] = np.uint8) -> NDArray[Any]:
    """RGB picture of a decoded frame, in the orientation in which it is stored.

    Parameters
    ----------
    frame : av.VideoFrame
        Of any pixel format.
    dtype : numpy.uint8 or numpy.float32
        Bytes, or 0..1 with the full depth of the frame.

    Returns
    -------
    (H, W, 3) uint8 or float32
        As encoded in the file; HDR (PQ, HLG) is tone mapped to SDR with the sRGB curve.
    """
    if frame.color_trc in (_PQ, _HLG):
        picture = _tone_mapped(_reformatted(frame, "rgb48le"), frame)
        return picture if dtype == np.float32 else np.rint(picture * 255).astype(np.uint8)
    if dtype == np.uint8:
        return _reformatted(frame, "rgb24")
    if _bits(frame) > 8:
        return np.minimum(_reformatted(frame, "rgb48le") / np.float32(_WHITE_16), np.float32(1))
    return _reformatted(frame, "rgb24") / np.float32(255)


def frame_grey(frame: Any, size: tuple[int, int]) -> NDArray[np.uint8]:
    """Brightness of a decoded frame at (width, height) ``size``, in the orientation in which it is stored."""
    with _told():
        return frame.reformat(size[0], size[1], "gray8", interpolation="AREA").to_ndarray()


def _bits(frame: Any) -> int:
    return max(component.bits for component in frame.format.components)


def _reformatted(frame: Any, target: str) -> NDArray[Any]:
    source = _MATRICES.get(frame.colorspace)
    if source is None:
        source = _BT709 if min(frame.width, frame.height) >= _HD_HEIGHT else _BT601
    with _told():
        if frame.format.name.startswith(("rgb", "bgr", "gbr", "gray", "pal")):
            return frame.to_ndarray(format=target)
        return frame.reformat(format=target, src_colorspace=source).to_ndarray()


@contextmanager
def _told() -> Iterator[None]:
    """One sentence if a frame cannot be converted: it is damaged, or memory or threads are lacking."""
    import av

    try:
        yield
    except av.FFmpegError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(
            f"a frame of a video cannot be converted: {reason}; free some memory, or copy the video again"
        ) from error


def _tone_mapped(encoded: NDArray[np.uint16], frame: Any) -> NDArray[np.float32]:
    linear = _light(frame.color_trc)[encoded]  # in units of reference white
    if frame.color_trc == _HLG:
        # the display's gamma acts on luminance (BT.2100, OOTF)
        luminance = linear @ np.array([0.2627, 0.6780, 0.0593], np.float32)
        linear *= (np.maximum(luminance, 1e-6) ** np.float32(0.2))[..., None]
        linear *= np.float32(_HLG_PEAK / _REFERENCE_WHITE)
    if frame.color_primaries in (_BT2020_PRIMARIES, _UNSPECIFIED):
        linear = np.maximum(linear @ _BT709_FROM_BT2020.T, 0)
    # the brightest channel is bent, the others keep their ratio to it, so hues stay
    brightest = np.maximum(linear.max(axis=-1, keepdims=True), np.float32(1e-6))
    return _srgb(np.clip(linear * (_rolled_off(brightest) / brightest), 0, 1))


def _rolled_off(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unchanged up to the knee, then ever flatter towards 1, with a continuous slope."""
    above = 1 - (1 - _KNEE) ** 2 / (np.maximum(x, _KNEE) - 2 * _KNEE + 1)
    return np.where(x <= _KNEE, x, above).astype(np.float32)


def _srgb(linear: NDArray[np.float32]) -> NDArray[np.float32]:
    low = 12.92 * linear
    high = 1.055 * linear ** np.float32(1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, low, high).astype(np.float32)


@lru_cache(maxsize=2)
def _light(curve: int) -> NDArray[np.float32]:
    """Linear light of every 16-bit code: PQ in units of reference white, HLG as scene light 0..1."""
    e = np.minimum(np.arange(65536) / _WHITE_16, 1.0)
    if curve == _PQ:
        m1, m2 = 2610 / 16384, 2523 / 4096 * 128
        c1, c2, c3 = 3424 / 4096, 2413 / 4096 * 32, 2392 / 4096 * 32
        p = e ** (1 / m2)
        light = 10000 * (np.maximum(p - c1, 0) / (c2 - c3 * p)) ** (1 / m1) / _REFERENCE_WHITE
    else:
        a, b, c = 0.17883277, 0.28466892, 0.55991073
        light = np.where(e <= 0.5, e**2 / 3, (np.exp((e - c) / a) + b) / 12)
    return light.astype(np.float32)
