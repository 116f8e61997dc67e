"""The whole job: a scene, two cameras, pictures or videos, and ground truth in the handheld layout.

Time. A's frame t is taken at t / fps seconds of the scene, B's at t / fps + offset. Ground truth,
``cameras.json`` and ``rig.json`` belong to A's times in both cameras: ``gt1_0003.npz`` and the second view of
frame 3 tell where B was, and what it would have seen, when A took its frame 3, whether or not B took a
picture at that moment. With a rolling shutter it is the moment of the middle row, and truth is that of every
row at its own (`rolling_truth`). ``truth.json`` lists each camera at the times of its own pictures. Where a
lens zooms, ``rig.json`` has that of time 0; the two others have the K of every moment.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wideflow.files import write_bytes, write_flow, write_image, write_rig
from wideflow.geometry import ideal_camera, truth_flows
from wideflow.handheld import pose_fields, write_cameras, write_truth
from wideflow.progress import Progress
from wideflow.synth.camera.exposure import Shutter, render_picture, sample_rays
from wideflow.synth.camera.hands import Hand, hands
from wideflow.synth.camera.response import develop, drifted, lamp, meter, responses
from wideflow.synth.config import SynthConfig
from wideflow.synth.places import place, place_name
from wideflow.synth.places.crowd import FADED, with_crowd
from wideflow.synth.places.tag_board import tag_board
from wideflow.synth.rendering.scene import Scene, State
from wideflow.synth.rendering.shade import first_hits, radiance
from wideflow.synth.rendering.trace import require_tracer
from wideflow.synth.rolling_truth import Shot, render_rolling_truth
from wideflow.synth.truth import render_truth
from wideflow.types import Rig, RigFrame, Truth, View

_PREVIEW_WIDTH = 160
_BANDS = 24  # states of a rolling shutter that are at hand; each takes some ten megabytes
_BLOWN = 0.75  # share of a glaring surface that is blown out; the rest is its shadows
_GLARE = 1.4  # times full scale: white in both cameras, whatever their exposure


class Studio:
    """A scene built and lit, two cameras set up: everything that the files are made from."""

    def __init__(self, config: SynthConfig, threads: int, progress: Progress | None) -> None:
        self.config, self.threads, self._progress = config, threads, progress
        self._done, self._total = -1, sum(config.counts) + 2 * len(config.scored) + 1
        require_tracer()
        self.step("building the place (a first run compiles as well)")
        self.hands = hands(config)
        bodies, light = place(config.seed, config.speed, config.place)
        if config.movers:
            bodies = with_crowd(bodies, config, _small(self.hands[0]))
        if config.tag:
            bodies = [*bodies, *tag_board(config.tag, config.seed, self.hands)]
        detail = max(max(size) for size in config.sizes) / 960
        self.scene = Scene(bodies, light, config.seed, detail, threads)
        if config.movers:
            self.scene.make_plain(self.scene.still_materials, FADED)
        self.state = lru_cache(maxsize=4)(self.scene.state)
        self.bands = lru_cache(maxsize=_BANDS)(self.scene.state)
        self.responses = responses(config, self._set_up_light())
        self._rays: dict[int, NDArray[np.float32]] = {}

    def step(self, text: str) -> None:
        """Tell what comes next; one more step is done."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total, text)

    def picture(self, camera: int, frame: int) -> NDArray[np.uint8]:
        """What ``camera`` records as its frame ``frame``, (H, W, 3)."""
        self.step(f"camera {'AB'[camera]}, picture {frame + 1} of {self.config.counts[camera]}")
        config, hand = self.config, self.hands[camera]
        time = config.time_of(camera, frame)
        if hand.zooms:
            hand = replace(hand, camera=hand.lens(time), zoom=(1.0, 1.0))
        if camera not in self._rays or self.hands[camera].zooms:
            self._rays = {camera: sample_rays(hand.camera)}
        shutter = Shutter(config.rolling_shutter, config.motion_blur / config.rates[camera])
        linear = render_picture(
            self.scene,
            hand,
            self._rays[camera],
            time,
            shutter,
            self._gloss,
            self.threads,
            config.samples,
        )
        if config.lamp_flicker:
            linear *= lamp(config, time, shutter, hand.camera.height)[:, None, None]
        response = drifted(self.responses[camera], config, camera, frame)
        return develop(linear, response, (config.seed, 7, camera, frame))

    def truth(self, camera: int, frame: int) -> Truth:
        """Ground truth of ``camera`` at the time of A's frame ``frame``."""
        self.step(f"camera {'AB'[camera]}, ground truth {frame + 1} of {self.config.frames}")
        if self.config.rolling_shutter:
            shots = [[self._shot(c, frame + later) for c in (camera, 1 - camera)] for later in (0, 1)]
            return render_rolling_truth(
                self.scene, (shots[0][0], shots[0][1]), (shots[1][0], shots[1][1]), self.threads
            )
        return render_truth(
            self.scene, self._moment(camera, frame), self._moment(camera, frame + 1), self.threads
        )

    def rig(self) -> Rig:
        """Both cameras at A's times, one moment more than there are frames."""
        frames = []
        for t in range(self.config.frames + 1):
            now = self.config.time_of(0, t)
            views = self.hands[0].view(now), self.hands[1].view(now)
            rows = None
            if self.config.rolling_shutter:
                shots = self._shot(0, t), self._shot(1, t)
                ends = [
                    [shot.view(row).cam_from_world for row in (0, shot.camera.height - 1)] for shot in shots
                ]
                rows = np.array(ends)
            frames.append(RigFrame(t, (now, now - self.config.offset), views, rows))
        return Rig((self.hands[0].camera, self.hands[1].camera), tuple(frames))

    def write_cameras(self, folder: Path) -> None:
        """``rig.json``, ``cameras.json``, ``truth.json`` and ``scene.json``."""
        config, rig = self.config, self.rig()
        write_rig(folder / "rig.json", rig)
        write_cameras(folder / "cameras.json", rig)
        own = [[self.hands[c].view(config.time_of(c, t)) for t in range(config.counts[c])] for c in (0, 1)]
        truth = {
            "offset_seconds": config.offset,
            "fps": config.fps,
            "sizes": config.sizes,
            "distortion": [hand.camera.distortion.tolist() for hand in self.hands],
            "cameras": [[pose_fields(view) for view in views] for views in own],
        }
        if config.rolling_shutter:
            truth["readout"] = [hand.camera.readout for hand in self.hands]
        if config.fps_b is not None:
            truth["fps_b"] = config.fps_b
        write_bytes(folder / "truth.json", json.dumps(truth).encode())
        name = config.place or place_name(config.seed)
        scene = {"config": config.as_json(), "place": name, "objects": self.scene.names}
        write_bytes(folder / "scene.json", json.dumps(scene, indent=1).encode())

    def write_pictures(self, folder: Path) -> None:
        """``cam{c}_{t}.png``."""
        for camera in (0, 1):
            for frame in range(self.config.counts[camera]):
                write_image(folder / f"cam{camera}_{frame:04d}.png", self.picture(camera, frame))

    def write_videos(self, folder: Path) -> None:
        """``a.mp4`` and ``b.mp4``, with sound unless it is off."""
        from wideflow.synth.sound import RATE, tracks
        from wideflow.video.write import write_video

        places = np.stack([hand.view(0.0).centre for hand in self.hands])
        for camera, track in enumerate(tracks(self.config, places)):
            frames = (self.picture(camera, frame) for frame in range(self.config.counts[camera]))
            heard = track if self.config.sound else None
            write_video(folder / f"{'ab'[camera]}.mp4", frames, self.config.rates[camera], heard, RATE)

    def write_truth(self, folder: Path) -> None:
        """``gt{c}_{t}.npz`` and, if asked for, the flows."""
        for frame in self.config.scored:
            for camera in (0, 1):
                truth = self.truth(camera, frame)
                write_truth(folder / f"gt{camera}_{frame:04d}.npz", truth)
                if self.config.flows:
                    self._write_flows(folder, camera, frame, truth)

    def _write_flows(self, folder: Path, camera: int, frame: int, truth: Truth) -> None:
        views = [_ideal(self.rig(), t) for t in (frame, frame + 1)]
        flows = truth_flows(truth, views[0], views[1], camera)
        for kind in ("stereo", "optical"):
            write_flow(folder / f"{kind}{camera}_{frame:04d}.flo", getattr(flows, kind))

    @property
    def _gloss(self) -> bool:
        return self.config.photometric != "off"

    def _shot(self, camera: int, frame: int) -> Shot:
        shutter = Shutter(self.config.rolling_shutter, self.config.motion_blur / self.config.rates[camera])
        return Shot(self.hands[camera], self.config.time_of(0, frame), shutter, self.bands)

    def _moment(self, camera: int, frame: int) -> tuple[State, View, View]:
        time = self.config.time_of(0, frame)
        return self.state(time), self.hands[camera].view(time), self.hands[1 - camera].view(time)

    def _set_up_light(self) -> float:
        """Make surfaces plain or blown out as asked, and return the exposure that suits the rest."""
        config, scene = self.config, self.scene
        _, material = self._preview()
        if config.weak:
            scene.make_plain(choose(material, config.weak, np.random.default_rng([config.seed, 11])))
        linear, _ = self._preview()
        if not config.overexpose:
            return meter(linear)
        solid = np.where(
            scene.surfaces.materials[material, 3] > 0, -1, material
        )  # leaves and cloth do not glare
        blown = choose(solid, config.overexpose, np.random.default_rng([config.seed, 12]), smallest=0.025)
        exposure = meter(linear[~np.isin(material, list(blown))])
        for number in blown:
            dark = np.quantile(linear[material == number].min(axis=1), 1 - _BLOWN)
            scene.brighten(number, _GLARE / (exposure * dark))
        return exposure

    def _preview(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """A's first picture, small: linear radiances (n, 3) and materials (n,), -1 for the sky."""
        view = _small(self.hands[0]).view(0.0)
        rays = sample_rays(view.camera)[0].reshape(-1, 2).astype(float)
        directions = np.concatenate([rays, np.ones((len(rays), 1))], axis=1) @ view.R
        state = self.state(0.0)
        steps = np.eye(3)[:2] / view.camera.K[0, 0] @ view.R
        linear = radiance(self.scene, state, view.centre, directions, steps, 0, self._gloss)
        hits, _ = first_hits(self.scene, state, view.centre, directions)
        return linear, np.where(hits < 0, -1, self.scene.surfaces.material[hits])


def choose(
    material: NDArray[np.int64], wanted: float, rng: np.random.Generator, smallest: float = 0.0
) -> set[int]:
    """Materials that together cover about the share ``wanted`` of a picture; large ones likely come first.

    ``material`` (n,) is what every pixel shows, -1 for none; shares up to ``smallest`` are left out.
    """
    shares = np.bincount(material[material >= 0]) / len(material)
    order = np.argsort(-shares * rng.uniform(0.4, 1.0, len(shares)), kind="stable")
    chosen: set[int] = set()
    total = 0.0
    for number in order:
        if shares[number] > smallest and total + shares[number] <= wanted + 0.05:
            chosen.add(int(number))
            total += shares[number]
    return chosen


def _small(hand: Hand) -> Hand:
    """The same camera with few pixels and no distortion."""
    width, height = hand.camera.size
    scale = min(1.0, _PREVIEW_WIDTH / width)
    camera = ideal_camera(hand.camera, (max(8, round(width * scale)), max(8, round(height * scale))))
    return replace(hand, camera=camera)


def _ideal(rig: Rig, time: int) -> RigFrame:
    frame = rig.frame(time)
    views = [View(ideal_camera(view.camera), view.cam_from_world) for view in frame.views]
    return RigFrame(time, frame.times, (views[0], views[1]), frame.rows)
