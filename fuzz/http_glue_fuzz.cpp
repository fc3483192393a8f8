#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/base/check.h>
#include <zllm/server/http/sse.h>
#include <zllm/server/http/transport.h>

namespace {

// What a client makes of a stream: the HTML standard, section 9.2.6, for one event.
struct Parsed {
  std::string name;
  std::string data;
  int events = 0;
};

Parsed parse(std::string_view stream) {
  Parsed parsed;
  bool has_data = false;
  while (!stream.empty()) {
    const std::size_t end = stream.find_first_of("\r\n");
    ZLLM_CHECK(end != std::string_view::npos, "a line without an end");
    const std::string_view line = stream.substr(0, end);
    stream.remove_prefix(end + (stream.substr(end, 2) == "\r\n" ? 2 : 1));
    if (line.empty()) {
      parsed.events += has_data ? 1 : 0;
    } else if (line.starts_with("data: ")) {
      parsed.data.append(has_data ? "\n" : "").append(line.substr(6));
      has_data = true;
    } else if (line.starts_with("event: ")) {
      parsed.name = line.substr(7);
    } else {
      ZLLM_CHECK(line.starts_with(": "), "a field that was not asked for");
    }
  }
  return parsed;
}

std::string with_plain_breaks(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      out += '\n';
      i += text.substr(i + 1, 1) == "\n" ? 1 : 0;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

// Whatever the name and the data: one event that holds them and nothing else.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace zllm::server::http;
  const std::string_view input(reinterpret_cast<const char *>(data), size);
  const std::size_t cut = size == 0 ? 0 : data[0] % (size + 1);
  const std::string_view name = input.substr(0, cut);
  const std::string_view text = input.substr(cut);
  const Parsed event = parse(frame_event(name, text));
  ZLLM_CHECK(event.events == 1, "not one event");
  ZLLM_CHECK(event.name == name.substr(0, name.find_first_of("\r\n")), "another name");
  ZLLM_CHECK(event.data == with_plain_breaks(text), "other data");
  const HttpRequest request{.headers = {{std::string(name), std::string(text)}}};
  ZLLM_CHECK(request.header(name) == text, "a header that is not found");
  return 0;
}
