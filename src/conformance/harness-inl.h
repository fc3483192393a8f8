#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <zllm/backend/capability/backend.h>
#include <zllm/backend/capability/paged.h>
#include <zllm/conformance/matrix.h>
#include <zllm/conformance/sequences.h>

// Between a backend's types and the suite's floats.
namespace zllm::conformance {

template <backend::Backend B>
Result<typename B::Tensor> tensor_of(B& backend, std::span<const float> values,
                                     std::size_t columns) {
  const auto rows = static_cast<std::uint32_t>(values.size() / columns);
  ZLLM_TRY(typename B::Tensor tensor, backend.tensor(rows, static_cast<std::uint32_t>(columns)));
  tensor.set_rows(rows);
  ZLLM_TRY(backend.write(values, tensor));
  return tensor;
}

// Full of NaN: what is not written shows.
template <backend::Backend B>
Result<typename B::Tensor> empty_tensor(B& backend, std::size_t rows, std::size_t columns) {
  return tensor_of(backend, std::vector<float>(rows * columns, NAN), columns);
}

template <backend::Backend B>
Result<std::vector<float>> values_of(B& backend, const typename B::Tensor& tensor,
                                     std::size_t count) {
  ZLLM_TRY(backend.submit().wait());
  std::vector<float> values(count);
  ZLLM_TRY(backend.read(tensor, values));
  return values;
}

template <backend::Backend B>
Result<typename B::Weight> vector_of(B& backend, std::span<const float> values) {
  return backend.load_vector({.encoding = encoding::Encoding::f32,
                              .rows = 1,
                              .columns = values.size(),
                              .bytes = std::as_bytes(values),
                              .name = "vector"});
}

// With pages full of NaN.
template <backend::PagedBackend B>
Result<typename B::PagedCache> cache_of(B& backend, const backend::PlaneSpec& plane,
                                        backend::KvType type, const PageTables& pages) {
  // A narrow plane before it: planes begin anywhere in a page.
  const backend::PlaneSpec first = {.kind = backend::PlaneKind::latents, .width = 3};
  const backend::PagedCacheSpec spec = {
      .planes = {first, plane}, .type = type, .pages = pages.capacity()};
  ZLLM_TRY(typename B::PagedCache cache, backend.paged_cache(spec));
  const std::vector<std::byte> nans(backend.page_bytes(spec), std::byte{0xFF});
  for (std::uint32_t page = 0; page < pages.capacity(); ++page) {
    ZLLM_TRY(backend.import_page(cache, PageId{page}, nans));
  }
  return cache;
}
constexpr backend::PlaneId kPlane{1};

}  // namespace zllm::conformance
