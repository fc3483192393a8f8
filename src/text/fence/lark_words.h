#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::text {

enum class LarkKind : std::uint8_t { name, text, regex, number, sign, directive, line_end };

// A word of a grammar's text, of which it is a part.
struct LarkWord {
  LarkKind kind = LarkKind::sign;
  std::string_view text;  // of texts and regexes with their marks and flags
  std::size_t line = 1;
};

// Ends of lines within brackets and before a "|" are left out: a rule goes on there. The last word
// is a line_end.
Result<std::vector<LarkWord>> lark_words(std::string_view grammar);

}  // namespace zllm::text
