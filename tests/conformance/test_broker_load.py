"""What is written to a real broker covers every kind of producer, and is the same for a seed."""

from tests.conformance.broker_load import (
    IDEMPOTENT,
    PLAIN,
    TRANSACTIONAL,
    End,
    Load,
    Operation,
    Send,
    settings_of,
)


def undecided(operations: list[Operation]) -> list[str]:
    """Producers whose transaction is open after these, in the order in which they began."""
    begun: list[str] = []
    for operation in operations:
        if isinstance(operation, End):
            begun.remove(operation.producer)
        elif operation.producer in TRANSACTIONAL and operation.producer not in begun:
            begun.append(operation.producer)
    return begun


def test_the_same_seed_writes_the_same() -> None:
    assert Load(7).some(40) == Load(7).some(40)
    assert Load(7).some(40) != Load(8).some(40)


def test_every_transaction_is_ended() -> None:
    assert undecided(Load(1).some(50)) == []


def test_one_transaction_is_left_open_from_the_first_batch_on() -> None:
    load = Load(1)

    operations = load.left_open(20)
    left = undecided(operations)

    assert isinstance(operations[0], Send)
    assert left == [operations[0].producer]
    assert undecided([*operations, *load.end_open(commit=False)]) == []
    assert load.end_open(commit=False) == []


def test_a_long_load_has_producers_commits_aborts_and_deletes_of_all_kinds() -> None:
    operations = Load(3).some(200)
    sends = [each for each in operations if isinstance(each, Send)]

    assert {each.producer for each in sends} == {PLAIN, *IDEMPOTENT, *TRANSACTIONAL}
    assert {each.commit for each in operations if isinstance(each, End)} == {True, False}
    assert any(value is None for each in sends for _, value in each.content)
    assert any(len(each.content) > 1 for each in sends)
    assert all(key is not None for each in sends for key, _ in each.content)


def test_only_a_topic_that_is_not_compacted_yet_gets_records_without_a_key() -> None:
    sends = [each for each in Load(3).some(100, unkeyed=True) if isinstance(each, Send)]

    without = [each for each in sends if any(key is None for key, _ in each.content)]

    assert without
    assert {each.producer for each in without} == {PLAIN}


def test_producers_are_what_their_names_say() -> None:
    assert settings_of(PLAIN) == {"enable.idempotence": "false"}
    assert settings_of(IDEMPOTENT[0]) == {"enable.idempotence": "true"}
    assert settings_of(TRANSACTIONAL[0])["transactional.id"] == TRANSACTIONAL[0]
