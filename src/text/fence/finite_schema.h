#pragma once

#include <string>

#include <zllm/base/json.h>

namespace zllm::text {

// The JSON pointer of a part of the schema that only endless values would satisfy, such as an
// object that requires one of its own kind; empty when there is none. "/" is the whole.
std::string endless_part(const Json& root);

}  // namespace zllm::text
