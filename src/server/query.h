#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zllm::server {

// Text whose %XX are the bytes that they name; what is no escape stays as it is.
std::string decode_escapes(std::string_view text);
// The parameters of a URL's query, decoded, in order; what is no escape stays as it is.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);

}  // namespace zllm::server
