#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::text {

// Whether no answer holds the character: JSON has it only as \uXXXX, which fences do not allow,
// since a key could then be written in two ways.
bool is_unwritable(char c);

// A pattern of a JSON schema (ECMA-262) as the grammar compiler reads it: brackets and doubled
// signs in sets, and braces that repeat nothing, stand for themselves. Refused: patterns that are
// not whole, and characters that no answer holds.
Result<std::string> grammar_pattern(std::string_view pattern);

}  // namespace zllm::text
