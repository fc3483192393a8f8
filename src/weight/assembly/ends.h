#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/weight_binder.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// Where a Hub checkpoint keeps its decoder: before every name but the head's, and that one whole.
struct HubPrefix {
  std::string_view body;
  std::string_view head;
};

// As a model of its own, without its outermost module, and within a multimodal one.
constexpr std::array<HubPrefix, 4> kHubPrefixes = {{
    {"model.", "lm_head.weight"},
    {"", "lm_head.weight"},
    {"language_model.model.", "language_model.lm_head.weight"},
    {"model.language_model.", "lm_head.weight"},
}};

// The first prefix under which there is an embedding, else the first of all.
const HubPrefix& hub_prefix_of(const TensorTable& tensors);

// Whole names of the tensors at both ends.
struct EndNames {
  std::string embedding, final_norm, head;
};

EndNames hub_end_names(const HubPrefix& prefix);
EndNames gguf_end_names();

EndWeights bind_ends(WeightBinder& binder, const EndNames& names, std::uint32_t vocabulary,
                     std::uint32_t hidden, bool tied);

// A head that lies in the file although the configuration ties it: transformers ties only when
// both hold the same numbers. Returns whether the embeddings are tied, with a warning if they are
// not after all.
bool still_tied(const TensorTable& tensors, const EndNames& names, bool tied,
                std::vector<std::string>& warnings);

}  // namespace zllm::weight
