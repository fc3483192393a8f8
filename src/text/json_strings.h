#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::text {

// JSON text of an object with every string value within the members that `is_mapped` names replaced
// by what `map` makes of it. All else, and strings that stay as they are, keeps its bytes; keys are
// left alone. Errors are about text that is no JSON.
Result<std::string> map_json_strings(std::string_view json,
                                     const std::function<bool(std::string_view)>& is_mapped,
                                     const std::function<std::string(std::string_view)>& map);

}  // namespace zllm::text
