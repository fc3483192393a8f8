"""The cases of http_clients.py that speak HTTP/3."""

import asyncio
import functools

from http3_client import connected
from http_case import MIB, case


def http3_case(**options):
    """A case of one client and a server that is started with these options."""
    def keep(scenario):
        @functools.wraps(scenario)
        def run(start):
            async def talk(server):
                async with connected(server) as client:
                    await scenario(server, client)
            with start(tls=True, **options) as server:
                asyncio.run(talk(server))
        return case(run)
    return keep


@http3_case(body_bytes=MIB, header_bytes=2000, target_bytes=300)
async def http3_serves_and_limits(server, client):
    answers = await asyncio.gather(*[client.fetch("POST", f"/echo?{i}", b"%d" % i)
                                     for i in range(100)])
    for i, answer in enumerate(answers):
        assert answer.body == b"%d" % i and answer.headers["x-version"] == "3"
        assert answer.headers["x-seen-host"] == "localhost" and "date" in answer.headers
    big = bytes(range(256)) * 4096
    assert (await client.fetch("POST", "/echo", big)).body == big
    # aioquic takes an answer to HEAD for a broken one when that tells its length.
    head = await client.fetch("HEAD", "/stream")
    assert head.status == 200 and head.body == b""
    body = (await client.fetch("GET", "/stream?n=1000")).body
    assert body.endswith(b"data: 999\n\n")
    for path, fields, status in [("/" + "a" * 300, [], 414), ("/hello", ["a" * 2000], 431)]:
        answer = await client.fetch("GET", path, fields=[("x", f) for f in fields])
        assert answer.status == status, (path, answer.status)
    assert (await client.fetch("POST", "/echo", bytes(big + b"x"))).status == 413


@http3_case(body_seconds=0.2)
async def http3_slow_bodies_end(server, client):
    assert (await client.fetch("POST", "/echo", b"x", ends=False)).status == 408


@http3_case()
async def http3_clients_that_leave_are_noticed(server, client):
    for path in ("/hang", "/drip"):
        stream = client.request("GET", path)
        await asyncio.to_thread(server.line, f"held {path}")
        client.stop(stream)
        await asyncio.to_thread(server.line, f"gone {path}")
    client.request("GET", "/hang")
    await asyncio.to_thread(server.line, "held /hang")
    client.close()
    await asyncio.to_thread(server.line, "gone /hang")


@http3_case(buffer_bytes=65536)
async def http3_slow_streams_stall_only_themselves(server, client):
    client.stop_reading()
    slow = client.request("GET", "/pump?n=1500&size=1000")
    assert (await client.fetch("GET", "/hello")).body == b"hello"
    await client.has(slow, MIB // 2)
    assert not client.answers[slow].ended.is_set()
    client.read_on()
    assert len((await client.wait(slow)).body) == 1_500_000
    most = int((await asyncio.to_thread(server.line, "pump left 0")).rpartition(" ")[2])
    assert most <= 65536 + 1000, most


@http3_case(buffer_bytes=65536, write_seconds=0.4)
async def http3_readers_that_take_nothing_are_cut(server, client):
    client.stop_reading()
    stuck = client.request("GET", "/pump?n=5000&size=1000")
    await asyncio.to_thread(server.line, "pump cut")
    assert (await client.wait(stuck)).is_reset
    assert (await client.fetch("GET", "/hello")).body == b"hello"


@http3_case()
async def http3_clients_may_change_their_address(server, client):
    count = 50000
    client.stop_reading()
    stream = client.request("GET", f"/stream?n={count}")
    answer = client.answers[stream]
    for share in (MIB // 8, MIB // 4, MIB // 2):
        await client.has(stream, share)
        await client.move()
        assert (await client.fetch("GET", "/hello")).body == b"hello"
    assert not answer.ended.is_set()
    client.read_on()
    whole = b"".join(b"event: piece\ndata: %d\n\n" % i for i in range(count))
    assert (await client.wait(stream)).body == whole


@http3_case()
async def http3_broken_answers_look_broken(server, client):
    broken = client.request("GET", "/broken")
    await asyncio.to_thread(server.line, "held /broken")
    await client.fetch("GET", "/break")
    assert (await client.wait(broken)).is_reset
