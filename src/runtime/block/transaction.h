#pragma once

#include <utility>

#include <zllm/runtime/any_model.h>
#include <zllm/runtime/round.h>

namespace zllm::runtime::block {

// Reserves the rows of a round, runs it and gives them back when it fails; errors name the model.
template <class States, class Run>
Result<RoundOutput> transact(States& states, const ModelInfo& info, const Round& round, Run run) {
  ZLLM_TRY(validate(round, info.limits));
  ZLLM_TRY(states.reserve(round));
  Result<RoundOutput> output = run();
  if (!output.ok()) {
    states.roll_back(round, round.segments.size());
    return std::move(output).error().within(info.path);
  }
  return output;
}

}  // namespace zllm::runtime::block
