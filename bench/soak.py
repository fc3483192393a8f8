"""Many mixed requests at once for a long time, against a running server.

    python bench/soak.py --program zllm --model GGUF [--minutes 10] [--clients 64] [--seed 1]
                         [--scarce]

All dialects, streamed or not, tools, schemas, several choices, prompts that share beginnings; a
third of the clients are slow, vanish, or cancel. Every answer that is read to its end must be the
one that its request got alone, before or after; nothing may be lost; memory may not grow; the server
must be idle and well in the end. With --scarce answers outgrow the pages and some requests have a
higher priority, so that running answers are preempted again and again, which is checked too. Prints
a report and ends with 1 when anything was wrong.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import random
import socket
import sys
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORDS = ("river stone light garden music winter letter window paper silver morning shadow engine "
         "market forest story summer bridge candle harbour mountain question answer number").split()


def server_options(cache_tokens):
    return ("--context", "1024", "--cache-tokens", str(cache_tokens), "--prefix-cache-bytes",
            str(64 << 20), "--max-concurrent", "16", "--max-buffer-bytes", "4096",
            "--no-request-log", "--chat-template-file", str(ROOT / "test/service/tools.jinja"))


# What a server is started with: pages and buffers so few that answers wait and are put aside.
SERVER_OPTIONS = server_options(2048)
# What the longest answer needs, for many; a part of the preempted states goes to the swap.
SCARCE_OPTIONS = (*server_options(1024), "--swap-bytes", str(4 << 20))
ANSWER_SECONDS = 600


def words(seed, count):
    choose = random.Random(seed)
    return " ".join(choose.choice(WORDS) for _ in range(count))


SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 12},
                                           "kind": {"enum": ["big", "small"]},
                                           "sizes": {"type": "array", "maxItems": 2,
                                                     "items": {"type": "integer"}}},
          "required": ["city", "kind"], "additionalProperties": False}


def question(number, longer=1):
    """Path and body of one of the requests; the same for the same number. longer: its answer."""
    choose = random.Random(f"question {number}")
    system = words(f"system {number % 3}", 60 + 50 * (number % 3))
    text = words(number, choose.randint(3, 40))
    tokens = longer * choose.randint(8, 40)
    function = {"name": "look_up", "description": "Looks a city up", "parameters": SCHEMA}
    chat = {"messages": [{"role": "system", "content": system}, {"role": "user", "content": text}],
            "max_tokens": tokens, "temperature": 0}
    schema = {"name": "city", "schema": SCHEMA, "strict": True}
    kinds = [
        lambda: ("/v1/chat/completions", chat),
        lambda: ("/v1/chat/completions", {**chat, "temperature": 1, "seed": number, "n": 2}),
        lambda: ("/v1/chat/completions", {**chat, "tool_choice": "required", "max_tokens": 80,
                                          "tools": [{"type": "function", "function": function}]}),
        lambda: ("/v1/chat/completions", {**chat, "max_tokens": 80, "response_format": {
            "type": "json_schema", "json_schema": schema}}),
        lambda: ("/v1/completions", {"prompt": system + " " + text, "max_tokens": tokens,
                                     "temperature": 0.8, "seed": number, "top_p": 0.9,
                                     "logprobs": 2, "stop": ["river", "\n\n"]}),
        lambda: ("/v1/completions", {"prompt": text, "max_tokens": tokens, "temperature": 0,
                                     "presence_penalty": 0.5, "ignore_eos": True}),
        lambda: ("/v1/responses", {"instructions": system, "input": text, "temperature": 0,
                                   "max_output_tokens": 16 + tokens}),
        lambda: ("/v1/responses", {"input": text, "temperature": 0, "max_output_tokens": 80,
                                   "text": {"format": {"type": "json_schema", **schema}}}),
        lambda: ("/v1/responses", {"input": text, "temperature": 0, "max_output_tokens": 80,
                                   "tool_choice": "required",
                                   "tools": [{"type": "function", **function}]}),
        lambda: ("/v1/messages", {"model": "default", "system": system, "max_tokens": tokens,
                                  "messages": [{"role": "user", "content": text}],
                                  "temperature": 0}),
        lambda: ("/v1/messages", {"model": "default", "max_tokens": 80, "temperature": 0,
                                  "messages": [{"role": "user", "content": text}],
                                  "tool_choice": {"type": "any"},
                                  "tools": [{"name": "look_up", "input_schema": SCHEMA}]}),
    ]
    return kinds[number % len(kinds)]()


def events(text):
    for block in text.split("\n\n"):
        for line in block.split("\n"):
            if line.startswith("data: ") and line != "data: [DONE]":
                yield json.loads(line[6:])


def is_whole(path, text):
    """Whether a stream has its dialect's own end."""
    if path == "/v1/messages":
        return "event: message_stop" in text
    if path == "/v1/responses":
        return "event: response.completed" in text or "event: response.incomplete" in text
    return text.rstrip().endswith("data: [DONE]")


def told_choices(pieces):
    choices = collections.defaultdict(lambda: {"text": "", "calls": {}, "reason": None})
    for piece in pieces:
        for item in piece["choices"]:
            choice = choices[item["index"]]
            message = item.get("delta") or item.get("message") or {}
            choice["text"] += item.get("text") or message.get("content") or ""
            for place, call in enumerate(message.get("tool_calls") or ()):
                known = choice["calls"].setdefault(call.get("index", place), ["", ""])
                known[0] += call["function"].get("name") or ""
                known[1] += call["function"].get("arguments") or ""
            choice["reason"] = item.get("finish_reason") or choice["reason"]
    return {str(index): choice for index, choice in sorted(choices.items())}


def told_response(response):
    items = [(item["type"], item.get("name"), item.get("arguments") or "".join(
        part.get("text", "") for part in item.get("content", ()))) for item in response["output"]]
    return {"items": items, "status": response["status"]}


def told_message_stream(pieces):
    blocks, reason = [], None
    for piece in pieces:
        if piece["type"] == "content_block_start":
            blocks.append([piece["content_block"]["type"], piece["content_block"].get("name"), ""])
        elif piece["type"] == "content_block_delta":
            delta = piece["delta"]
            blocks[piece["index"]][2] += delta.get("text") or delta.get("partial_json") or ""
        elif piece["type"] == "message_delta":
            reason = piece["delta"]["stop_reason"]
    return {"blocks": [[kind, name, parsed(text) if kind == "tool_use" else text]
                       for kind, name, text in blocks], "reason": reason}


def parsed(text):
    try:
        return json.loads(text or "{}")
    except ValueError:  # cut by max_tokens; as bodies tell it
        return {"INVALID_JSON": text}


def told(path, is_stream, text):
    """What the client was told, without what differs from run to run."""
    if path == "/v1/responses":
        if not is_stream:
            return told_response(json.loads(text))
        deltas = "".join(piece["delta"] for piece in events(text) if piece["type"] in (
            "response.output_text.delta", "response.function_call_arguments.delta"))
        last = told_response(list(events(text))[-1]["response"])
        whole = "".join(item[2] for item in last["items"])
        return last if deltas == whole else {"deltas": deltas, "items": last}
    if path == "/v1/messages":
        if is_stream:
            return told_message_stream(events(text))
        body = json.loads(text)
        blocks = [[block["type"], block.get("name"), block.get("text", block.get("input"))]
                  for block in body["content"]]
        return {"blocks": blocks, "reason": body["stop_reason"]}
    return told_choices(events(text) if is_stream else [json.loads(text)])


class Left(Exception):
    """The client went on purpose."""


class Server:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port

    async def ask(self, method, path, body=None, pause=None, leave_after=None):
        """Status and body. pause: seconds between small reads. leave_after: bytes, then it goes."""
        sock = socket.socket()
        sock.setblocking(False)
        if pause:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        await asyncio.get_running_loop().sock_connect(sock, (self.host, self.port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=1024 if pause else 65536)
        text = b"" if body is None else json.dumps(body).encode()
        writer.write(b"%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\nConnection: close\r\n\r\n"
                     % (method.encode(), path.encode(), len(text)) + text)
        try:
            await writer.drain()
            got = b""
            while leave_after is None or len(got) < leave_after:
                piece = await reader.read(512 if pause else 65536)
                if not piece:
                    return split_reply(got)
                got += piece
                if pause and len(got) < 8192:
                    await asyncio.sleep(pause)
            raise Left()
        finally:
            writer.transport.abort()

    async def metrics(self):
        _, text = await self.ask("GET", "/metrics")
        values = collections.defaultdict(float)
        for line in text.splitlines():
            if line and not line.startswith("#"):
                key, value = line.rsplit(" ", 1)
                values[key.split("{")[0]] += float(value)
        return values


def split_reply(got):
    head, _, rest = got.partition(b"\r\n\r\n")
    if not head:
        raise ConnectionError("no reply")
    if b"transfer-encoding: chunked" in head.lower():
        whole, text = rest, b""
        while True:
            size, _, whole = whole.partition(b"\r\n")
            count = int(size, 16) if size else -1
            if count < 0:
                raise ConnectionError("a body without its end")
            if count == 0:
                break
            text, whole = text + whole[:count], whole[count + 2:]
        rest = text
    return int(head.split(b" ")[1]), rest.decode()


class Soak:
    """least: answers that are waited for, even if it takes longer than it should."""

    def __init__(self, url, pid, clients, questions, seed, is_scarce=False, least=0):
        self.server, self.pid, self.is_scarce = Server(url), pid, is_scarce
        self.least = least
        self.longer = 4 if is_scarce else 1
        self.clients, self.questions, self.seed = clients, questions, seed
        self.expected, self.counts = {}, collections.Counter()
        self.faults, self.memory = [], []

    def fault(self, kind, text):
        self.counts[kind] += 1
        self.faults.append(f"{kind}: {text[:2000]}")

    async def alone(self, number):
        path, body = question(number, self.longer)
        status, text = await self.server.ask("POST", path, body)
        if status != 200:
            raise RuntimeError(f"{path} {body}: {status} {text}")
        return told(path, False, text)

    async def one(self, choose):
        number = choose.randrange(self.questions)
        path, body = question(number, self.longer)
        if self.is_scarce and path in ("/v1/chat/completions", "/v1/completions"):
            body = {**body, "priority": choose.choice((0, 0, 0, 1))}
        is_stream = choose.random() < 0.6
        body = {**body, "stream": True} if is_stream else body
        kind = choose.choice(("reads", "reads", "reads", "reads", "slow", "leaves"))
        more = {"slow": {"pause": choose.uniform(0.02, 0.4)},
                "leaves": {"leave_after": choose.choice((0, 0, 300, 1500))}}.get(kind, {})
        if kind == "leaves" and choose.random() < 0.3 and path == "/v1/responses":
            await self.cancel(body)
            return
        try:
            if more.get("leave_after") == 0:
                await asyncio.wait_for(self.server.ask("POST", path, body, leave_after=1),
                                       choose.uniform(0, 0.5))
            status, text = await asyncio.wait_for(self.server.ask("POST", path, body, **more),
                                                  ANSWER_SECONDS)
        except (Left, asyncio.TimeoutError):
            self.counts["left" if kind == "leaves" else "lost"] += 1
            if kind != "leaves":
                self.fault("lost", f"{path} {body}: no end in {ANSWER_SECONDS} s")
            return
        except (OSError, ValueError) as error:
            self.fault("lost", f"{path} {body}: {error!r}")
            return
        self.judge(number, path, is_stream, status, text)

    def judge(self, number, path, is_stream, status, text):
        if status != 200 or (is_stream and not is_whole(path, text)):
            self.fault("lost", f"{path} {question(number, self.longer)}: {status} {text}")
            return
        answer = told(path, is_stream, text)
        if answer != self.expected[number]:
            self.fault("mixed up", f"{path} stream={is_stream} {question(number, self.longer)[1]}\n"
                       f"  alone {self.expected[number]}\n  here  {answer}")
        self.counts["finished"] += 1

    async def cancel(self, body):
        body = {**body, "background": True, "store": True}
        body.pop("stream", None)
        status, text = await self.server.ask("POST", "/v1/responses", body)
        if status == 429 or status == 503:
            self.counts["refused in the background"] += 1
            return
        if status != 200:
            self.fault("lost", f"background: {status} {text}")
            return
        path = "/v1/responses/" + json.loads(text)["id"]
        status, text = await self.server.ask("POST", path + "/cancel")
        # Or it had ended already.
        if status not in (200, 400) or (status == 400 and "ended" not in text):
            self.fault("lost", f"cancel: {status} {text}")
        await self.server.ask("DELETE", path)
        self.counts["cancelled"] += 1

    async def client(self, index, until):
        choose = random.Random(f"{self.seed} {index}")
        while (time.monotonic() < until or self.counts["finished"] < self.least
               or not self.counts["left"]):
            await self.one(choose)

    async def watch(self, until):
        while time.monotonic() < until:
            self.memory.append(self.resident())
            await asyncio.sleep(0.5)

    def resident(self):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    async def run(self, seconds):
        numbers = list(range(self.questions))
        for number in numbers[::2]:
            self.expected[number] = await self.alone(number)
        before = {number: self.expected[number] for number in numbers[::2]}
        for number in numbers[1::2]:
            self.expected[number] = await self.alone(number)
        start = time.monotonic()
        until = start + seconds
        watch = asyncio.create_task(self.watch(until))
        await asyncio.gather(*(self.client(i, until) for i in range(self.clients)))
        self.seconds = time.monotonic() - start
        await watch
        await self.finish(before)

    async def finish(self, before):
        values = await self.server.metrics()
        until = time.monotonic() + ANSWER_SECONDS
        while any(values[name] for name in IDLE) and time.monotonic() < until:
            await asyncio.sleep(0.05)
            values = await self.server.metrics()
        busy = {name: values[name] for name in IDLE if values[name]}
        if busy:
            self.fault("busy", f"still {busy}")
        if values["zllm_failed_requests_total"] or values["zllm_refused_requests_total"]:
            self.fault("metrics", f"failed {values['zllm_failed_requests_total']}, refused "
                       f"{values['zllm_refused_requests_total']}")
        if self.is_scarce and not values["zllm_preemptions_total"]:
            self.fault("metrics", "nothing was preempted")
        for number, answer in list(before.items())[:8]:
            if await self.alone(number) != answer:
                self.fault("mixed up", f"{question(number, self.longer)} after the soak")
        status, text = await self.server.ask("GET", "/ready")
        if status != 200:
            self.fault("not ready", text)
        self.values = values

    def report(self):
        quarter = max(1, len(self.memory) // 4)
        megabytes = [round(max(part) / 2**20, 1) for part in (
            self.memory[quarter:2 * quarter] or self.memory, self.memory[-quarter:])]
        return {"seconds": round(self.seconds), "clients": self.clients, **self.counts,
                "lost": self.counts["lost"], "mixed up": self.counts["mixed up"],
                "megabytes in the second quarter, in the last": megabytes,
                "preemptions": self.values["zllm_preemptions_total"],
                "evictions": self.values["zllm_prefix_cache_evictions_total"],
                "prefix cache bytes": self.values["zllm_prefix_cache_bytes"],
                "hit tokens": self.values["zllm_prefix_hit_tokens_total"],
                "computed tokens": self.values["zllm_prompt_tokens_computed_total"]}


IDLE = ("zllm_running_requests", "zllm_queued_requests", "zllm_batch_size",
        "zllm_paused_sequences")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--questions", type=int, default=66)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scarce", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "test/service"))
    import harness
    harness.PROGRAM = options.program
    server = harness.Server("--threads", str(options.threads),
                            *(SCARCE_OPTIONS if options.scarce else SERVER_OPTIONS),
                            model_path=options.model)
    soak = Soak(server.url, server.process.pid, options.clients, options.questions, options.seed,
                options.scarce)
    try:
        asyncio.run(soak.run(60 * options.minutes))
    finally:
        code = server.stop()
    print(json.dumps(soak.report(), indent=1))
    for fault in soak.faults[:20]:
        print(fault)
    sys.exit(bool(soak.faults) or code != 0)


if __name__ == "__main__":
    main()
