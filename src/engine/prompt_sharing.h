#pragma once

#include <zllm/engine/job.h>

namespace zllm::engine {

// Whether a request that has computed nothing had better wait until another, whose prompt is being
// computed, leaves it to the cache: most of it is the start of its own.
bool awaits_prompt_of(const Job& job, const Job& other, bool is_recurrent);

}  // namespace zllm::engine
