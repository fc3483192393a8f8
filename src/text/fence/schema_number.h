#pragma once

#include <string_view>

#include <zllm/base/json.h>

namespace zllm::text {

// Whether the grammar compiler, which reads numbers as 64-bit floats, reads this one as it stands.
bool is_exact_number(const Json& number);

// The bound of a number (minimum, maximum, exclusiveMinimum, exclusiveMaximum), moved inward to
// what the grammar compiler can hold.
Json held_bound(std::string_view key, const Json& bound);

// The keyword as the compiler knows it: Draft 4 writes "exclusiveMinimum": true beside "minimum".
std::string_view bound_name(std::string_view key, const Json& schema);

}  // namespace zllm::text
