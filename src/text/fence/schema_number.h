#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <zllm/base/json.h>

namespace zllm::text {

// Whether the grammar compiler, which reads numbers as 64-bit floats, reads this one as it stands.
bool is_exact_number(const Json& number);

// Whether the keyword is a bound of numbers: minimum, maximum, exclusiveMinimum, exclusiveMaximum.
bool is_bound(std::string_view key);

// The bounds of numbers anywhere in a schema: allOf and references bring them together.
std::vector<double> bounds_within(const Json& root);

// The bound of that name, moved inward to what the grammar compiler can hold. others: that it may
// meet.
Json held_bound(std::string_view key, const Json& bound, std::span<const double> others);

// Whether a factor of multipleOf would take the compiler too long; and whether the others would
// that may meet in one number.
bool is_large_factor(double factor);
bool has_large_factors(const Json& root);

// The keyword as the compiler knows it: Draft 4 writes "exclusiveMinimum": true beside "minimum".
std::string_view bound_name(std::string_view key, const Json& schema);

}  // namespace zllm::text
