"""Bytes that are no longer what they were: flipped, cut, doubled, spliced, or never were."""

from collections.abc import Sequence

from hypothesis import strategies as st

MAGIC = (b"", b"PAR1", b"{", b"[", b"---\n", b"PK\x03\x04", b"\x1f\x8b\x08\0", b"\xff\xfe", b"key,")


@st.composite
def damaged(draw: st.DrawFn, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """The content with some bytes wrong."""
    how = draw(
        st.sampled_from(("flip", "flip", "cut", "drop", "double", "splice", "insert", "new"))
    )
    if how == "new" or not content:
        return draw(anything())
    first = draw(st.integers(0, len(content) - 1))
    last = draw(st.integers(first, min(len(content), first + draw(st.sampled_from((4, 10**6))))))
    if how == "flip":
        result = bytearray(content)
        for _ in range(draw(st.integers(1, 3))):
            result[draw(st.integers(0, len(content) - 1))] ^= draw(st.integers(1, 255))
        return bytes(result)
    if how == "cut":
        return content[:first]
    if how == "drop":
        return content[:first] + content[last:]
    if how == "double":
        return content[:last] + content[first:]
    if how == "insert":
        return content[:first] + draw(st.binary(min_size=1, max_size=6)) + content[first:]
    other = draw(st.sampled_from(others)) if others else content
    return content[:first] + other[draw(st.integers(0, len(other))) :]


def anything() -> st.SearchStrategy[bytes]:
    """Bytes of no grammar, perhaps behind the first bytes of a format."""
    return st.builds(
        lambda magic, some, times: magic + some * times,
        st.sampled_from(MAGIC),
        st.binary(max_size=40),
        st.sampled_from((1, 1, 1, 50, 5_000)),
    )
