#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/text/family/input.h>
#include <zllm/text/family/task.h>

namespace zllm::text::family {

// None of the markers of one search may lie within another of them.
using Markers = std::span<const std::string_view>;

struct MarkerSearch {
  std::size_t clear = 0;                   // bytes in front that are part of no marker
  std::optional<std::size_t> marker = {};  // the index of the one that begins behind them
};
// The first marker in a text, or the first end of it that may become one.
MarkerSearch find_marker(std::string_view text, Markers markers);

// The marker that is next in the text, left unread; nothing when there is another text.
Task<std::optional<std::size_t>> next_marker(Input *input, Markers markers);
// Reads over it.
Task<bool> take_marker(Input *input, std::string_view marker);

// The bytes at the end of a text that belong to a marker that may come next.
using Margin = std::size_t (*)(std::string_view text);
std::size_t no_margin(std::string_view text);
std::size_t space_margin(std::string_view text);
std::size_t newlines_margin(std::string_view text);
std::size_t one_newline_margin(std::string_view text);
constexpr std::size_t kMaxMargin = 256;  // bounds what is held back and looked at again

using Sink = std::function<void(std::string_view)>;
struct Copied {
  std::optional<std::size_t> marker = {};  // nothing: the answer ended, all of it was copied
  std::size_t margin = 0;
};
// Gives all text up to the margin of the next marker to `sink`, as soon as it comes. The cursor
// ends up before that margin.
Task<Copied> copy_until(Input *input, Markers markers, Margin margin, const Sink *sink);

bool is_space(char c);
// Reads over white space: the character behind it, 0 at the end of the answer.
Task<char> next_solid(Input *input);

}  // namespace zllm::text::family
