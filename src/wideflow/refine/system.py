"""The Gauss-Newton system of one pixel: names of its numbers, and the chain rule from places to flows.

The names are constants, which compiled loops fold.
"""

from wideflow.compiled import njit

# the three flows, two components each
U1X, U1Y, U2X, U2Y, U3X, U3Y = 0, 1, 2, 3, 4, 5
UNKNOWNS = 6

# weights of the data and epipolar terms
COLOUR, GRADIENT = 0, 1  # over time
STEREO_COLOUR, STEREO_GRADIENT = 2, 3  # between the cameras
ALPHA, EPSILON = 4, 5
LATE_B, LATE_A = 6, 7  # shares of their ways by which p2 and p1 are moved before epipolar terms judge them

# Gauss-Newton system over the places p1, p2, p3. The terms never compare p1 with p2.
P1_XX, P1_XY, P1_YY = 0, 1, 2  # upper triangles of the blocks on the diagonal
P2_XX, P2_XY, P2_YY = 3, 4, 5
P3_XX, P3_XY, P3_YY = 6, 7, 8
P1P3_XX, P1P3_XY, P1P3_YX, P1P3_YY = 9, 10, 11, 12  # of p1's component with p3's
P2P3_XX, P2P3_XY, P2P3_YX, P2P3_YY = 13, 14, 15, 16
P1_X, P1_Y, P2_X, P2_Y, P3_X, P3_Y = 17, 18, 19, 20, 21, 22  # right-hand side
PLACES = 23

# The same over the flows: upper triangle of the 6 x 6 matrix by rows, then the right-hand side.
U1X_U1X, U1X_U1Y, U1X_U2X, U1X_U2Y, U1X_U3X, U1X_U3Y = 0, 1, 2, 3, 4, 5
U1Y_U1Y, U1Y_U2X, U1Y_U2Y, U1Y_U3X, U1Y_U3Y = 6, 7, 8, 9, 10
U2X_U2X, U2X_U2Y, U2X_U3X, U2X_U3Y = 11, 12, 13, 14
U2Y_U2Y, U2Y_U3X, U2Y_U3Y = 15, 16, 17
U3X_U3X, U3X_U3Y, U3Y_U3Y = 18, 19, 20
RIGHT = 21
SYSTEM = RIGHT + UNKNOWNS


@njit(inline="always")
def to_flows(places, system, y, x):
    """From places to flows: p1 = u1, p2 = u2, p3 = u1 + u2 + u3."""
    s = system[y, x]
    # u1 with u1, u2, u3
    s[U1X_U1X] = places[P1_XX] + 2 * places[P1P3_XX] + places[P3_XX]
    s[U1X_U1Y] = places[P1_XY] + places[P1P3_XY] + places[P1P3_YX] + places[P3_XY]
    s[U1X_U2X] = places[P1P3_XX] + places[P2P3_XX] + places[P3_XX]
    s[U1X_U2Y] = places[P1P3_XY] + places[P2P3_YX] + places[P3_XY]
    s[U1X_U3X] = places[P1P3_XX] + places[P3_XX]
    s[U1X_U3Y] = places[P1P3_XY] + places[P3_XY]
    s[U1Y_U1Y] = places[P1_YY] + 2 * places[P1P3_YY] + places[P3_YY]
    s[U1Y_U2X] = places[P1P3_YX] + places[P2P3_XY] + places[P3_XY]
    s[U1Y_U2Y] = places[P1P3_YY] + places[P2P3_YY] + places[P3_YY]
    s[U1Y_U3X] = places[P1P3_YX] + places[P3_XY]
    s[U1Y_U3Y] = places[P1P3_YY] + places[P3_YY]
    # u2 with u2, u3
    s[U2X_U2X] = places[P2_XX] + 2 * places[P2P3_XX] + places[P3_XX]
    s[U2X_U2Y] = places[P2_XY] + places[P2P3_XY] + places[P2P3_YX] + places[P3_XY]
    s[U2X_U3X] = places[P2P3_XX] + places[P3_XX]
    s[U2X_U3Y] = places[P2P3_XY] + places[P3_XY]
    s[U2Y_U2Y] = places[P2_YY] + 2 * places[P2P3_YY] + places[P3_YY]
    s[U2Y_U3X] = places[P2P3_YX] + places[P3_XY]
    s[U2Y_U3Y] = places[P2P3_YY] + places[P3_YY]
    # u3 with u3
    s[U3X_U3X] = places[P3_XX]
    s[U3X_U3Y] = places[P3_XY]
    s[U3Y_U3Y] = places[P3_YY]
    s[RIGHT + U1X] = places[P1_X] + places[P3_X]
    s[RIGHT + U1Y] = places[P1_Y] + places[P3_Y]
    s[RIGHT + U2X] = places[P2_X] + places[P3_X]
    s[RIGHT + U2Y] = places[P2_Y] + places[P3_Y]
    s[RIGHT + U3X] = places[P3_X]
    s[RIGHT + U3Y] = places[P3_Y]
