"""The stream: never shared, never repeated, new after a fork, reproducible only on request."""

import asyncio
import gc
import multiprocessing
import os
import threading

import numpy as np
import pytest

from sfumato.dp import noise
from sfumato.dp.noise.stream import Stream, keyed

pytestmark = pytest.mark.fresh_noise


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
        gc.freeze()  # what the parent holds is not for the child to finalise
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


@pytest.mark.parametrize(
    "replaced",
    [lambda: noise.insecure_seeded(1), lambda: keyed(bytes(32))],
    ids=["seeded", "keyed"],
)
def test_a_replaced_stream_does_not_reach_other_coroutines(replaced):
    seen = {}

    async def waits_inside(name, entered, leave):
        with replaced() as source:
            seen[name] = noise.stream() is source
            entered.set()
            await leave.wait()
            seen[f"{name} still"] = noise.stream() is source
        seen[f"{name} after"] = type(noise.stream()) is Stream

    async def main():
        entered = [asyncio.Event(), asyncio.Event()]
        leave = [asyncio.Event(), asyncio.Event()]
        tasks = [asyncio.create_task(waits_inside(i, entered[i], leave[i])) for i in range(2)]
        for event in entered:
            await event.wait()
        seen["victim"] = type(noise.stream()) is Stream
        leave[0].set()  # the first to enter leaves first: not the order of a stack
        await tasks[0]
        leave[1].set()
        await tasks[1]
        seen["victim after"] = type(noise.stream()) is Stream

    asyncio.run(main())
    assert len(seen) == 8
    assert all(seen.values())


def test_a_task_or_thread_started_inside_a_block_does_not_keep_its_seed():
    kinds = []

    async def outlives(leave):
        kinds.append(type(noise.stream()))
        await leave.wait()
        kinds.append(type(noise.stream()))

    async def main():
        leave = asyncio.Event()
        with noise.insecure_seeded(1):
            task = asyncio.create_task(outlives(leave))
            await asyncio.sleep(0)
            kinds.append(await asyncio.to_thread(lambda: type(noise.stream())))
        leave.set()
        await task

    asyncio.run(main())
    inside, other_thread, after = kinds
    assert not inside.secure  # it was started to be reproducible
    assert other_thread is after is Stream


def test_blocks_nest_and_serve_as_decorators():
    with noise.insecure_seeded(1) as outer:
        with noise.insecure_seeded(2) as inner:
            assert noise.stream() is inner
        assert noise.stream() is outer

    @noise.insecure_seeded(3)
    def drawn():
        return noise.stream().bytes(16)

    assert drawn() == drawn()
    assert noise.stream().secure


def test_bits_of_any_length_are_uniform():
    source = noise.stream()
    assert source.bits(0) == 0
    for length in (1, 7, 8, 13, 64, 200):
        values = [source.bits(length) for _ in range(2000)]
        assert max(values) < 1 << length
        ones = sum(value.bit_count() for value in values)
        trials = 2000 * length
        assert abs(ones - trials / 2) < 6 * (trials / 4) ** 0.5
