"""A small HTTP/2 client on one socket, in the hands of its test."""

import socket
import types

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from http_case import GUARD_SECONDS

FRAME_HEAD = 9
GOAWAY = 7


class Http2:
    def __init__(self, port, context=None):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=GUARD_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            context.set_alpn_protocols(["h2", "http/1.1"])
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
            assert self.socket.selected_alpn_protocol() == "h2"
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.state = h2.connection.H2Connection(config)
        self.state.initiate_connection()
        self.streams = {}
        self.is_closed = False
        self.is_reading = True
        self.received = b""
        self._flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def _flush(self):
        try:
            self.socket.sendall(self.state.data_to_send())
        except ConnectionError:
            self.is_closed = True

    def _begin(self, method, path, fields, is_whole, authority="localhost"):
        stream = self.state.get_next_available_stream_id()
        self.streams[stream] = types.SimpleNamespace(
            status=0, headers={}, body=b"", is_ended=False, is_reset=False)
        headers = [(":method", method), (":scheme", "http"), (":authority", authority),
                   (":path", path), *fields]
        self.state.send_headers(stream, headers, end_stream=is_whole)
        return stream

    def request(self, method, path, body=b"", fields=(), ends=True, authority="localhost"):
        stream = self._begin(method, path, fields, not body and ends, authority)
        self._flush()
        answer = self.streams[stream]
        while body and not answer.is_ended:
            window = self.state.local_flow_control_window(stream)
            size = min(window, self.state.max_outbound_frame_size, len(body))
            if size == 0:
                self._receive()
                continue
            try:
                self.state.send_data(stream, body[:size], end_stream=ends and size == len(body))
            except h2.exceptions.ProtocolError:
                break
            body = body[size:]
            self._flush()
        return stream

    def reset(self, stream):
        self.state.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self._flush()

    def reset_in_haste(self, count):
        """So many requests, each of which is reset with it, in one piece: none of them is looked at
        before its reset is there."""
        for _ in range(count):
            stream = self._begin("GET", "/hang", (), True)
            self.state.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        self._flush()

    def stop_reading(self):
        """Gives streams no more room; the connection keeps enough for others."""
        self.is_reading = False
        self.state.increment_flow_control_window(1 << 20)
        self._flush()

    def read_on(self):
        self.is_reading = True
        for stream, answer in self.streams.items():
            if not answer.is_ended and answer.body:
                self.state.increment_flow_control_window(len(answer.body), stream)
        self._flush()

    def _receive(self):
        data = b""
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            pass
        if not data:
            self.is_closed = True
            for answer in self.streams.values():
                answer.is_reset |= not answer.is_ended
                answer.is_ended = True
            return
        self.received += data
        while (frame := self._next_frame()) is not None:
            for event in self.state.receive_data(frame):
                self._handle(event)
        self._flush()

    def _next_frame(self):
        """The next whole frame. h2 takes nothing after GOAWAY, though streams go on: it never sees
        one."""
        while len(self.received) >= FRAME_HEAD:
            size = FRAME_HEAD + int.from_bytes(self.received[:3], "big")
            if len(self.received) < size:
                return None
            frame, self.received = self.received[:size], self.received[size:]
            if frame[3] != GOAWAY:
                return frame
        return None

    def _handle(self, event):
        answer = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.ResponseReceived):
            answer.headers = dict(event.headers)
            answer.status = int(answer.headers[":status"])
        elif isinstance(event, h2.events.DataReceived):
            answer.body += event.data
            if self.is_reading and event.flow_controlled_length:
                self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            answer.is_ended = True
        elif isinstance(event, h2.events.StreamReset):
            answer.is_reset = not answer.is_ended
            answer.is_ended = True

    def wait(self, stream):
        answer = self.streams[stream]
        while not answer.is_ended:
            self._receive()
        return answer

    def wait_until_closed(self):
        while not self.is_closed:
            self._receive()
