#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <system_error>

// Building messages without <iostream> and without a formatting library.
namespace zllm {

inline std::string to_text(std::string_view value) { return std::string(value); }
// Shortest decimal that reads back as the same number.
std::string to_text(double value);
template <std::integral T>
std::string to_text(T value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else {
    return std::to_string(value);
  }
}

// Joins its arguments as text: concat("tensor ", name, " has ", n, " rows").
template <class... Parts>
std::string concat(const Parts&...parts) {
  std::string joined;
  ((joined += to_text(parts)), ...);
  return joined;
}

// The text in single quotes with control and non-ASCII bytes escaped and its length bounded, fit
// for an error message whatever the bytes are.
std::string quote(std::string_view text);

// The whole text as a number, or nothing.
template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// The candidate with the fewest edits to the wrong word, for "did you mean"; empty when none is
// near.
template <class Range>
std::string_view nearest(std::string_view wrong, const Range& candidates);
std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::string_view nearest(std::string_view wrong, const Range& candidates) {
  std::string_view best;
  std::size_t best_distance = wrong.size() / 2 + 1;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(wrong, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace zllm
