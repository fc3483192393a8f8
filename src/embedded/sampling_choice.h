#pragma once

#include <cstddef>

#include <zllm/base/json.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>
#include <zllm/sampling/parameters.h>

namespace zllm {

// The options over the model's generation_config.json (may be null), with a fresh seed where none
// is given. Refuses values out of their range by field; bias only for ids below `vocabulary`.
Outcome<sampling::SamplingParameters> sampling_parameters(const SamplingOptions& options,
                                                          const Json *generation_config,
                                                          std::size_t vocabulary);

}  // namespace zllm
