#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::text {

// The texts that a Lark grammar derives, as one pattern of JSON schemas: rules put into each other.
// Refuses rules that refer to themselves, which no pattern describes, %ignore, and what is no Lark.
// Priorities and aliases mean nothing here.
Result<std::string> lark_pattern(std::string_view grammar);

}  // namespace zllm::text
