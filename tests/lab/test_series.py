"""What a comparison may claim of the map, question by question."""

from __future__ import annotations

from peek_core.lab.series import MapUse, Played, map_use


def answer(id: str, look_ups: int, version: int = 1, items: tuple[str, ...] = ()) -> Played:
    return Played(id, "q", "S", "right", "a", "run", 1, look_ups, 10, 1, version, items)


def test_hit_missed_and_found_again() -> None:
    with_map = [answer("q1", 2, version=0), answer("q2", 0, items=("cr-1",)), answer("q3", 1, items=("cr-1",))]
    without = [answer("q1", 2), answer("q2", 1), answer("q3", 1)]
    assert map_use(with_map, without) == MapUse(hit=("q2", "q3"), missed=("q3",), found_again=("q2",))


def test_an_empty_map_can_neither_hit_nor_miss_and_open_pairs_do_not_count() -> None:
    assert map_use([answer("q1", 3, version=0), answer("q2", 0)], [answer("q1", 3)]) == MapUse((), (), ())
