"""Settings of dense matching."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wideflow.config.setting import Stage, setting
from wideflow.errors import ConfigError


@dataclass(frozen=True)
class LevelPasses(Stage):
    """The passes on one kind of level of the pyramid; both lists have a number per pass."""

    iterations: tuple[int, ...] = setting(
        (2, 2, 2, 2, 2), "iterations of belief propagation in each pass", minimum=1, maximum=100
    )
    pairwise: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0, 0.1, 0.3),
        "weight of the pairwise term in each pass (equation 6); 0 is plain PatchMatch",
        symbol="w_p",
        minimum=0,
    )
    tries: int = setting(2, "random steps that a pixel takes in each iteration", minimum=0, maximum=64)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.iterations) != len(self.pairwise):
            raise ConfigError(
                f"iterations has {len(self.iterations)} passes and pairwise {len(self.pairwise)}; "
                "give both the same number of values"
            )

    def then(self, others: LevelPasses) -> LevelPasses:
        """These passes and then others, with the random steps of these."""
        return replace(
            self, iterations=self.iterations + others.iterations, pairwise=self.pairwise + others.pairwise
        )


@dataclass(frozen=True)
class PassesConfig(Stage):
    """The passes of one kind of match."""

    coarse: LevelPasses = setting(LevelPasses(), "on the coarsest level")
    swept: LevelPasses = setting(
        LevelPasses((1,), (0.3,), 2), "on the coarsest level where the first candidates are planes"
    )
    middle: LevelPasses = setting(LevelPasses((1, 1), (0.0, 0.3), 4), "on the levels between")
    final: LevelPasses = setting(
        LevelPasses((1, 1), (0.0, 0.3), 0), "on the last level, that of the pictures"
    )
    full_size: bool = setting(
        True, "match at the size of the pictures; else the level before is the last, and polish does the rest"
    )
    settled: float = setting(
        1.0,
        "most that the way back may miss on the level before where the last one searches no more; 0: it "
        "searches everywhere",
        unit="px of the level before",
        minimum=0,
    )
    weight_colour_first: float = setting(
        0.0,
        "weight of the colour term until a colour transform is fitted (equation 3)",
        symbol="w_C",
        minimum=0,
    )
    weight_colour: float = setting(
        4.0, "weight of the colour term from then on (equation 3)", symbol="w_C", minimum=0
    )


@dataclass(frozen=True)
class MatchConfig(Stage):
    """Dense matching: DAISY descriptors under PatchMatch belief propagation (paper, section 3.1)."""

    particles: int = setting(2, "candidates kept at every pixel", symbol="K", minimum=1, maximum=16)
    descriptor_radius: float = setting(
        5.0, "how far a descriptor reaches", unit="px of each level", symbol="R", minimum=1, maximum=100
    )
    descriptor_rings: int = setting(2, "rings of a descriptor", symbol="Q", minimum=1, maximum=8)
    descriptor_angles: int = setting(4, "histograms on a ring", symbol="T", minimum=1, maximum=32)
    descriptor_cap: float = setting(
        0.11,
        "most that one histogram adds to the distance, of at most 2; the rest of the descriptor still counts "
        "where a part of it lies across an occlusion edge",
        minimum=1e-6,
        maximum=2,
    )
    descriptor_noise: float = setting(
        0.01,
        "norm of a histogram that counts as noise, in a picture of ordinary contrast",
        unit="brightness per px",
        minimum=1e-6,
    )
    footprint: float = setting(
        0.07,
        "difference of colour at which a histogram across an edge of the picture counts two fifths; 0: all "
        "count alike, as in the paper",
        unit="colour, 0..1",
        minimum=0,
        maximum=10,
    )
    oriented: bool = setting(True, "lay the descriptors along the epipolar lines")
    slanted: bool = setting(True, "and along the slanted surfaces that the matches so far show")
    planes: bool = setting(True, "propose the planes that the matches so far lie on")
    weight_epipolar: float = setting(1.0, "weight of the epipolar term (equation 4)", symbol="w_E", minimum=0)
    truncation_pairwise: float = setting(
        0.5, "most that two neighbours can disagree (equation 6)", symbol="tau_p", minimum=0
    )
    colour_transform: bool = setting(True, "fit a colour transform after each pass", symbol="[A a]")
    colour_degree: int = setting(3, "its degree; 1 for the paper's affine one", minimum=1, maximum=4)
    colour_spread: float = setting(
        0.04,
        "median colour difference after the fit above which the colour term counts less",
        unit="colour, 0..1",
        minimum=1e-6,
    )
    search: str = setting(
        "planes",
        "first candidates of a stereo match: planes of some orientations where the cameras are known, all "
        "places on the epipolar line, or random ones",
        choices=("planes", "line", "random"),
    )
    search_range: float = setting(
        0.06,
        "how far random first candidates of optical flow lie",
        unit="share of the longest side",
        minimum=0,
        maximum=1,
    )
    coarse_to_fine: bool = setting(True, "from small pictures to large ones")
    coarsest: int = setting(320, "longest side of the smallest pictures", unit="px", minimum=16)
    step: float = setting(
        8.0, "how far random steps reach in the first iteration of a level", unit="px", minimum=0
    )
    carried: bool = setting(
        True, "propose the stereo flow of the moment before, carried on by the motion in both cameras"
    )
    exchange: bool = setting(True, "take each direction's matches as candidates of the other")
    polish: bool = setting(True, "smooth below the pixel at the end")
    seed: int = setting(
        0, "where chance starts: the same seed gives the same bits", minimum=0, maximum=2**32 - 1
    )
    stereo: PassesConfig = setting(PassesConfig(), "two cameras at one moment")
    optical: PassesConfig = setting(
        PassesConfig(
            coarse=LevelPasses((3, 2, 2), (0.0, 0.1, 0.3), 2),
            middle=LevelPasses((1, 1), (0.0, 0.3), 2),
            full_size=False,
        ),
        "one camera at two moments",
    )
