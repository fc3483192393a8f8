#pragma once

#include <string_view>

#include <zllm/base/result.h>

namespace zllm::text {

constexpr std::size_t kMaxSourceNesting = 100;  // of brackets in a pattern or grammar

// Refuse sources whose brackets are nested deeper than compilers that call themselves can follow.
Status check_regex_nesting(std::string_view pattern);
Status check_lark_nesting(std::string_view grammar);
// Refuses a pattern that is not whole by itself: what it is put within would complete it.
Status check_whole_pattern(std::string_view pattern);

}  // namespace zllm::text
