"""What only some mixes draw: retention, two instances, long transactions."""

from sim.simulate.scenario.generate import Mix, generate

SEEDS = range(40)


def test_old_segments_are_deleted_by_age_by_size_or_by_both() -> None:
    mix = Mix(retention=1.0)
    topics = [generate(seed, mix).topic for seed in SEEDS]

    assert all(topic.deletes for topic in topics)
    bounds = {(topic.retention_ms is None, topic.retention_bytes is None) for topic in topics}
    assert bounds == {(True, False), (False, True), (False, False)}


def test_a_second_instance_takes_over() -> None:
    mix = Mix(instances=1.0, transactional=1.0, producers=(2, 3))
    for seed in SEEDS:
        drawn = generate(seed, mix)
        first, second = (
            [send.at_ms for send in drawn.workload.sends if send.producer == number]
            for number in (1, 2)
        )

        assert drawn.workload.instances == ((2, 1),)
        assert min(second) + 2_500 > max(first)


def test_long_transactions_are_longer_than_others() -> None:
    def longest(mix: Mix) -> int:
        sizes: dict[tuple[int, int, int], int] = {}
        for seed in SEEDS:
            for send in generate(seed, mix).workload.sends:
                if send.transaction:
                    key = (seed, send.producer, send.transaction)
                    sizes[key] = sizes.get(key, 0) + 1
        return max(sizes.values())

    assert longest(Mix(transactional=1.0)) <= 6
    assert longest(Mix(transactional=1.0, long_transactions=1.0)) > 30
