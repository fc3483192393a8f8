#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/config_reader.h>

// What the configurations of all Hub families have in common.
namespace zllm::weight {

struct HubFamily {
  std::string_view model_type;
  std::string_view architecture;  // class name in `architectures`; "" = any
};

// The family's index, told by model_type, else by architectures; the two must agree.
Result<std::size_t> hub_family_of(const ConfigReader& config, std::span<const HubFamily> families);

// Refuses checkpoints whose weights need a decoder of their own.
Status refuse_quantised(const ConfigReader& config);

// vocab_size, hidden_size, num_hidden_layers.
struct HubSizes {
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  std::uint32_t layers = 0;
};
Result<HubSizes> hub_sizes(const ConfigReader& config);

// Whether layer_types, where it is stated, names every layer and calls each `only`.
Status check_layer_types(const ConfigReader& config, std::string_view only, std::uint64_t layers);

// Prefixes of the layers behind the last one that draft tokens (num_nextn_predict_layers, also
// num_mtp_layers, 1 where neither is stated); `layers_prefix` is "model.layers.".
Result<std::vector<std::string>> draft_layer_prefixes(const ConfigReader& config,
                                                      std::string_view layers_prefix,
                                                      std::uint32_t layers);
// For WeightBinder::finish.
std::function<bool(std::string_view)> begins_with_any(std::vector<std::string> prefixes);

}  // namespace zllm::weight
