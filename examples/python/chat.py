"""chat.py LIBRARY MODEL [PROMPT]: streams an answer through libzllm.so, with nothing but ctypes."""

import ctypes
import json
import sys


class Error(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32),
                ("http_status", ctypes.c_int32), ("field", ctypes.c_char * 256),
                ("message", ctypes.c_char * 2048)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)]
    _fields_ += [(name, ctypes.c_char_p) for name in (
        "model", "backend", "kv_type", "chat_template", "family", "prefix_cache_folder")]
    _fields_ += [(name, ctypes.c_uint64) for name in (
        "context", "cache_tokens", "prefill_budget", "prefix_cache_bytes",
        "prefix_cache_folder_bytes", "swap_bytes", "queue_length")]
    _fields_ += [(name, ctypes.c_uint32) for name in (
        "threads", "max_concurrent", "no_prefix_cache", "reserved")]


class Item(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("event", ctypes.c_char_p),
                ("event_size", ctypes.c_size_t), ("data", ctypes.c_char_p),
                ("data_size", ctypes.c_size_t)]


class Zllm:
    OK = 0
    END = 2

    def __init__(self, library, model):
        self.library = ctypes.CDLL(library)
        self.library.zllm_version.restype = ctypes.c_char_p
        for name in ("zllm_engine_free", "zllm_answer_free"):
            getattr(self.library, name).argtypes = [ctypes.c_void_p]
            getattr(self.library, name).restype = None
        self.engine = ctypes.c_void_p()
        options = Options(size=ctypes.sizeof(Options), model=model.encode())
        self.call("zllm_engine_load", ctypes.byref(options), ctypes.byref(self.engine))

    def call(self, name, *arguments):
        error = Error(size=ctypes.sizeof(Error))
        status = getattr(self.library, name)(*arguments, ctypes.byref(error))
        if status < 0:
            raise RuntimeError(f"{error.message.decode()} (code {status})")
        return status

    def items(self, dialect, body):
        """What the service would send, as it comes."""
        text = json.dumps(body).encode()
        answer = ctypes.c_void_p()
        self.call("zllm_submit", self.engine, dialect.encode(), text, ctypes.c_size_t(len(text)),
                  ctypes.byref(answer))
        item = Item(size=ctypes.sizeof(Item))
        try:
            while self.call("zllm_answer_next", answer, ctypes.c_int64(-1),
                            ctypes.byref(item)) != self.END:
                yield item.data.decode()
        finally:
            self.library.zllm_answer_free(answer)

    def close(self):
        self.library.zllm_engine_free(self.engine)


def main():
    zllm = Zllm(sys.argv[1], sys.argv[2])
    prompt = sys.argv[3] if len(sys.argv) > 3 else "Say hello."
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 16, "stream": True}
    for data in zllm.items("chat", body):
        if data == "[DONE]":
            continue
        answer = json.loads(data)
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        for choice in answer["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
    print()
    zllm.close()


if __name__ == "__main__":
    main()
