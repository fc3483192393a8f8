#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::text {

constexpr std::size_t kMaxGbnfRepetitions = 2000;  // in one {m,n}
constexpr std::size_t kMaxGbnfNesting = 100;       // of parentheses
constexpr std::size_t kMaxGbnfRules = 4096;

// Lark text for the grammar compiler of a grammar in GBNF: rules `name ::= ...`, from `root`.
// Errors name the line and what is wrong there.
Result<std::string> gbnf_to_lark(std::string_view source);

}  // namespace zllm::text
