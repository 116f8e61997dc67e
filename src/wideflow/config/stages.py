"""Every setting of every stage: one frozen dataclass per stage, each field with the symbol of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from wideflow.config.setting import Stage, setting
from wideflow.errors import ConfigError


@dataclass(frozen=True)
class PassesConfig(Stage):
    """The passes of one kind of match. Each number of a list is a pass; its neighbours list has as many."""

    # iterations of belief propagation, pass by pass, on the coarsest level, on those between, on the last
    coarse_iterations: tuple[int, ...] = setting((2, 2, 2, 2, 2), minimum=1, maximum=100)
    middle_iterations: tuple[int, ...] = setting((1, 1, 1), minimum=1, maximum=100)
    final_iterations: tuple[int, ...] = setting((2, 1), minimum=1, maximum=100)
    # random steps that a pixel takes in each iteration
    coarse_tries: int = setting(2, minimum=0, maximum=64)
    middle_tries: int = setting(6, minimum=0, maximum=64)
    final_tries: int = setting(2, minimum=0, maximum=64)
    # w_p: weight of the pairwise term in each of those passes (equation 6); 0 is plain PatchMatch
    coarse_pairwise: tuple[float, ...] = setting((0.0, 0.0, 0.0, 0.1, 0.3), minimum=0)
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
    # norm of a histogram that counts as noise, in brightness per pixel of a picture of ordinary contrast
    descriptor_noise: float = setting(0.01, minimum=1e-6)
    # lay the descriptors along the epipolar lines
    oriented: bool = setting(True)
    # and along the slanted surfaces that the matches so far show
    slanted: bool = setting(True)
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
    # how far random steps reach in the first iteration of a level, px
    step: float = setting(8.0, minimum=0)
    # take each direction's matches as candidates of the other
    exchange: bool = setting(True)
    # cost per pixel of distance that a match of optical flow may be better than that of its surroundings and
    # still give way to it, where the picture is plain or a straight edge; 0: never
    weight_settle: float = setting(0.03, minimum=0)
    # smooth below the pixel at the end
    polish: bool = setting(True)
    # where chance starts: the same seed gives the same bits
    seed: int = setting(0, minimum=0, maximum=2**32 - 1)
    stereo: PassesConfig = PassesConfig()
    optical: PassesConfig = PassesConfig(
        coarse_iterations=(2, 2, 2, 2),
        middle_iterations=(2, 1, 1),
        final_iterations=(1, 1),
        middle_tries=4,
        coarse_pairwise=(0.0, 0.0, 0.1, 0.3),
    )


@dataclass(frozen=True)
class RefineConfig(Stage):
    """Variational scene flow (paper, section 3.3 and appendix); grey levels up to 255, lengths in pixels."""

    # levels of the pyramid, each half the size of the next; the paper starts at a quarter of the size: 3
    levels: int = setting(1, minimum=1, maximum=8)
    # steps (new linearisation, new weights) on each level; sweeps of over-relaxation in each, and its factor
    iterations: int = setting(8, minimum=1, maximum=1000)
    sweeps: int = setting(12, minimum=1, maximum=1000)
    relaxation: float = setting(1.9, minimum=0.1, maximum=1.99)
    # weights of colour and gradients in the data terms, over time (E_D 1, 2) and between cameras (E_D 3, 4)
    weight_colour: float = setting(1.0, minimum=0)
    weight_gradient: float = setting(1.0, minimum=0)
    weight_colour_stereo: float = setting(1.0, minimum=0)
    weight_gradient_stereo: float = setting(0.3, minimum=0)
    # alpha_i: weight of a pixel's distance from the epipolar line; 10 in the paper
    weight_epipolar: float = setting(200.0, minimum=0)
    # beta_1 .. beta_3: weights of the smoothness of u1, u2, u3; 31, 60, 200 in the paper
    smoothness: tuple[float, ...] = setting((80.0, 60.0, 200.0), minimum=0)
    # root of the constant in the penaliser, 10^-3 in the paper
    epsilon: float = setting(1e-3, minimum=1e-6, maximum=100)
    # difference of colour, 0..1, at which flow may change e times as steeply for the same price; 0: nowhere
    contrast: float = setting(0.06, minimum=0)
    # weight of a change of slope against one of flow, px; 0: every slope costs, as in the paper
    slope: float = setting(5.0, minimum=0)
    # standard deviation of the blur against noise, px
    blur: float = setting(0.8, minimum=0, maximum=10)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.smoothness) != 3:
            raise ConfigError(
                f"smoothness has {len(self.smoothness)} values; give three: for the optical flow, the stereo "
                "flow and the closure of the loop"
            )


@dataclass(frozen=True)
class FillConfig(Stage):
    """Occlusions and the completion of the flow (paper, section "Laplacian occlusion filling")."""

    # px between a pixel and its way there and back, above which it counts as occluded
    threshold: float = setting(3.0, minimum=0)
    # smooth parts of what is seen that are smaller than this share of the picture agree by chance; how far
    # the flow of neighbours in one part may differ, px
    island: float = setting(2e-3, minimum=0, maximum=1)
    island_step: float = setting(2.0, minimum=0)
    # occluded parts that are smaller than this share of the picture count as seen
    hole: float = setting(1e-4, minimum=0, maximum=1)
    # radius of the morphological closing of the mask, px; 0 for none
    closing: int = setting(0, minimum=0, maximum=50)
    # how unknown flow is found: from colours, or by diffusion, the baseline of the paper's comparison
    method: str = setting("laplacian", choices=("laplacian", "diffusion"))
    # epsilon: weight of the norm of B (equation 8), for colours in 0..1
    epsilon: float = setting(1e-5, minimum=1e-9)
    # lambda: weight of the known flow (equation 10)
    weight_known: float = setting(5.0, minimum=1e-3)
    # known pixels around the unknown ones that take part, px
    ring: int = setting(5, minimum=1, maximum=100)
    # how often windows where flow is no function of colour get less weight, and the misfit of a window of the
    # half-size picture, px, at which it has half its weight
    reweighted: int = setting(2, minimum=0, maximum=20)
    misfit: float = setting(0.3, minimum=1e-3)
    # pixels up to which the factor is kept; above, most of it is computed twice to save memory
    direct_limit: int = setting(1_500_000, minimum=0)
    # error to expect of filled flow at which it is trusted half, px
    trust_error: float = setting(3.0, minimum=0.1)


@dataclass(frozen=True)
class SyncConfig(Stage):
    """When: the offset between two clips. Not in the paper, whose videos were synchronised by hand."""

    # what is used: sound first and then pictures, or one of them alone
    use: str = setting("both", choices=("both", "sound", "pictures"))
    # make the offset that sound gives exact by geometry: sound travels only a third of a metre in 1 ms
    refine: bool = setting(True)
    # seconds of A that pictures are compared in, if it is longer, and the largest offset they are looked for
    window: float = setting(30.0, minimum=1)
    largest_offset: float = setting(20.0, minimum=0)
    # confidence below which an answer is said to be uncertain, and sound gives way to pictures
    trusted: float = setting(0.5, minimum=0, maximum=1)


@dataclass(frozen=True)
class CalibrateConfig(Stage):
    """Where: lenses and poses by structure from motion (paper, section 3: "calibrate")."""

    # longer side of the pictures that points are looked for in, px, and how many in each
    size: int = setting(1280, minimum=160)
    features: int = setting(4000, minimum=100, maximum=30000)
    # motion of the picture from key frame to key frame, as a share of its width, and pairs of frames between
    # them when the cameras hardly move; limits of their number
    spacing: float = setting(0.04, minimum=1e-3, maximum=1)
    longest_gap: int = setting(10, minimum=1)
    fewest_keyframes: int = setting(8, minimum=2)
    most_keyframes: int = setting(80, minimum=2)
    # key moments at which the cameras are matched densely, and sparsely
    dense_moments: int = setting(8, minimum=1, maximum=100)
    sparse_moments: int = setting(16, minimum=1, maximum=100)
    # key moments before and after its own at which a point is looked for
    reach: int = setting(6, minimum=1, maximum=100)
    # points of a key frame that are followed into the frames between
    followed: int = setting(800, minimum=20)
    # standard deviation in seconds over which poses are averaged; 0 leaves them as measured
    smoothing: float = setting(0.0, minimum=0)
    # where chance starts: the same seed gives the same bits
    seed: int = setting(0, minimum=0, maximum=2**31 - 1)


@dataclass(frozen=True)
class Config:
    """All settings, stage by stage."""

    sync: SyncConfig = SyncConfig()
    calibrate: CalibrateConfig = CalibrateConfig()
    match: MatchConfig = MatchConfig()
    fill: FillConfig = FillConfig()
    refine: RefineConfig = RefineConfig()
