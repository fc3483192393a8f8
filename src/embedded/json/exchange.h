#pragma once

#include <string>
#include <string_view>

#include <zllm/dialect/dialect.h>
#include <zllm/embedded/engine.h>
#include <zllm/embedded/json/json_answer.h>

namespace zllm {

// model: whose file names it where neither the caller nor the body does.
Outcome<dialect::Batch> read_exchange(const JsonRequest& request, const EngineInfo& model);

// A failure in the dialect's shape; the OpenAI one where the dialect is not known.
std::string json_error(std::string_view dialect, const Failure& failure);

}  // namespace zllm
