#pragma once

#include <memory>

#include <zllm/base/result.h>
#include <zllm/embedded/engine.h>

#include "generation_options.h"

namespace zllm::cli {

// How many prompts are answered: of many, each starts from what the one before left.
enum class Turns { one, many };

// An engine for one answer at a time. Warnings go to stderr.
Result<std::unique_ptr<Engine>> load_engine(const GenerationOptions& options, Turns turns);

}  // namespace zllm::cli
