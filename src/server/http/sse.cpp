#include <zllm/server/http/sse.h>

#include <cstddef>

namespace zllm::server::http {
namespace {

constexpr std::string_view kLineBreaks = "\r\n";

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of(kLineBreaks));
}

// Every line of the text under the field's name; "\r\n" is one break.
void append_lines(std::string& out, std::string_view field, std::string_view text) {
  while (true) {
    const std::string_view line = first_line(text);
    out.append(field).append(line).append("\n");
    if (line.size() == text.size()) {
      return;
    }
    const std::size_t width = text.substr(line.size(), 2) == kLineBreaks ? 2 : 1;
    text.remove_prefix(line.size() + width);
  }
}

}  // namespace

std::string frame_event(std::string_view name, std::string_view data) {
  std::string out;
  out.reserve(name.size() + data.size() + 32);
  if (const std::string_view line = first_line(name); !line.empty()) {
    out.append("event: ").append(line).append("\n");
  }
  append_lines(out, "data: ", data);
  out.append("\n");
  return out;
}

}  // namespace zllm::server::http
