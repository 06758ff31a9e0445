"""Many requests over a few connections, with nothing but asyncio: for load that costs little."""

from __future__ import annotations

import asyncio
import json

LONGEST = 600.0
"""Seconds after which a server that does not answer is given up."""


async def send_one(reader, writer, method, path, headers, body):
    """Send one request over an open connection; give status and body."""
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode() + body)
    status = int((await reader.readline()).split()[1])
    size, chunked = 0, False
    while (line := await reader.readline()) not in {b"\r\n", b""}:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
        chunked |= name.lower() == b"transfer-encoding"
    assert not chunked
    return status, await reader.readexactly(size)


async def _lane(port, requests, found):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while requests:
            place, (method, path, headers, body) = requests.pop()
            found[place] = await send_one(reader, writer, method, path, headers, body)
    finally:
        writer.close()


def send_all(port, requests, lanes=8):
    """Send requests (method, path, headers, body) over some connections; give all answers."""
    waiting = list(enumerate(requests))[::-1]
    found = [None] * len(waiting)

    async def run():
        async with asyncio.timeout(LONGEST):
            await asyncio.gather(*(_lane(port, waiting, found) for _ in range(lanes)))

    asyncio.run(run())
    return found


async def _stubborn(port, requests, found):
    """Send what has to be sent, again where the server died over it or its worker is just dead."""
    for place, (method, path, headers, body) in requests:
        for _ in range(1000):
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
                continue
            try:
                async with asyncio.timeout(60):
                    status, told = await send_one(reader, writer, method, path, headers, body)
            except (OSError, asyncio.IncompleteReadError, IndexError, TimeoutError):
                continue
            finally:
                writer.close()
            if b"under-way" not in told:
                break
            await asyncio.sleep(0.1)
        found[place] = status, told


def send_stubbornly(port, requests, lanes=8):
    """Send requests to a server that is being killed, until each has an answer; give them."""
    requests, found = iter(enumerate(requests)), {}

    async def run():
        async with asyncio.timeout(LONGEST):
            await asyncio.gather(*(_stubborn(port, requests, found) for _ in range(lanes)))

    asyncio.run(run())
    return [found[place] for place in sorted(found)]


def question(dataset, token, sql, epsilon, wait=20):
    """Give the request that asks a question."""
    body = json.dumps({"question": sql, "price": {"epsilon": epsilon}}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if wait:
        headers["Prefer"] = f"wait={wait}"
    return "POST", f"/api/v1/datasets/{dataset}/questions", headers, body
