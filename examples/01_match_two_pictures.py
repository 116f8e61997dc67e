"""Match two pictures of one scene taken from different places, and put the result into one picture.

    python examples/01_match_two_pictures.py FIRST.png SECOND.png [OUT.jpg]

No cameras are needed: where they stood is found from the pictures. The result, match.jpg, shows both
pictures and the flow (its colour is the direction, its strength the distance); below, the first picture put
together from the second one's pixels, the confidence, and the first with all that the second does not show
darkened.
"""

import sys
from pathlib import Path

import cv2
import numpy as np

import wideflow

WIDTH = 320


def match_picture(first_path: Path, second_path: Path, out: Path) -> wideflow.Match:
    """Match the two pictures and write the picture that explains the result."""
    first, second = wideflow.read_image(first_path), wideflow.read_image(second_path)
    found = wideflow.match(first, second)

    height, width = first.shape[:2]
    there = (wideflow.pixel_grid(width, height) + found.forward.uv).astype(np.float32)
    rebuilt = cv2.remap(second, there[..., 0], there[..., 1], cv2.INTER_LINEAR)
    panels = [
        first,
        second,
        wideflow.flow_colours(found.forward.uv) / 255,
        rebuilt,
        np.repeat(found.forward.confidence[..., None], 3, axis=2),
        first * np.where(found.occluded, 0.15, 1)[..., None],
    ]
    size = (WIDTH, WIDTH * height // width)
    small = [cv2.resize(panel.astype(np.float32), size, interpolation=cv2.INTER_AREA) for panel in panels]
    wideflow.write_image(out, np.vstack([np.hstack(small[:3]), np.hstack(small[3:])]))
    return found


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python examples/01_match_two_pictures.py FIRST.png SECOND.png [OUT.jpg]")
    out = Path(sys.argv[3] if len(sys.argv) == 4 else "match.jpg")
    found = match_picture(Path(sys.argv[1]), Path(sys.argv[2]), out)
    print(f"{found.occluded.mean():.0%} of the first picture are not in the second; look at {out}")
