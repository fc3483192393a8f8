#include <zllm/weight/container/gguf_tensor_type.h>

#include <array>
#include <optional>
#include <string_view>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

using encoding::Encoding;

enum class Standing : std::uint8_t { readable, unsupported, removed };

struct TensorType {
  std::string_view name;
  Standing standing;
  Encoding encoding;
};

constexpr TensorType readable(std::string_view name, Encoding encoding) {
  return {name, Standing::readable, encoding};
}
constexpr TensorType unsupported(std::string_view name) {
  return {name, Standing::unsupported, Encoding::f32};
}
constexpr TensorType removed(std::string_view name) {
  return {name, Standing::removed, Encoding::f32};
}

// By id. Q8_1 and Q8_K are activations of other engines' kernels and never weights.
constexpr std::array<TensorType, 43> kTypes = {
    readable("F32", Encoding::f32),
    readable("F16", Encoding::f16),
    readable("Q4_0", Encoding::q4_0),
    readable("Q4_1", Encoding::q4_1),
    removed("Q4_2"),
    removed("Q4_3"),
    readable("Q5_0", Encoding::q5_0),
    readable("Q5_1", Encoding::q5_1),
    readable("Q8_0", Encoding::q8_0),
    unsupported("Q8_1"),
    readable("Q2_K", Encoding::q2_k),
    readable("Q3_K", Encoding::q3_k),
    readable("Q4_K", Encoding::q4_k),
    readable("Q5_K", Encoding::q5_k),
    readable("Q6_K", Encoding::q6_k),
    unsupported("Q8_K"),
    readable("IQ2_XXS", Encoding::iq2_xxs),
    readable("IQ2_XS", Encoding::iq2_xs),
    readable("IQ3_XXS", Encoding::iq3_xxs),
    readable("IQ1_S", Encoding::iq1_s),
    readable("IQ4_NL", Encoding::iq4_nl),
    readable("IQ3_S", Encoding::iq3_s),
    readable("IQ2_S", Encoding::iq2_s),
    readable("IQ4_XS", Encoding::iq4_xs),
    readable("I8", Encoding::i8),
    readable("I16", Encoding::i16),
    readable("I32", Encoding::i32),
    readable("I64", Encoding::i64),
    readable("F64", Encoding::f64),
    readable("IQ1_M", Encoding::iq1_m),
    readable("BF16", Encoding::bf16),
    removed("Q4_0_4_4"),
    removed("Q4_0_4_8"),
    removed("Q4_0_8_8"),
    readable("TQ1_0", Encoding::tq1_0),
    readable("TQ2_0", Encoding::tq2_0),
    removed("IQ4_NL_4_4"),
    removed("IQ4_NL_4_8"),
    removed("IQ4_NL_8_8"),
    readable("MXFP4", Encoding::mxfp4),
    unsupported("NVFP4"),
    unsupported("Q1_0"),
    unsupported("Q2_0"),
};

}  // namespace

Result<Encoding> gguf_tensor_encoding(std::uint32_t id) {
  if (id >= kTypes.size()) {
    return Error{Code::invalid_file, concat("unknown tensor type ", id)};
  }
  const TensorType& type = kTypes[id];
  switch (type.standing) {
    case Standing::readable:
      return type.encoding;
    case Standing::unsupported:
      return Error{Code::unsupported, concat("type ", type.name, " (", id, ") is not supported")};
    case Standing::removed:
      return Error{Code::invalid_file,
                   concat("type ", type.name, " (", id, ") was removed from the format")};
  }
  return Error{Code::internal, "a tensor type of unknown standing"};
}

}  // namespace zllm::weight
