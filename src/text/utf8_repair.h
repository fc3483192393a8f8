#pragma once

#include <string>
#include <string_view>

namespace zllm::text {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Appends bytes as valid UTF-8: every longest piece that begins a character but does not complete
// it becomes one U+FFFD, as does every other stray byte (Unicode 15, section 3.9).
void append_repaired(std::string& out, std::string_view bytes);

}  // namespace zllm::text
