#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/base/json.h>

namespace zllm::text::family {

// JSON types as bits.
using ValueTypes = std::uint8_t;
constexpr ValueTypes kStringType = 1;
constexpr ValueTypes kIntegerType = 2;
constexpr ValueTypes kNumberType = 4;
constexpr ValueTypes kBooleanType = 8;
constexpr ValueTypes kNullType = 16;
constexpr ValueTypes kArrayType = 32;
constexpr ValueTypes kObjectType = 64;
constexpr ValueTypes kAnyType = 127;

// The schema itself, or what it refers to within the document.
const Json& referred_schema(const Json& document, const Json& schema);

// The types that a schema of arguments allows for one of them: by type, const, enum, anyOf, oneOf,
// allOf and references within the document. kAnyType where it says nothing.
ValueTypes argument_types(const Json& schema, std::string_view key);

// The JSON of a value that a model wrote without quotes: of an allowed type where the text is one
// (a string only where it is nothing else), a string of the text else.
std::string typed_value(std::string_view text, ValueTypes types);

}  // namespace zllm::text::family
