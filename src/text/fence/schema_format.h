#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace zllm::text {

// The pattern of the strings of a JSON schema's format; nothing for formats that are not known.
// Where standards differ it is the stricter one: four-digit years from 0001 on, no leap seconds.
std::optional<std::string> format_pattern(std::string_view format);

constexpr int kMaxHostnameLength = 253;  // RFC 1123; no pattern says it

}  // namespace zllm::text
