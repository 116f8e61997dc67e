"""Settings of the stages but for matching, and all of them together."""

from __future__ import annotations

from dataclasses import dataclass

from wideflow.config.match import MatchConfig
from wideflow.config.setting import Stage, setting
from wideflow.errors import ConfigError


@dataclass(frozen=True)
class EvidenceConfig(Stage):
    """Depth of what stands still from other moments of the same camera; not in the paper."""

    views: int = setting(
        10, "other pictures to compare with; 0: none, as in the paper", minimum=0, maximum=64
    )
    reach: float = setting(1.6, "how long before and after a moment they are taken", unit="s", minimum=0)
    spacing: int = setting(
        4, "of the frames around, every so many-th may be chosen", unit="frames", minimum=1, maximum=1000
    )
    size: int = setting(
        480, "longest side of the picture at which all depths are tried", unit="px", minimum=32
    )
    fewest_steps: int = setting(48, "inverse depths to try, at least", minimum=4, maximum=1024)
    most_steps: int = setting(96, "inverse depths to try, at most", minimum=4, maximum=1024)
    best_share: float = setting(
        0.5, "share of the pictures, those that agree best, that counts", minimum=0.01, maximum=1
    )
    descriptor_radius: float = setting(
        4.0,
        "how far a descriptor reaches",
        unit="px of the small picture",
        symbol="R",
        minimum=1,
        maximum=100,
    )
    descriptor_rings: int = setting(2, "rings of a descriptor", symbol="Q", minimum=1, maximum=8)
    descriptor_angles: int = setting(4, "histograms on a ring", symbol="T", minimum=1, maximum=32)
    descriptor_cap: float = setting(
        0.11, "most that one histogram adds to the distance, of at most 2", minimum=1e-6, maximum=2
    )
    descriptor_noise: float = setting(
        0.01,
        "norm of a histogram that counts as noise, in a picture of ordinary contrast",
        unit="brightness per px",
        minimum=1e-6,
    )
    step: float = setting(0.12, "price of one step of depth between neighbours", minimum=0)
    jump: float = setting(2.0, "price of a jump; less across an edge of the picture", minimum=0)
    rounds: int = setting(3, "rounds of sharpening at full size", minimum=1, maximum=100)
    window: int = setting(9, "side of the window that is sharpened", unit="px", minimum=3, maximum=99)


@dataclass(frozen=True)
class RefineConfig(Stage):
    """Variational scene flow (paper, section 3.3 and appendix); colours as grey levels up to 255."""

    levels: int = setting(
        1,
        "levels of the pyramid, each half the size of the next; the paper starts at a quarter of the size: 3",
        minimum=1,
        maximum=8,
    )
    iterations: int = setting(
        5, "steps (new linearisation, new weights) on each level", minimum=1, maximum=1000
    )
    sweeps: int = setting(8, "sweeps of over-relaxation in each step", minimum=1, maximum=1000)
    relaxation: float = setting(1.95, "factor of the over-relaxation", minimum=0.1, maximum=1.99)
    weight_colour: float = setting(
        1.0, "weight of colour in the data terms over time", symbol="E_D1, E_D2", minimum=0
    )
    weight_gradient: float = setting(
        3.0, "weight of gradients in the data terms over time", symbol="E_D1, E_D2", minimum=0
    )
    weight_colour_stereo: float = setting(
        1.0, "weight of colour in the data terms between cameras", symbol="E_D3, E_D4", minimum=0
    )
    weight_gradient_stereo: float = setting(
        0.3, "weight of gradients in the data terms between cameras", symbol="E_D3, E_D4", minimum=0
    )
    weight_epipolar: float = setting(
        200.0,
        "weight of a pixel's distance from the epipolar line; 10 in the paper",
        unit="per px",
        symbol="alpha_i",
        minimum=0,
    )
    smoothness: tuple[float, ...] = setting(
        (150.0, 60.0, 200.0),
        "weights of the smoothness of u1, u2, u3; 31, 60, 200 in the paper",
        symbol="beta_1 .. beta_3",
        minimum=0,
    )
    epsilon: float = setting(
        1e-3, "root of the constant in the penaliser", symbol="epsilon", minimum=1e-6, maximum=100
    )
    contrast: float = setting(
        0.06,
        "difference of colour at which flow may change e times as steeply for the same price; 0: nowhere",
        unit="colour, 0..1",
        minimum=0,
    )
    slope: float = setting(
        5.0,
        "weight of a change of slope against one of flow; 0: every slope costs, as in the paper",
        unit="px",
        minimum=0,
    )
    blur: float = setting(
        0.8, "standard deviation of the blur against noise", unit="px", minimum=0, maximum=10
    )
    one_light: bool = setting(
        True, "brighten the darker of a camera's two pictures to the light of the other, if they differ"
    )
    furthest: float = setting(
        2.0, "furthest that a stereo match with some confidence is moved; 0: any", unit="px", minimum=0
    )
    polish: bool = setting(True, "then polish the optical flow once more by itself")

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

    threshold: float = setting(
        3.0, "forward-backward error above which a pixel counts as occluded", unit="px", minimum=0
    )
    same_depth: float = setting(
        0.02,
        "a stereo match that fails the check by little is seen if there and back it has one depth to this "
        "share; 0 for the check alone",
        minimum=0,
    )
    shown_depth: float = setting(
        0.05,
        "a completed pixel is seen after all if the other picture has its depth there, to this share; 0: not",
        minimum=0,
    )
    pictures_decide: bool = setting(
        True,
        "a stereo match that fails the check stays where it explains the pictures better than its completion",
    )
    planes: bool = setting(
        True, "planes of the scene go on where B does not show them and A over time knows nothing"
    )
    island: float = setting(
        2e-3,
        "smooth parts of what is seen that are smaller than this agree by chance",
        unit="share of the picture",
        minimum=0,
        maximum=1,
    )
    island_step: float = setting(
        2.0, "how far the flow of neighbours in one part may differ", unit="px", minimum=0
    )
    hole: float = setting(
        1e-4,
        "occluded parts that are smaller than this count as seen",
        unit="share of the picture",
        minimum=0,
        maximum=1,
    )
    closing: int = setting(
        0, "radius of the morphological closing of the mask; 0 for none", unit="px", minimum=0, maximum=50
    )
    method: str = setting(
        "laplacian",
        "how unknown flow is found: from colours, or by diffusion, the baseline of the paper's comparison",
        choices=("laplacian", "diffusion"),
    )
    epsilon: float = setting(
        1e-5,
        "weight of the norm of B (equation 8), for colours in 0..1",
        symbol="epsilon",
        minimum=1e-9,
    )
    weight_known: float = setting(
        5.0, "weight of the known flow (equation 10)", symbol="lambda", minimum=1e-3
    )
    ring: int = setting(
        5, "known pixels around the unknown ones that take part", unit="px", minimum=1, maximum=100
    )
    reweighted: int = setting(
        2, "how often windows where flow is no function of colour get less weight", minimum=0, maximum=20
    )
    misfit: float = setting(
        0.3, "misfit at which a window has half its weight", unit="px of the half-size picture", minimum=1e-3
    )
    direct_limit: int = setting(
        1_500_000,
        "pixels up to which the factor is kept; above, most of it is computed twice to save memory",
        unit="px",
        minimum=0,
    )
    trust_error: float = setting(
        3.0, "error to expect of filled flow at which it is trusted half", unit="px", minimum=0.1
    )


@dataclass(frozen=True)
class SyncConfig(Stage):
    """When: the offset between two clips. Not in the paper, whose videos were synchronised by hand."""

    use: str = setting(
        "both",
        "what is used: sound first and then pictures, or one of them alone",
        choices=("both", "sound", "pictures"),
    )
    refine: bool = setting(
        True,
        "make the offset that sound gives exact by geometry: sound travels only a third of a metre in 1 ms",
    )
    window: float = setting(
        30.0, "part of A that pictures are compared in, if it is longer", unit="s", minimum=1
    )
    largest_offset: float = setting(20.0, "largest offset that pictures are tried at", unit="s", minimum=0)
    trusted: float = setting(
        0.5,
        "confidence below which an answer is said to be uncertain, and sound gives way to pictures",
        minimum=0,
        maximum=1,
    )
    one_time: bool = setting(
        True, "bring what B shows to the times of A's pictures, from which B's are up to half a frame away"
    )


@dataclass(frozen=True)
class CalibrateConfig(Stage):
    """Where: lenses and poses by structure from motion (paper, section 3: "calibrate")."""

    size: int = setting(
        1280, "longer side of the pictures that points are looked for in", unit="px", minimum=160
    )
    features: int = setting(4000, "points looked for in each picture", minimum=100, maximum=30000)
    spacing: float = setting(
        0.04,
        "motion of the picture from key frame to key frame",
        unit="share of its width",
        minimum=1e-3,
        maximum=1,
    )
    longest_gap: int = setting(
        10, "pairs of frames between key frames when the cameras hardly move", unit="frames", minimum=1
    )
    fewest_keyframes: int = setting(8, "key frames at least", minimum=2)
    most_keyframes: int = setting(80, "key frames at most", minimum=2)
    dense_moments: int = setting(
        8, "key moments at which the cameras are matched densely", minimum=1, maximum=100
    )
    sparse_moments: int = setting(
        16, "key moments at which the cameras are matched sparsely", minimum=1, maximum=100
    )
    reach: int = setting(
        6, "key moments before and after its own at which a point is looked for", minimum=1, maximum=100
    )
    followed: int = setting(
        800, "points of a key frame that are followed into the frames between", minimum=20
    )
    readout: bool = setting(True, "look for the read-out of a rolling shutter that no lens file tells")
    smoothing: float = setting(
        0.0,
        "standard deviation over which poses are averaged; 0 leaves them as measured",
        unit="s",
        minimum=0,
    )
    seed: int = setting(
        0, "where chance starts: the same seed gives the same bits", minimum=0, maximum=2**31 - 1
    )


@dataclass(frozen=True)
class LiftConfig(Stage):
    """Depth and 3D motion."""

    still: float = setting(
        0.07,
        "distance of the optical flow from that of a static world at which half of it is taken; up to three "
        "times as much where poses are not that exact; 0: never, as in the paper",
        unit="px",
        minimum=0,
    )


@dataclass(frozen=True)
class Config:
    """All settings, stage by stage."""

    sync: SyncConfig = setting(SyncConfig(), "synchronisation")
    calibrate: CalibrateConfig = setting(CalibrateConfig(), "calibration")
    evidence: EvidenceConfig = setting(EvidenceConfig(), "evidence over time")
    match: MatchConfig = setting(MatchConfig(), "dense matching")
    fill: FillConfig = setting(FillConfig(), "occlusions and filling")
    refine: RefineConfig = setting(RefineConfig(), "refinement")
    lift: LiftConfig = setting(LiftConfig(), "depth and 3D motion")
