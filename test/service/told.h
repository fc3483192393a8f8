#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <zllm/base/json.h>

namespace zllm::test {

enum class Dialect : std::uint8_t { chat, completions, responses, messages };

// What a client was told: the text of every choice, and why it ended.
struct Told {
  struct Choice {
    std::string text;
    std::string reason;
    friend bool operator==(const Choice&, const Choice&) = default;
  };
  std::map<std::uint64_t, Choice> choices;
  bool is_whole = false;  // the dialect's own last event was there
  std::string fault;      // what could not be read
};

// A stream's pieces in order, whatever of it there is.
Told read_stream(Dialect dialect, std::string_view text);
Told read_body(Dialect dialect, std::string_view text);

}  // namespace zllm::test
