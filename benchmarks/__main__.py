"""``python -m benchmarks [NAME ...]``: run the named benchmarks, or all of them."""

import sys

from benchmarks import (
    calibrate,
    carried,
    confidence,
    depth,
    evidence,
    filling,
    frames,
    light,
    match,
    moments,
    one_time,
    pictures,
    refine,
    rolling,
    safety,
    sync,
    tracks,
)

BENCHMARKS = {
    "frames": frames.main,  # the table of speed and memory
    "moments": moments.main,  # a further one of a video, on one core and on all
    "match": match.main,
    "pictures": pictures.main,
    "one_time": one_time.main,  # cameras that are half a frame apart
    "rolling": rolling.main,  # shutters
    "light": light.main,  # that changes while they film
    "carried": carried.main,  # the moment before as a proposal
    "evidence": evidence.main,
    "depth": depth.main,
    "filling": filling.main,
    "refine": refine.main,
    "confidence": confidence.main,
    "sync": sync.main,
    "calibrate": calibrate.main,
    "tracks": tracks.main,  # renders and computes two clips first: half an hour
    "safety": safety.main,  # checksums and waiting for the disk
}

for name in sys.argv[1:] or BENCHMARKS:
    if name not in BENCHMARKS:
        sys.exit(f"there is no benchmark '{name}'; there are {', '.join(BENCHMARKS)}")
    BENCHMARKS[name]()
