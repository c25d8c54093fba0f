"""Latin squares: the law on order 4, the moves on orders up to 50, and the designs read off them."""

import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2
from tests.reference import latin_slow as slow

from maxentry.design import latin
from maxentry.errors import ParameterError
from maxentry.kernels.design import Square, cyclic_square, move_square, walk_squares

# All chi-square tests are at this level: one right sampler in ten thousand would fail, at a fixed seed.
LEVEL = 1e-4
SQUARES = {square.tobytes(): k for k, square in enumerate(slow.all_squares(4))}


def is_latin(square):
    m = len(square)
    return all(
        (np.sort(square, axis) == np.arange(m).reshape((-1, 1)[:: 1 - 2 * axis])).all() for axis in (0, 1)
    )


def cube_of(square):
    """The cube that the compiled lines stand for, with the -1 and the second ones of its lines."""
    cube = slow.cube_of(square.symbol)
    if square.hole[0] >= 0:
        r, c, s, _, _, s2 = square.hole
        cube[r, c, s] -= 1
        cube[r, c, s2] += 1
    return cube


def excess(counts, cells):
    """Chi-square statistic over its critical value: above 1 the counts are not those of a uniform law."""
    observed = np.bincount(counts, minlength=cells)
    expected = len(counts) / cells
    return ((observed - expected) ** 2 / expected).sum() / chi2.isf(LEVEL, cells - 1)


def drawn(draw, n, seed=1):
    rng = np.random.default_rng(seed)
    return [SQUARES[draw(rng).tobytes()] for _ in range(n)]


def by_walk(rng):
    square = cyclic_square(4)
    walk_squares(square, 80, rng)
    return square.symbol


@njit
def move_on(square, moves, rng):
    while moves > 0 or square.hole[0] >= 0:
        move_square(square, rng)
        moves -= 1


def by_number_of_moves(rng):
    """The first proper square after 200 moves: what is often done, and wrong."""
    square = cyclic_square(4)
    move_on(square, 200, rng)
    return square.symbol


def met_refusing_improper(m, moves):
    """The squares that a chain meets if it takes back every move to an improper one."""
    rng = np.random.default_rng(2)
    square, met = cyclic_square(m), set()
    for _ in range(moves):
        tried = Square(*(lines.copy() for lines in square))
        move_square(tried, rng)
        square = tried if tried.hole[0] < 0 else square
        met.add(square.symbol.tobytes())
    return met


def test_there_are_576_squares_of_order_4():
    assert len(SQUARES) == 576


@pytest.mark.parametrize("draw", [by_walk, lambda rng: latin.random_square(4, rng)])
def test_the_chain_reaches_all_squares_of_order_4_equally_often(draw):
    squares = drawn(draw, 20 * 576)
    assert len(set(squares)) == 576
    assert excess(squares, 576) < 1


def test_the_check_of_the_law_can_fail():
    assert excess(drawn(by_number_of_moves, 20 * 576), 576) > 1


def test_too_short_a_chain_is_seen():
    def short(rng):
        square = cyclic_square(4)
        walk_squares(square, 4, rng)
        return square.symbol

    assert excess(drawn(short, 20 * 576), 576) > 1


def test_improper_squares_are_needed():
    # Without them only intercalates can be switched, and the cyclic square of order 5 has none
    assert slow.intercalates(cyclic_square(5).symbol) == 0
    assert met_refusing_improper(5, 1000) == {cyclic_square(5).symbol.tobytes()}
    rng = np.random.default_rng(2)
    square = cyclic_square(5)
    walk_squares(square, 1, rng)
    met = set()
    for _ in range(1000):
        walk_squares(square, 1, rng)
        met.add(square.symbol.tobytes())
    assert len(met) > 500


@pytest.mark.parametrize("m", [2, 3, 4, 5, 8, 13])
def test_moves_are_those_on_the_cube(m):
    square, cube, last = cyclic_square(m), slow.cube_of(cyclic_square(m).symbol), (-1, -1, -1)
    fast_rng, slow_rng = np.random.default_rng(m), np.random.default_rng(m)
    improper = 0
    for _ in range(400):
        move_square(square, fast_rng)
        last = slow.step(cube, last, slow_rng)
        assert np.array_equal(cube_of(square), cube)
        assert slow.lines_add_up(cube)
        improper += square.hole[0] >= 0
    assert (improper > 0) == (m > 2)


@pytest.mark.parametrize("m", [3, 10, 25, 50])
def test_lines_agree_and_add_up_at_every_move(m):
    rng = np.random.default_rng(m)
    square = cyclic_square(m)
    proper = 0
    for _ in range(8 * m):
        move_square(square, rng)
        cube = cube_of(square)
        assert slow.lines_add_up(cube)
        for of_row, index in ((square.col, (0, 2)), (square.row, (1, 2))):
            # each line's one is where the other two arrays say, the -1's three lines having two
            place = np.argwhere(cube == 1)
            other = ({0, 1, 2} - set(index)).pop()
            said = of_row[place[:, index[0]], place[:, index[1]]] == place[:, other]
            assert (~said).sum() == (square.hole[0] >= 0)
        if square.hole[0] < 0:
            assert is_latin(square.symbol)
            proper += 1
    assert proper > 0


@pytest.mark.parametrize("m", [1, 2, 3, 7, 20, 50])
def test_random_squares_are_latin(m):
    square = latin.random_square(m, np.random.default_rng(m))
    assert square.shape == (m, m)
    assert is_latin(square)


def test_the_check_of_latin_squares_can_fail():
    square = latin.random_square(5, np.random.default_rng(0))
    square[0, 0], square[0, 1] = square[0, 1], square[0, 0]
    assert not is_latin(square)
    assert not is_latin(np.tile(np.arange(4), (4, 1)))
    assert not is_latin(np.tile(np.arange(4), (4, 1)).T)


def mean_intercalates(m, visits, n):
    rng = np.random.default_rng(m)
    counts = [slow.intercalates(latin.random_square(m, rng, visits)) for _ in range(n)]
    return np.mean(counts), np.std(counts) / np.sqrt(n)


@pytest.mark.slow
def test_the_chain_is_long_enough_on_order_25():
    # Intercalates do not change when rows, columns and symbols do, so only the chain can make them right.
    # The cyclic square of odd order has none.
    default, a = mean_intercalates(25, None, 400)
    longer, b = mean_intercalates(25, 4 * (25**2 + 64), 400)
    short, c = mean_intercalates(25, 10, 400)
    assert abs(default - longer) < 4 * np.hypot(a, b)
    assert abs(short - longer) > 4 * np.hypot(c, b)


@pytest.mark.parametrize(("m", "k"), [(1, 1), (4, 0), (4, 3), (9, 2), (30, 7), (6, 6)])
def test_symbols_are_disjoint_permutations(m, k):
    entries = latin.draw_symbols(m, k, np.random.default_rng(3))
    assert np.unique(entries.keys(m)).size == k * m
    assert (np.bincount(entries.rows, minlength=m) == k).all()
    assert (np.bincount(entries.cols, minlength=m) == k).all()


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (9, 3), (10, 3), (3, 10), (5, 1), (1, 5), (59, 20)])
def test_stacked_squares_cover_both_sides(shape):
    entries = latin.stack_squares(shape, np.random.default_rng(4))
    assert len(entries.rows) == max(shape)
    for index, m in zip(entries, shape, strict=True):
        counts = np.bincount(index, minlength=m)
        assert counts.min() == max(shape) // m
        assert np.ptp(counts) <= 1


def columns_taken(stacked, seed, n=6000):
    rng = np.random.default_rng(seed)
    places = 3 ** np.arange(5)
    return [int(stacked((5, 3), rng).cols @ places) for _ in range(n)]


def test_stacked_has_the_law_of_literally_stacked_squares():
    # 5 x 3: a whole square (3! ways) and two rows of another (3!/1! ways)
    fast, literal = columns_taken(latin.stack_squares, 5), columns_taken(slow.stacked, 6)
    ways = sorted(set(literal))
    assert len(ways) == 36
    assert set(fast) == set(ways)
    assert excess(np.searchsorted(ways, fast), 36) < 1
    assert excess(np.searchsorted(ways, literal), 36) < 1


def test_the_same_generator_gives_the_same_square():
    draws = [latin.random_square(8, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])


def test_mistakes_are_told():
    rng = np.random.default_rng(0)
    with pytest.raises(
        ParameterError, match="k must be from 0 to 4, the symbols of a square of order 4, got 5"
    ):
        latin.draw_symbols(4, 5, rng)
    with pytest.raises(ParameterError, match="expected a shape"):
        latin.random_square(0, rng)
    with pytest.raises(ParameterError, match="visits"):
        latin.random_square(4, rng, visits=-1)
