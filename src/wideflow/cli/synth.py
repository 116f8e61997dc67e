"""``wideflow synth``: render two cameras and their ground truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from wideflow.cli.options import Quiet, Seed, Threads, parse_size
from wideflow.errors import InputError
from wideflow.progress import show_progress
from wideflow.synth import SynthConfig, render
from wideflow.synth.suite import SIZES

EXAMPLE = "wideflow synth scene --angle 20 --frames 2"
_DEFAULT = SynthConfig()


def run(
    out: Annotated[
        Path | None, Argument(metavar="OUT", help="Folder for the pictures and the ground truth.")
    ] = None,
    angle: Annotated[float, Option(help="Degrees between the cameras, 0 to 90.")] = _DEFAULT.angle,
    frames: Annotated[int, Option(help="Pictures per camera.")] = _DEFAULT.frames,
    fps: Annotated[float, Option(help="Pictures per second.")] = _DEFAULT.fps,
    size: Annotated[
        str | None,
        Option(metavar="WxH", help="Picture size of camera A in pixels; 960x540, clips of a suite 640x360."),
    ] = None,
    size_b: Annotated[str | None, Option(metavar="WxH", help="Picture size of B if it differs.")] = None,
    seed: Seed = _DEFAULT.seed,
    speed: Annotated[float, Option(help="How fast things move; 0 is a still scene.")] = _DEFAULT.speed,
    photometric: Annotated[
        str, Option(help="How much colours differ: off (ideal cameras), on (two phones) or strong.")
    ] = _DEFAULT.photometric,
    offset: Annotated[float, Option(help="Seconds by which B started later.")] = _DEFAULT.offset,
    rolling_shutter: Annotated[
        float, Option(help="Seconds from the first row to the last; 0 is a global shutter.")
    ] = _DEFAULT.rolling_shutter,
    motion_blur: Annotated[
        float, Option(help="Share of the frame time that the shutter is open, 0 to 1.")
    ] = _DEFAULT.motion_blur,
    weak: Annotated[float, Option(help="Share of A's picture that is nearly plain.")] = _DEFAULT.weak,
    overexpose: Annotated[float, Option(help="Share of A's picture that is white.")] = _DEFAULT.overexpose,
    distortion: Annotated[
        tuple[float, float] | None,
        Option(metavar="A B", help="k1 of both lenses; by default ideal for pictures, mild for videos."),
    ] = None,
    video: Annotated[bool, Option("--video", help="Write a.mp4 and b.mp4 with sound.")] = False,
    flows: Annotated[bool, Option("--flows", help="Also write the flows of each step as .flo.")] = False,
    movers: Annotated[
        float, Option(help="Share of A's picture that a crowd of strong texture covers; 0: as the place is.")
    ] = _DEFAULT.movers,
    path: Annotated[str, Option(help="How cameras move: hands, tripod, turn or walk.")] = _DEFAULT.path,
    place: Annotated[
        str | None,
        Option(help="courtyard, garden, hall, plane (one wall) or pattern (all repeats); else by the seed."),
    ] = None,
    zoom: Annotated[
        tuple[float, float],
        Option(metavar="A B", help="Factors by which the focal lengths grow until the end."),
    ] = _DEFAULT.zoom,
    fps_b: Annotated[float | None, Option(help="Pictures per second of B if they differ.")] = None,
    sound: Annotated[bool, Option(help="Videos have sound.")] = True,
    tremor: Annotated[float, Option(help="How far hands tremble, times what is usual.")] = _DEFAULT.tremor,
    stops: Annotated[
        tuple[float, float],
        Option(metavar="A B", help="Stops by which each camera is exposed above what suits the scene."),
    ] = _DEFAULT.stops,
    tag: Annotated[
        float, Option(metavar="D", help="Side in metres of a printed tag on a board in the scene; 0: none.")
    ] = _DEFAULT.tag,
    exposure_drift: Annotated[
        float, Option(metavar="F", help="Factor by which exposure drifts during the clip, 1 to 4.")
    ] = _DEFAULT.exposure_drift,
    lamp_flicker: Annotated[
        float, Option(metavar="X", help="Share of the light by which a 100 Hz lamp flickers, 0 to 0.9.")
    ] = _DEFAULT.lamp_flicker,
    suite: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="A fixed set of the handheld benchmark, a folder each: scenes (unless named) or video.",
        ),
    ] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Render two handheld cameras around a moving scene, with exact ground truth.

    Writes pictures (cam0_0000.png) or videos, depth, 3D motion and visibility
    of every pixel (gt0_0000.npz) and the cameras (rig.json). With --suite, the
    fixed scenes (--suite OUT) or clips (--suite video OUT) of the handheld
    benchmark, of which only --size can be chosen; what is finished is skipped.
    """
    if suite is not None and out is None and suite not in SIZES:
        suite, out = "scenes", Path(suite)  # the name of the first suite may be left out
    if out is None:
        raise InputError("missing argument 'OUT'; see 'wideflow synth --help'")
    chosen = None if size is None else parse_size("--size", size)
    config = SynthConfig(
        angle=angle,
        frames=frames,
        fps=fps,
        size=chosen or _DEFAULT.size,
        size_b=None if size_b is None else parse_size("--size-b", size_b),
        seed=seed,
        speed=speed,
        photometric=photometric,
        offset=offset,
        rolling_shutter=rolling_shutter,
        motion_blur=motion_blur,
        weak=weak,
        overexpose=overexpose,
        distortion=distortion,
        video=video,
        flows=flows,
        movers=movers,
        path=path,
        place=place,
        zoom=zoom,
        fps_b=fps_b,
        sound=sound,
        tremor=tremor,
        stops=stops,
        tag=tag,
        exposure_drift=exposure_drift,
        lamp_flicker=lamp_flicker,
    )
    if suite is not None:
        if replace(config, size=_DEFAULT.size) != _DEFAULT:
            raise InputError("--suite renders fixed scenes; of the scene's options only --size goes with it")
        _render_suite(suite, out, chosen, threads, quiet)
        return
    render_with_progress(out, config, threads, quiet)
    if not quiet:
        pictures = "a.mp4, b.mp4" if video else "cam0_*.png, cam1_*.png"
        print(f"{out}: {pictures}, ground truth in gt0_*.npz and gt1_*.npz, cameras in rig.json")


def _render_suite(
    name: str, out: Path, size: tuple[int, int] | None, threads: int | None, quiet: bool
) -> None:
    from wideflow.synth.suite import render_suite

    if name not in SIZES:
        raise InputError(f"there is no suite '{name}'; there are {' and '.join(SIZES)}")
    with show_progress(quiet) as progress:
        rendered, there = render_suite(out, size, progress, threads, name)
    if not quiet:
        what, experiment = ("clips", "video") if name == "video" else ("scenes", "handheld")
        print(
            f"{out}: {rendered} {what} rendered, {there} were there; 'wideflow evaluate {experiment} {out}'"
        )


def render_with_progress(out: Path, config: SynthConfig, threads: int | None, quiet: bool) -> None:
    """Render into the folder ``out`` and show how far it is."""
    with show_progress(quiet) as progress:
        progress(0, 1, "loading the renderer; the first run compiles it")
        render(out, config, progress, threads)
