#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/rope/spec.h>
#include <zllm/weight/assembly/config_reader.h>

namespace zllm::weight {

// What rope needs to know of the model around it.
struct RopeContext {
  std::uint32_t head = 0;           // width of a head
  std::uint64_t max_positions = 0;  // the context length that the model states
  double partial = 1.0;             // partial_rotary_factor where nothing states it
  bool scales_scores = false;       // the family multiplies scores by its score factor
};

// Reads rope_theta with rope_scaling (transformers 4) or rope_parameters (transformers 5), with
// the defaults of transformers. One kind of rope for all layers. Unknown scaling types, and keys
// that contradict each other, are refused; keys that the type does not use get a warning.
Result<rope::Spec> rope_from_config(const ConfigReader& config, RopeContext context,
                                    std::vector<std::string>& warnings);

// What DeepSeek's models multiply scores with beside the inverse root of a head's width: the square
// of 1 + 0.1 * mscale_all_dim * ln(factor), where a type but default states both; else 1.
Result<double> score_factor_from_config(const ConfigReader& config);
// The formula; 1 where the factor is at most 1.
double score_factor(double factor, double mscale_all_dim);

// Checks that hold for rope from every file format: an even rotated width within the head, and
// what the formulas of the scaling need. The text says what is wrong; empty when nothing is.
std::string rope_defect(const rope::Spec& spec, std::uint32_t head);

}  // namespace zllm::weight
