// Compiled, never linked: every runtime over the archetypes of what it asks for.
#include <zllm/backend/capability/archetype.h>
#include <zllm/runtime/dense/dense_model-inl.h>
#include <zllm/runtime/glm5_next/glm5_next-inl.h>
#include <zllm/runtime/gqa_moe/gqa_moe-inl.h>
#include <zllm/runtime/kimi_linear/kimi_linear-inl.h>
#include <zllm/runtime/mla_moe/mla_moe-inl.h>

namespace archetype = zllm::backend::archetype;

template class zllm::runtime::dense::DenseModel<archetype::PagedGqaBackend>;
template class zllm::runtime::gqa_moe::GqaMoeModel<archetype::GqaMoeBackend>;
template class zllm::runtime::mla_moe::MlaMoeModel<archetype::SparseMlaBackend>;
template class zllm::runtime::kimi_linear::KimiLinearModel<archetype::DeltaMlaBackend>;
template class zllm::runtime::glm5_next::Glm5NextModel<archetype::DeltaKpoolBackend>;
