#pragma once

#include <string>
#include <string_view>

#include <zllm/base/json.h>

namespace zllm::text {

// A reference without its percent signs (RFC 3986).
std::string decoded_reference(std::string_view reference);

// What "#/..." names in a schema (RFC 6901); null when nothing.
const Json *find_schema(const Json& root, std::string_view reference);

// What a schema stands for that says nothing but a reference; null for others.
const Json *target_of(const Json& root, const Json& schema);

// Whether it is plain that no value satisfies both: their types differ, or the constants of a
// member that one of them requires.
bool are_disjoint(const Json& root, const Json& a, const Json& b);

bool is_schema_annotation(std::string_view key);

}  // namespace zllm::text
