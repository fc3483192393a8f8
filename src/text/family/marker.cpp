#include <zllm/text/family/marker.h>

#include <algorithm>

namespace zllm::text::family {
namespace {

std::size_t trailing(std::string_view text, std::string_view characters) {
  const std::size_t last = text.find_last_not_of(characters);
  const std::size_t size = last == std::string_view::npos ? text.size() : text.size() - last - 1;
  return std::min(size, kMaxMargin);
}

constexpr std::string_view kSpace = " \t\r\n";

}  // namespace

MarkerSearch find_marker(std::string_view text, Markers markers) {
  std::string first_characters;
  for (const std::string_view marker : markers) {
    first_characters += marker.front();
  }
  std::size_t at = text.find_first_of(first_characters);
  for (; at != std::string_view::npos; at = text.find_first_of(first_characters, at + 1)) {
    const std::string_view here = text.substr(at);
    for (std::size_t i = 0; i < markers.size(); ++i) {
      if (here.starts_with(markers[i])) {
        return {.clear = at, .marker = i};
      }
      if (markers[i].starts_with(here)) {
        return {.clear = at};
      }
    }
  }
  return {.clear = text.size()};
}

Task<std::optional<std::size_t>> next_marker(Input *input, Markers markers) {
  for (;;) {
    const std::string_view rest = input->rest();
    bool may_come = false;
    for (std::size_t i = 0; i < markers.size(); ++i) {
      if (rest.starts_with(markers[i])) {
        co_return i;
      }
      may_come = may_come || markers[i].starts_with(rest);
    }
    if (!may_come || input->ended()) {
      co_return std::nullopt;
    }
    co_await input->more();
  }
}

Task<bool> take_marker(Input *input, std::string_view marker) {
  const std::optional<std::size_t> found = co_await next_marker(input, Markers(&marker, 1));
  if (found) {
    input->skip(marker.size());
  }
  co_return found.has_value();
}

std::size_t no_margin(std::string_view /*text*/) { return 0; }
std::size_t space_margin(std::string_view text) { return trailing(text, kSpace); }
std::size_t newlines_margin(std::string_view text) { return trailing(text, "\n"); }
std::size_t one_newline_margin(std::string_view text) { return text.ends_with('\n') ? 1 : 0; }

Task<Copied> copy_until(Input *input, Markers markers, Margin margin, const Sink *sink) {
  for (;;) {
    const std::string_view rest = input->rest();
    const MarkerSearch search = find_marker(rest, markers);
    const bool is_last = !search.marker && input->ended();
    const std::string_view clear = is_last ? rest : rest.substr(0, search.clear);
    const std::size_t held = is_last ? 0 : margin(clear);
    if (clear.size() > held) {
      (*sink)(clear.substr(0, clear.size() - held));
      input->skip(clear.size() - held);
    }
    if (search.marker || is_last) {
      co_return Copied{.marker = search.marker, .margin = held};
    }
    input->forget();
    co_await input->more();
  }
}

bool is_space(char c) { return kSpace.find(c) != std::string_view::npos; }

Task<char> next_solid(Input *input) {
  for (;;) {
    const std::string_view rest = input->rest();
    const std::size_t solid = rest.find_first_not_of(kSpace);
    if (solid != std::string_view::npos) {
      input->skip(solid);
      co_return rest[solid];
    }
    input->skip(rest.size());
    if (input->ended()) {
      co_return '\0';
    }
    co_await input->more();
  }
}

}  // namespace zllm::text::family
