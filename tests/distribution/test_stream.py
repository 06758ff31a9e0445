"""The stream: never shared, never repeated, new after a fork, reproducible only on request."""

import multiprocessing
import os
import threading

import numpy as np
import pytest

from sfumato.dp import noise


def test_threads_draw_from_different_streams():
    seen = {}

    def draw(name):
        seen[name] = (id(noise.stream()), noise.stream().bytes(32))

    threads = [threading.Thread(target=draw, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({data for _, data in seen.values()}) == 8
    assert noise.stream() is noise.stream()


def test_a_stream_refuses_another_thread():
    mine = noise.stream()
    caught = []

    def misuse():
        try:
            mine.bytes(8)
        except RuntimeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=misuse)
    thread.start()
    thread.join()
    assert caught
    assert "one thread" in caught[0]


def _child(connection, held):
    connection.send((held.bytes(64), noise.stream().bytes(64)))
    connection.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_has_new_keys_even_for_a_stream_it_holds():
    held = noise.stream()
    held.bytes(1)
    context = multiprocessing.get_context("fork")
    drawn = []
    for _ in range(2):
        mine, theirs = context.Pipe()
        process = context.Process(target=_child, args=(theirs, held))
        process.start()
        drawn += mine.recv()
        process.join()
    drawn.append(held.bytes(64))
    assert len(set(drawn)) == 5


def test_a_fork_without_multiprocessing_has_new_keys_too():
    noise.stream().bytes(1)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, noise.stream().bytes(32))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 32) != noise.stream().bytes(32)


def test_bytes_are_served_once_and_arrays_are_fresh():
    source = noise.stream()
    chunks = [source.bytes(32) for _ in range(200)] + [
        source.uint64(4).tobytes() for _ in range(200)
    ]
    assert len(set(chunks)) == 400
    first = source.uint64(1000)
    copy = first.copy()
    source.uint64(1000)
    assert np.array_equal(first, copy)


def test_large_requests_are_continuous_and_not_repeating():
    with noise.insecure_seeded(5) as source:
        whole = source.bytes(300_000)
    with noise.insecure_seeded(5) as source:
        parts = b"".join(source.bytes(n) for n in (7, 65_536, 100_000, 134_457))
    with noise.insecure_seeded(5) as source:
        words = source.uint64(37_500)
    assert whole == parts == words.tobytes()
    blocks = {whole[i : i + 16] for i in range(0, 300_000, 16)}
    assert len(blocks) == 300_000 // 16


def test_the_seeded_stream_is_named_and_reproducible_and_ends_with_its_block():
    with noise.insecure_seeded(1) as source:
        first = noise.discrete_laplace(3, 50)
        assert not source.secure
    with noise.insecure_seeded(1):
        again = noise.discrete_laplace(3, 50)
    with noise.insecure_seeded(2):
        other = noise.discrete_laplace(3, 50)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert noise.stream().secure
    assert not np.array_equal(noise.discrete_laplace(3, 50), first)


def test_bits_of_any_length_are_uniform():
    source = noise.stream()
    assert source.bits(0) == 0
    for length in (1, 7, 8, 13, 64, 200):
        values = [source.bits(length) for _ in range(2000)]
        assert max(values) < 1 << length
        ones = sum(value.bit_count() for value in values)
        trials = 2000 * length
        assert abs(ones - trials / 2) < 6 * (trials / 4) ** 0.5
