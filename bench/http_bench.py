"""What HTTP costs a streamed token, with bench/null_server whose model costs nothing.

    python bench/http_bench.py NULL_SERVER [--clients N] [--tokens N]

HTTP/1.1 and 2 by h2load and curl, HTTP/3 by aioquic. Since clients share the processors with the
server, its own processor time is told beside the rate: microseconds of all its threads for a token.
"""

import argparse
import asyncio
import concurrent.futures
import json
import os
import pathlib
import re
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

TICKS = os.sysconf("SC_CLK_TCK")


def body(tokens):
    return json.dumps({"prompt": "a b c", "max_tokens": tokens, "temperature": 0, "stream": True})


class NullServer:
    def __init__(self, program, certificate=()):
        self.process = subprocess.Popen([program, "0", *certificate], stderr=subprocess.PIPE,
                                        text=True)
        self.port = int(re.search(r"port (\d+)", self.process.stderr.readline())[1])

    def seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")")[-1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def close(self):
        self.process.terminate()
        self.process.wait()


def make_certificate(folder):
    paths = (f"{folder}/certificate.pem", f"{folder}/key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-out", paths[0], "-keyout", paths[1]],
                   check=True, capture_output=True)
    return paths


def curl_streams(url, version, clients, tokens):
    """Every client one connection with one stream."""
    command = ["curl", "-skN", version, "-H", "content-type: application/json", "-d", body(tokens),
               "-o", "/dev/null", "-w", "%{http_code} %{http_version}", url]
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        runs = [pool.submit(subprocess.run, command, capture_output=True, text=True)
                for _ in range(clients)]
        return {run.result().stdout for run in runs}


async def quic_streams(port, clients, tokens):
    from aioquic.asyncio.client import connect
    from aioquic.asyncio.protocol import QuicConnectionProtocol
    from aioquic.h3.connection import H3Connection
    from aioquic.h3.events import DataReceived, HeadersReceived
    from aioquic.quic.configuration import QuicConfiguration

    class Client(QuicConnectionProtocol):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            self.http = H3Connection(self._quic)
            self.ended = asyncio.get_event_loop().create_future()

        def quic_event_received(self, event):
            for got in self.http.handle_event(event):
                if isinstance(got, (DataReceived, HeadersReceived)) and got.stream_ended:
                    self.ended.set_result(True)

        async def post(self, text):
            stream = self._quic.get_next_available_stream_id()
            self.http.send_headers(stream, [
                (b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"localhost"),
                (b":path", b"/v1/completions"), (b"content-type", b"application/json")])
            self.http.send_data(stream, text.encode(), end_stream=True)
            self.transmit()
            await self.ended

    async def one():
        configuration = QuicConfiguration(alpn_protocols=["h3"], is_client=True,
                                          verify_mode=ssl.CERT_NONE)
        async with connect("127.0.0.1", port, configuration=configuration,
                           create_protocol=Client) as client:
            await client.post(body(tokens))

    await asyncio.gather(*(one() for _ in range(clients)))


def measure(label, server, tokens, stream):
    stream(16)
    begin, used = time.perf_counter(), server.seconds()
    told = stream(tokens)
    seconds, used = time.perf_counter() - begin, server.seconds() - used
    return label, seconds, used, told


def latency(url, more, tokens, count=300):
    """Times of one request after the other on one connection."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(body(tokens))
        file.flush()
        done = subprocess.run(["h2load", *more, "-n", str(count), "-c", "1", "-d", file.name, "-H",
                               "content-type: application/json", "--log-file=/dev/stdout", url],
                              capture_output=True, text=True)
    times = sorted(int(line.split("\t")[2]) for line in done.stdout.splitlines()
                   if line.count("\t") == 2)
    return statistics.median(times) / 1e3, times[int(0.99 * len(times))] / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=4000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        certificate = make_certificate(folder)
        for encrypted in (False, True):
            server = NullServer(options.program, certificate if encrypted else ())
            url = f"http{'s' if encrypted else ''}://127.0.0.1:{server.port}/v1/completions"
            kinds = [("HTTP/1.1", "--http1.1", ["--h1"])]
            kinds.append(("HTTP/2", "--http2" if encrypted else "--http2-prior-knowledge", []))
            try:
                for name, version, more in kinds:
                    report(*measure(name, server, options.tokens, lambda n: curl_streams(
                        url, version, options.clients, n)), options, encrypted)
                    for tokens in (1, 2, 32):
                        p50, p99 = latency(url, more, tokens)
                        print(f"{name}, {tokens} tokens: {p50:.2f} ms, p99 {p99:.2f} ms", flush=True)
                if encrypted:
                    report(*measure("HTTP/3", server, options.tokens, lambda n: asyncio.run(
                        quic_streams(server.port, options.clients, n))), options, encrypted)
            finally:
                server.close()


def report(label, seconds, used, told, options, encrypted):
    tokens = options.clients * options.tokens
    print(json.dumps({"protocol": label, "tls": encrypted, "clients": options.clients,
                      "tokens_per_second": round(tokens / seconds),
                      "server_microseconds_per_token": round(1e6 * used / tokens, 2),
                      "told": sorted(told) if told else None}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
