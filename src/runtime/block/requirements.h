#pragma once

#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/runtime/block/shape.h>

namespace zllm::runtime::block {

// The operations, other than products with weights, that a block asks of a backend.
void require(const model_spec::Mixture& spec, std::vector<backend::OpKey>& keys);
void require(const model_spec::LatentAttention& spec, backend::KvType type,
             std::vector<backend::OpKey>& keys);
void require(const IndexerShape& shape, backend::KvType type, std::vector<backend::OpKey>& keys);
void require(const DeltaShape& shape, std::vector<backend::OpKey>& keys);
void require(const residual::HyperConnectionSpec& spec, std::uint32_t hidden,
             std::vector<backend::OpKey>& keys);

}  // namespace zllm::runtime::block
