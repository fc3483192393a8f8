#pragma once

#include <optional>
#include <string>

#include <zllm/base/json.h>
#include <zllm/dialect/responses/response_store.h>

namespace zllm::dialect::responses {

// The item of that id, of the input or the output of a response that is stored for the caller. Ids
// of items tell their response: prefix_UNIQUE_number.
std::optional<Json> find_item(const ResponseStore& store, const std::string& caller,
                              const std::string& id);

}  // namespace zllm::dialect::responses
