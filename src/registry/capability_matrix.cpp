#include <zllm/registry/capability_matrix.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/registry/model_registry.h>
#include <zllm/runtime/dense/dense_model.h>
#include <zllm/weight/assembly/dense_decoder.h>

namespace zllm::registry {
namespace {

using backend::Op;
using backend::OpKey;
using encoding::Encoding;

// A decoder of ordinary sizes, all weights in one encoding: multiples of every block.
weight::DenseDecoderModel sample_decoder(Encoding encoding) {
  constexpr std::uint32_t kHead = 128;
  constexpr std::uint32_t kHidden = 1024;
  constexpr std::uint32_t kIntermediate = 2048;
  constexpr std::uint32_t kVocabulary = 4096;
  weight::DenseDecoderModel model;
  model.spec.layers = 1;
  model.spec.hidden = kHidden;
  model.spec.head = kHead;
  model.spec.query_heads = kHidden / kHead;
  model.spec.kv_heads = 2;
  model.spec.intermediate = kIntermediate;
  model.spec.vocabulary = kVocabulary;
  model.spec.query_key_norm = true;
  const auto view = [&](std::uint64_t rows, std::uint64_t columns) {
    return encoding::WeightView{
        .encoding = encoding, .rows = rows, .columns = columns, .bytes = {}, .name = {}};
  };
  weight::DenseDecoderLayer layer;
  layer.attention.query = layer.attention.output = view(kHidden, kHidden);
  layer.attention.key = layer.attention.value = view(2 * kHead, kHidden);
  layer.mlp.gate = layer.mlp.up = view(kIntermediate, kHidden);
  layer.mlp.down = view(kHidden, kIntermediate);
  model.layers.push_back(layer);
  model.ends.embedding = model.ends.head = view(kVocabulary, kHidden);
  return model;
}

// Notes what the backend says of all keys of one operation.
void note(const backend::cpu::CpuBackend& cpu, const std::vector<OpKey>& keys,
          std::vector<OperationSupport>& operations) {
  for (const OpKey& key : keys) {
    auto found = std::ranges::find(operations, name(key.op), &OperationSupport::operation);
    if (found == operations.end()) {
      operations.push_back({.operation = name(key.op), .encodings = {}});
      found = std::prev(operations.end());
    }
    if (!cpu.supports(key).is_supported) {
      continue;
    }
    found->is_supported = true;
    if (has_encoding(key.op) &&
        std::ranges::find(found->encodings, key.encoding) == found->encodings.end()) {
      found->encodings.push_back(key.encoding);
    }
  }
}

}  // namespace

Result<std::vector<FamilyOnBackend>> capability_matrix() {
  ZLLM_TRY(const auto cpu, backend::cpu::CpuBackend::create({.threads = 1}));
  FamilyOnBackend dense{.family = "dense decoder",
                        .architectures = architecture_names(),
                        .backend = cpu->name(),
                        .instruction_set = std::string(kernel::cpu::name(cpu->isa())),
                        .operations = {}};
  for (std::size_t index = 0; index < encoding::kEncodingCount; ++index) {
    const auto encoding = static_cast<Encoding>(index);
    if (!encoding::info(encoding).is_weight) {
      continue;
    }
    for (const auto kv_type : {backend::KvType::f32, backend::KvType::f16}) {
      note(*cpu,
           runtime::dense::requirements(sample_decoder(encoding), {.first = 0, .end = 1},
                                        {.kv_type = kv_type}),
           dense.operations);
    }
  }
  return std::vector<FamilyOnBackend>{std::move(dense)};
}

Result<CpuNeeds> needs_on_cpu(const weight::ModelFiles& files,
                              const runtime::LoadOptions& options) {
  ZLLM_TRY(auto needs, model_needs(files, options));
  needs.states.page_bytes = backend::cpu::PagedCache::page_bytes(needs.pages);
  needs.states.page_tokens = backend::cpu::CpuBackend::kPageTokens;
  needs.states.slot_bytes = backend::cpu::SlotCache::slot_bytes(needs.slots);
  return CpuNeeds{.memory = runtime::block::memory_need(needs.states, options),
                  .warnings = std::move(needs.warnings)};
}

}  // namespace zllm::registry
