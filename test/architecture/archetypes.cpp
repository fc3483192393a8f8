// Compiled, never linked: every runtime over the archetypes of what it asks for.
#include <zllm/backend/capability/archetype.h>
#include <zllm/runtime/dense/dense_model-inl.h>

template class zllm::runtime::dense::DenseModel<zllm::backend::archetype::PagedGqaBackend>;
