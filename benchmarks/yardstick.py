"""What times are measured against: one run of OpenCV's DeepFlow on the same pair, in the same process."""

from __future__ import annotations

import time

import cv2
import numpy as np


def deepflow_seconds(first: np.ndarray, second: np.ndarray) -> float:
    """Best of two runs on RGB pictures (H, W, 3) in 0..1."""
    grey = [(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) * 255).astype(np.uint8) for picture in (first, second)]
    algorithm = cv2.optflow.createOptFlow_DeepFlow()
    times = []
    for _ in range(2):
        start = time.perf_counter()
        algorithm.calc(grey[0], grey[1], None)
        times.append(time.perf_counter() - start)
    return min(times)
