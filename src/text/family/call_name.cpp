#include <zllm/text/family/call_name.h>

#include <algorithm>

namespace zllm::text::family {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_space(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

bool is_call_name(std::string_view name) {
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return is_space(c) || std::string_view("<>{}[]\"'`").find(c) != std::string_view::npos;
  });
}

Task<std::optional<std::string>> read_header(Input *input, Markers markers) {
  std::size_t longest = 0;
  for (const std::string_view marker : markers) {
    longest = std::max(longest, marker.size());
  }
  for (;;) {
    // Not all of the rest: many broken headers must not cost the square of the text.
    const std::string_view rest = input->rest().substr(0, kMaxHeaderBytes + longest);
    const MarkerSearch search = find_marker(rest, markers);
    if (search.clear > kMaxHeaderBytes) {
      co_return std::nullopt;
    }
    if (search.marker) {
      input->skip(search.clear);
      co_return std::string(rest.substr(0, search.clear));
    }
    if (input->ended()) {
      co_return std::nullopt;
    }
    co_await input->more();
  }
}

}  // namespace zllm::text::family
