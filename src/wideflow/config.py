"""Every setting of every stage: one frozen dataclass a stage, each field with the symbol of the paper.

Values come from a preset, then a TOML file (``[match]``, below it ``particles = 5``), then assignments like
``--set match.particles=5``; later ones win. A key that does not exist, a wrong type or an impossible value is
an error that names the nearest valid one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from wideflow.errors import ConfigError
from wideflow.settings import Stage, build, nearest, parse_assignment, setting


@dataclass(frozen=True)
class PassesConfig(Stage):
    """The passes of one kind of match. Each number of a list is a pass; its neighbours list has as many."""

    # iterations of belief propagation, pass by pass, on the coarsest level, on those between, on the last
    coarse_iterations: tuple[int, ...] = setting((3, 3, 2, 2), minimum=1, maximum=100)
    middle_iterations: tuple[int, ...] = setting((2, 2, 2), minimum=1, maximum=100)
    final_iterations: tuple[int, ...] = setting((2, 2), minimum=1, maximum=100)
    # w_p: weight of the pairwise term in each of those passes (equation 6); 0 is plain PatchMatch
    coarse_pairwise: tuple[float, ...] = setting((0.0, 0.0, 0.1, 0.3), minimum=0)
    middle_pairwise: tuple[float, ...] = setting((0.0, 0.1, 0.3), minimum=0)
    final_pairwise: tuple[float, ...] = setting((0.0, 0.3), minimum=0)
    # w_C: weight of the colour term before and after the colour transform is fitted (equation 3)
    weight_colour_first: float = setting(0.0, minimum=0)
    weight_colour: float = setting(4.0, minimum=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for level in ("coarse", "middle", "final"):
            iterations, weights = getattr(self, f"{level}_iterations"), getattr(self, f"{level}_pairwise")
            if len(iterations) != len(weights):
                raise ConfigError(
                    f"{level}_iterations has {len(iterations)} passes and {level}_pairwise {len(weights)}; "
                    "give both the same number of values"
                )


@dataclass(frozen=True)
class MatchConfig(Stage):
    """Dense matching: DAISY descriptors under PatchMatch belief propagation (paper, section 3.1)."""

    # K: candidates kept at every pixel
    particles: int = setting(3, minimum=1, maximum=16)
    # R: how far a descriptor reaches, px of each level; Q: its rings; T: histograms on a ring
    descriptor_radius: float = setting(5.0, minimum=1, maximum=100)
    descriptor_rings: int = setting(2, minimum=1, maximum=8)
    descriptor_angles: int = setting(4, minimum=1, maximum=32)
    # most that one histogram adds to the distance, of at most 2; the rest of the descriptor still counts
    # where a part of it lies across an occlusion edge
    descriptor_cap: float = setting(0.11, minimum=1e-6, maximum=2)
    # norm of a histogram, in brightness per pixel, that counts as noise
    descriptor_noise: float = setting(0.01, minimum=1e-6)
    # lay the descriptors along the epipolar lines
    oriented: bool = setting(True)
    # w_E: weight of the epipolar term (equation 4)
    weight_epipolar: float = setting(1.0, minimum=0)
    # tau_p: most that two neighbours can disagree (equation 6)
    truncation_pairwise: float = setting(0.5, minimum=0)
    # fit a colour transform after each pass; its degree, 1 for the paper's affine one
    colour_transform: bool = setting(True)
    colour_degree: int = setting(3, minimum=1, maximum=4)
    # median colour difference after the fit above which the colour term counts less; 0..1
    colour_spread: float = setting(0.04, minimum=1e-6)
    # first candidates of a stereo match: all places on the epipolar line, or random ones
    search: str = setting("line", choices=("line", "random"))
    # how far random first candidates of optical flow lie, as a share of the longest side
    search_range: float = setting(0.06, minimum=0, maximum=1)
    # from small pictures to large ones; the longest side of the smallest, px
    coarse_to_fine: bool = setting(True)
    coarsest: int = setting(320, minimum=16)
    # how far random steps reach in the first iteration of a level, px, and how many a pixel takes in each
    # iteration, on the coarsest level, on those between and on the last
    step: float = setting(8.0, minimum=0)
    coarse_tries: int = setting(2, minimum=0, maximum=64)
    middle_tries: int = setting(4, minimum=0, maximum=64)
    final_tries: int = setting(2, minimum=0, maximum=64)
    # take each direction's matches as candidates of the other
    exchange: bool = setting(True)
    # smooth below the pixel at the end
    polish: bool = setting(True)
    # where chance starts: the same seed gives the same bits
    seed: int = setting(0, minimum=0, maximum=2**32 - 1)
    stereo: PassesConfig = PassesConfig()
    optical: PassesConfig = PassesConfig(final_iterations=(1, 1))


@dataclass(frozen=True)
class Config:
    """All settings, stage by stage."""

    match: MatchConfig = MatchConfig()


# What each preset changes. "paper" takes the values of the paper's section 3.1; K and the search range are
# not given there.
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "fast": {
        "match": {
            "particles": 2,
            "stereo": {"final_iterations": [1, 1]},
            "optical": {"final_iterations": [1, 1]},
        }
    },
    "paper": {
        "match": {
            "descriptor_radius": 10.0,
            "descriptor_angles": 8,
            "descriptor_cap": 2.0,
            "descriptor_noise": 1e-4,
            "truncation_pairwise": 50.0,
            "colour_degree": 1,
            "colour_spread": 1e6,
            "search": "random",
            "search_range": 0.2,
            "coarse_to_fine": False,
            "step": 100.0,
            "exchange": False,
            "polish": False,
            "stereo": {
                "coarse_iterations": [2, 2, 2, 2],
                "coarse_pairwise": [0.01, 0.02, 0.1, 1.0],
                "weight_colour_first": 1.0,
                "weight_colour": 10.0,
            },
            "optical": {
                "coarse_iterations": [6, 4],
                "coarse_pairwise": [0.01, 0.01],
                "weight_colour_first": 20.0,
                "weight_colour": 20.0,
            },
        }
    },
}


def load_config(
    path: str | os.PathLike[str] | None = None, settings: Iterable[str] = (), preset: str = "default"
) -> Config:
    """Settings from a preset, a file and single assignments, of which the later ones win.

    Parameters
    ----------
    path : path, optional
        TOML file with one table a stage.
    settings : iterable of str
        Assignments such as ``"match.particles=5"``, each value in TOML.
    preset : str
        One of `PRESETS`.

    Raises
    ------
    ConfigError
        A preset or key that does not exist, a value of the wrong type or out of range.
    FileError
        The file is missing or cannot be read.
    """
    if preset not in PRESETS:
        raise ConfigError(
            f"there is no preset '{preset}'; the nearest valid one is {nearest(preset, PRESETS)}"
        )
    layers = [(f"preset {preset}: ", PRESETS[preset])]
    if path is not None:
        layers.append((f"'{path}': ", _read_toml(path)))
    layers += [("--set: ", parse_assignment(text)) for text in settings]
    return build(Config, layers)


def _read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    import tomllib

    from wideflow.files.disk import read_bytes

    data = read_bytes(path, "configuration file (TOML)", limit=2**16)
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"'{path}' is not a text file in UTF-8; save it as one") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"'{path}' is not valid TOML: {error}; correct it") from error
