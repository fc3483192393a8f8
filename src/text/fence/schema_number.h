#pragma once

#include <string_view>

#include <zllm/base/json.h>

namespace zllm::text {

// Whether the grammar compiler, which reads numbers as 64-bit floats, reads this one as it stands.
bool is_exact_number(const Json& number);

// The bound of a number (minimum, maximum, exclusiveMinimum, exclusiveMaximum), moved inward to
// what the grammar compiler can hold.
Json held_bound(std::string_view key, const Json& bound);

}  // namespace zllm::text
