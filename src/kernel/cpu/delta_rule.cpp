#include <zllm/kernel/cpu/delta_rule.h>

#include <zllm/kernel/cpu/delta_rule_scratch.h>

namespace zllm::kernel::cpu {

DeltaRuleJournal journal_of(const DeltaRuleShape& shape) {
  const std::size_t keys = channels_of(shape);
  const std::size_t updates = keys + keys_of(shape);
  const std::size_t decays = updates + values_of(shape);
  return {.keys = keys, .updates = updates, .decays = decays, .width = decays + decays_of(shape)};
}

DeltaRuleLayout delta_rule_layout(const DeltaRuleShape& shape) {
  std::size_t end = 0;
  const auto take = [&end](std::size_t floats) {
    const std::size_t begin = end;
    end += (floats + kWidestVec - 1) / kWidestVec * kWidestVec;
    return begin;
  };
  DeltaRuleLayout layout;
  layout.channels = 2 * shape.key_width + shape.value_width;
  layout.inputs = take((shape.taps - 1 + kDeltaRuleRows) * layout.channels);
  layout.taps = take(shape.taps * layout.channels);
  layout.mixed = take(kDeltaRuleRows * layout.channels);
  layout.decays = take(kDeltaRuleRows * shape.key_width);
  layout.betas = take(kDeltaRuleRows);
  layout.block = take(shape.key_width * kDeltaRuleVecs * kWidestVec);
  layout.end = end;
  return layout;
}

std::size_t delta_rule_scratch(const DeltaRuleShape& shape) { return delta_rule_layout(shape).end; }

}  // namespace zllm::kernel::cpu
