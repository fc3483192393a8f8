#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>
#include <zllm/text/tokenizer.h>

namespace zllm {

// Bounds of what one request may ask for.
constexpr std::uint32_t kMaxChoices = 128;             // the range of OpenAI's API
constexpr std::uint32_t kMaxTopLogProbabilities = 20;  // the range of OpenAI's API
constexpr std::size_t kMaxStopTokens = 64;             // as many as there may be stop strings
constexpr std::size_t kMaxMessages = 65536;            // far more turns than any context holds
constexpr std::size_t kMaxTools = 1024;                // bounds the grammar that names them all
constexpr std::size_t kMaxToolNameBytes = 256;         // four times what OpenAI's API allows

// Refuses, by field, what no model could answer: ranges, limits, names that do not fit each other.
// Sampling and formats are checked where they are used.
Outcome<Done> check_request(const Request& request, const text::Tokenizer& tokenizer);

}  // namespace zllm
