#pragma once

#include <cstddef>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

// How tokens are drawn, as OpenAI's API and those who extend it spell it.
namespace zllm::dialect {

constexpr std::size_t kMaxLogitBias = 1024;     // bounds a request's work for each token
constexpr double kMaxRepetitionPenalty = 1000;  // enough to ban; keeps f32 logits finite

// temperature, top_p, top_k, min_p, typical_p, seed, logit_bias and the penalties.
void read_sampling(FieldReader& fields, SamplingOptions& sampling);

}  // namespace zllm::dialect
