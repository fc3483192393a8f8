#pragma once

#include <optional>
#include <utility>

#include <zllm/backend/capability/backend.h>
#include <zllm/base/text.h>

namespace zllm::runtime::block {

// Makes views resident; errors name the tensor.
template <backend::Backend B>
class WeightLoader {
 public:
  using Weight = typename B::Weight;
  using View = encoding::WeightView;

  explicit WeightLoader(B& backend) : backend_(backend) {}

  B& backend() { return backend_; }

  Result<Weight> matrix(const View& view, backend::MatrixUse use = {.as_product = true}) {
    return named(view, backend_.load_matrix(view, use));
  }

  Result<Weight> vector(const View& view) { return named(view, backend_.load_vector(view)); }

  Result<std::optional<Weight>> matrix(const std::optional<View>& view) {
    if (!view) {
      return std::optional<Weight>();
    }
    ZLLM_TRY(Weight weight, matrix(*view));
    return std::optional<Weight>(std::move(weight));
  }

  Result<std::optional<Weight>> vector(const std::optional<View>& view) {
    if (!view) {
      return std::optional<Weight>();
    }
    ZLLM_TRY(Weight weight, vector(*view));
    return std::optional<Weight>(std::move(weight));
  }

  template <class Loaded>
  static Result<Loaded> named(const View& view, Result<Loaded> loaded) {
    if (!loaded.ok()) {
      return std::move(loaded).error().within(concat("tensor ", view.name));
    }
    return loaded;
  }

 private:
  B& backend_;
};

// The address of a weight that may be absent.
template <class Weight>
const Weight *pointer(const std::optional<Weight>& weight) {
  return weight ? &*weight : nullptr;
}

}  // namespace zllm::runtime::block
