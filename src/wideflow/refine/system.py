"""The Gauss-Newton system of a pixel: names of its numbers, and the chain rule from places to flows.

The names are constants, which compiled loops fold: offsets in the layout of `lanes`, where each number is
that of `LANES` pixels.
"""

from wideflow.compiled import kernel
from wideflow.refine.lanes import LANES

# weights of the data and epipolar terms
COLOUR, GRADIENT = 0, 1  # over time
STEREO_COLOUR, STEREO_GRADIENT = 2, 3  # between the cameras
ALPHA, EPSILON = 4, 5
LATE_B, LATE_A = 6, 7  # shares of their ways by which p2 and p1 are moved before epipolar terms judge them

# the three flows, two components each, and the three places
UNKNOWNS = 6
U1X, U1Y, U2X, U2Y, U3X, U3Y = range(0, UNKNOWNS * LANES, LANES)
P1, P2, P3 = 0, 1, 2

# Gauss-Newton system over a pair of places, p1 or p2 and then p3: the terms never compare p1 with p2.
PAIR = 14
_PAIR = range(0, PAIR * LANES, LANES)
P_XX, P_XY, P_YY, Q_XX, Q_XY, Q_YY = _PAIR[:6]  # upper triangles of the blocks on the diagonal
PQ_XX, PQ_XY, PQ_YX, PQ_YY = _PAIR[6:10]  # of p's component with q's
P_X, P_Y, Q_X, Q_Y = _PAIR[10:]  # right-hand side

# Gauss-Newton system over the flows: upper triangle of the 6 x 6 matrix by rows, then the right-hand side.
MATRIX = UNKNOWNS * (UNKNOWNS + 1) // 2
SYSTEM = MATRIX + UNKNOWNS
RIGHT = MATRIX * LANES
_MATRIX = range(0, RIGHT, LANES)
U1X_U1X, U1X_U1Y, U1X_U2X, U1X_U2Y, U1X_U3X, U1X_U3Y = _MATRIX[:6]
U1Y_U1Y, U1Y_U2X, U1Y_U2Y, U1Y_U3X, U1Y_U3Y = _MATRIX[6:11]
U2X_U2X, U2X_U2Y, U2X_U3X, U2X_U3Y = _MATRIX[11:15]
U2Y_U2Y, U2Y_U3X, U2Y_U3Y = _MATRIX[15:18]
U3X_U3X, U3X_U3Y, U3Y_U3Y = _MATRIX[18:]


@kernel()
def to_flows(pairs, s, i):
    """From places to flows: p1 = u1, p2 = u2, p3 = u1 + u2 + u3.

    ``pairs`` are the systems of p1 with p3 and of p2 with p3; position i of the row ``s`` is filled.
    """
    for n in range(LANES):
        xx, xy, yy = (
            pairs[P1, Q_XX + n] + pairs[P2, Q_XX + n],
            pairs[P1, Q_XY + n] + pairs[P2, Q_XY + n],
            pairs[P1, Q_YY + n] + pairs[P2, Q_YY + n],
        )
        m1xx, m1xy, m1yx, m1yy = (
            pairs[P1, PQ_XX + n],
            pairs[P1, PQ_XY + n],
            pairs[P1, PQ_YX + n],
            pairs[P1, PQ_YY + n],
        )
        m2xx, m2xy, m2yx, m2yy = (
            pairs[P2, PQ_XX + n],
            pairs[P2, PQ_XY + n],
            pairs[P2, PQ_YX + n],
            pairs[P2, PQ_YY + n],
        )
        # u1 with u1, u2, u3
        s[i, U1X_U1X + n] = pairs[P1, P_XX + n] + m1xx + m1xx + xx
        s[i, U1X_U1Y + n] = pairs[P1, P_XY + n] + m1xy + m1yx + xy
        s[i, U1X_U2X + n] = m1xx + m2xx + xx
        s[i, U1X_U2Y + n] = m1xy + m2yx + xy
        s[i, U1X_U3X + n] = m1xx + xx
        s[i, U1X_U3Y + n] = m1xy + xy
        s[i, U1Y_U1Y + n] = pairs[P1, P_YY + n] + m1yy + m1yy + yy
        s[i, U1Y_U2X + n] = m1yx + m2xy + xy
        s[i, U1Y_U2Y + n] = m1yy + m2yy + yy
        s[i, U1Y_U3X + n] = m1yx + xy
        s[i, U1Y_U3Y + n] = m1yy + yy
        # u2 with u2, u3
        s[i, U2X_U2X + n] = pairs[P2, P_XX + n] + m2xx + m2xx + xx
        s[i, U2X_U2Y + n] = pairs[P2, P_XY + n] + m2xy + m2yx + xy
        s[i, U2X_U3X + n] = m2xx + xx
        s[i, U2X_U3Y + n] = m2xy + xy
        s[i, U2Y_U2Y + n] = pairs[P2, P_YY + n] + m2yy + m2yy + yy
        s[i, U2Y_U3X + n] = m2yx + xy
        s[i, U2Y_U3Y + n] = m2yy + yy
        # u3 with u3
        s[i, U3X_U3X + n] = xx
        s[i, U3X_U3Y + n] = xy
        s[i, U3Y_U3Y + n] = yy
        x, y = pairs[P1, Q_X + n] + pairs[P2, Q_X + n], pairs[P1, Q_Y + n] + pairs[P2, Q_Y + n]
        s[i, RIGHT + U1X + n] = pairs[P1, P_X + n] + x
        s[i, RIGHT + U1Y + n] = pairs[P1, P_Y + n] + y
        s[i, RIGHT + U2X + n] = pairs[P2, P_X + n] + x
        s[i, RIGHT + U2Y + n] = pairs[P2, P_Y + n] + y
        s[i, RIGHT + U3X + n] = x
        s[i, RIGHT + U3Y + n] = y
