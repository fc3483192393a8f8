#pragma once

#include <string>

#include <zllm/base/result.h>

#include "option_table.h"

namespace zllm::cli {

// Sets options from a YAML file: a map from option names to values. Unknown and repeated keys,
// wrong types and values out of range are refused with file, line and key.
Status apply_yaml(const std::string& path, const OptionTable& options);

// All options that a file may set, with their present values, as YAML that apply_yaml reads back.
std::string effective_yaml(const OptionTable& options);

}  // namespace zllm::cli
