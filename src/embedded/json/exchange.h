#pragma once

#include <string>
#include <string_view>

#include <zllm/dialect/dialect.h>
#include <zllm/embedded/json/json_answer.h>

namespace zllm {

// default_model: as answers name it where neither the caller nor the body does.
Outcome<dialect::Batch> read_exchange(const JsonRequest& request, const std::string& default_model);

// A failure in the dialect's shape; the OpenAI one where the dialect is not known.
std::string json_error(std::string_view dialect, const Failure& failure);

}  // namespace zllm
