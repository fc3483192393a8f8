"""A small HTTP/3 client on aioquic, in the hands of its test."""

import asyncio
import contextlib
import types

import aioquic.asyncio
import aioquic.asyncio.protocol
import aioquic.h3.connection
import aioquic.h3.events
import aioquic.quic.configuration
import aioquic.quic.events

from http_case import GUARD_SECONDS

CANCELLED = 0x10C


class Http3(aioquic.asyncio.protocol.QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = aioquic.h3.connection.H3Connection(self._quic)
        self.answers = {}

    def request(self, method, path, body=b"", fields=(), ends=True, authority="localhost"):
        stream = self._quic.get_next_available_stream_id()
        self.answers[stream] = types.SimpleNamespace(
            status=0, headers={}, body=b"", is_reset=False, ended=asyncio.Event())
        headers = [(":method", method), (":scheme", "https"), (":authority", authority),
                   (":path", path), *fields]
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        self.http.send_headers(stream, encoded, end_stream=not body and ends)
        if body:
            self.http.send_data(stream, body, end_stream=ends)
        self.transmit()
        return stream

    async def wait(self, stream):
        answer = self.answers[stream]
        await asyncio.wait_for(answer.ended.wait(), GUARD_SECONDS)
        return answer

    async def fetch(self, *arguments, **options):
        return await self.wait(self.request(*arguments, **options))

    async def has(self, stream, size):
        """Waits until so much of the answer's body is there."""
        async with asyncio.timeout(GUARD_SECONDS):
            while len(self.answers[stream].body) < size:
                await asyncio.sleep(0.001)

    def stop(self, stream):
        self._quic.stop_stream(stream, CANCELLED)
        self.transmit()

    def stop_reading(self):
        """Gives streams no more room; the connection's own is not used up by one of them."""
        self._quic._write_stream_limits = lambda **_: None

    def read_on(self):
        del self._quic._write_stream_limits
        self.transmit()

    async def move(self):
        """Goes on from another address, as a telephone that changes its network."""
        before = self._transport
        await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: self, local_addr=before.get_extra_info("sockname")[:1] + (0,))
        assert self._transport is not before
        before.abort()
        self.change_connection_id()

    def quic_event_received(self, event):
        if isinstance(event, aioquic.quic.events.StreamReset) and event.stream_id in self.answers:
            self.answers[event.stream_id].is_reset = True
            self.answers[event.stream_id].ended.set()
        if isinstance(event, aioquic.quic.events.ConnectionTerminated):
            for answer in self.answers.values():
                answer.is_reset |= not answer.ended.is_set()
                answer.ended.set()
        for item in self.http.handle_event(event):
            answer = self.answers.get(item.stream_id)
            if isinstance(item, aioquic.h3.events.HeadersReceived):
                answer.headers = {name.decode(): value.decode() for name, value in item.headers}
                answer.status = int(answer.headers[":status"])
            elif isinstance(item, aioquic.h3.events.DataReceived):
                answer.body += item.data
            if getattr(item, "stream_ended", False):
                answer.ended.set()


@contextlib.asynccontextmanager
async def connected(server):
    configuration = aioquic.quic.configuration.QuicConfiguration(
        is_client=True, alpn_protocols=["h3"], server_name="localhost")
    configuration.load_verify_locations(str(server.folder / "certificate.pem"))
    async with aioquic.asyncio.connect("127.0.0.1", server.port, configuration=configuration,
                                       create_protocol=Http3) as client:
        yield client
