#include <algorithm>
#include <string_view>

#include <zllm/backend/cpu/latent_product.h>
#include <zllm/backend/cpu/state.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {
namespace {

// Rows of activations of one task: enough to read a head's matrix from a cache, few enough that
// the heads of a long chunk keep all threads busy.
constexpr std::size_t kTaskRows = 64;
// Matrix rows decoded at once.
constexpr std::size_t kDecodedRows = 8;

bool is_plain(encoding::Encoding encoding) {
  using enum encoding::Encoding;
  return encoding == f32 || encoding == f16 || encoding == bf16;
}

Status check_view(std::string_view field, const encoding::WeightView& view, std::uint64_t rows,
                  std::uint64_t columns) {
  if (view.rows != rows || view.columns != columns) {
    return Error{Code::invalid_argument,
                 concat("latent_up ", field, " ", quote(view.name), ": shape [", view.rows, ", ",
                        view.columns, "] instead of [", rows, ", ", columns, "]")};
  }
  const encoding::EncodingInfo& format = encoding::info(view.encoding);
  if (!format.is_weight || columns % format.block_elements != 0) {
    return Error{Code::unsupported, concat("latent_up ", field, " ", quote(view.name), ": rows of ",
                                           columns, " in ", format.name)};
  }
  return {};
}

// Calls part(rows of the matrix that may be used where they lie, the first one's number): the
// matrix itself, or a few rows at a time in f32.
template <class Part>
void for_plain_rows(const LatentProduct& product, const encoding::WeightView& matrix,
                    float *scratch, Part part) {
  if (is_plain(matrix.encoding)) {
    part(matrix, std::uint64_t{0});
    return;
  }
  for (std::uint64_t first = 0; first < matrix.rows; first += kDecodedRows) {
    const encoding::WeightView rows = encoding::slice_rows(
        matrix, first, std::min<std::uint64_t>(kDecodedRows, matrix.rows - first));
    const std::span<float> elements(scratch, rows.rows * rows.columns);
    if (!product.latent.decode(rows.encoding, rows.bytes.data(), elements.size(), scratch)) {
      encoding::decode(rows.encoding, rows.bytes, elements);
    }
    part(encoding::WeightView{.encoding = encoding::Encoding::f32,
                              .rows = rows.rows,
                              .columns = rows.columns,
                              .bytes = std::as_bytes(elements)},
         first);
  }
}

// output[r][0 .. matrix.rows) = matrix * activations[r].
void multiply(const LatentProduct& product, const encoding::WeightView& matrix,
              const kernel::cpu::TransposedProduct& rows, float *scratch) {
  for_plain_rows(product, matrix, scratch,
                 [&](const encoding::WeightView& part, std::uint64_t first) {
                   product.linear.multiply_plain(
                       {.encoding = part.encoding,
                        .weights = part.bytes.data(),
                        .columns = part.columns,
                        .first_row = 0,
                        .end_row = part.rows,
                        .activations = rows.activations,
                        .activation_rows = rows.activation_rows,
                        .activation_stride = rows.activation_stride,
                        .output = {.values = rows.output + first, .stride = rows.output_stride}});
                 });
}

// output[r] = transposed matrix * activations[r].
void multiply_transposed(const LatentProduct& product, const encoding::WeightView& matrix,
                         const kernel::cpu::TransposedProduct& rows, float *scratch) {
  for_plain_rows(product, matrix, scratch,
                 [&](const encoding::WeightView& part, std::uint64_t first) {
                   kernel::cpu::TransposedProduct some = rows;
                   some.encoding = part.encoding;
                   some.weights = part.bytes.data();
                   some.matrix_rows = part.rows;
                   some.columns = part.columns;
                   some.activations = rows.activations + first;
                   some.accumulate = first != 0;
                   product.latent.multiply_transposed(some);
                 });
}

// Calls task(head, first row, rows, scratch of the thread) for all heads of all rows.
template <class Task>
Status for_heads(const LatentProduct& product, std::uint32_t rows, Task task) {
  const attention::mla::Spec& spec = product.spec;
  const std::size_t scratch = kDecodedRows * std::max(spec.latent, spec.nope);
  ZLLM_TRY(product.decoded.grow(scratch * product.threads.threads()));
  const std::size_t blocks = (rows + kTaskRows - 1) / kTaskRows;
  product.threads.parallel_for(blocks * spec.heads, 1,
                               [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
                                 for (std::uint64_t index = begin; index < end; ++index) {
                                   // A head's blocks one after the other, while its matrix is in a
                                   // cache.
                                   const std::size_t first = index % blocks * kTaskRows;
                                   task(static_cast<std::size_t>(index / blocks), first,
                                        std::min<std::size_t>(kTaskRows, rows - first),
                                        product.decoded.data() + scratch * worker);
                                 }
                               });
  return {};
}

}  // namespace

Status LatentProduct::absorb(const Tensor& queries, std::uint32_t first_row, std::uint32_t rows,
                             float *absorbed) const {
  const std::size_t from_width = std::size_t{spec.nope} + spec.rope;
  const std::size_t to_width = std::size_t{spec.latent} + spec.rope;
  const LatentUpViews& views = up.views;
  return for_heads(
      *this, rows, [&](std::size_t head, std::size_t first, std::size_t count, float *scratch) {
        const float *const from =
            queries.row(first_row + static_cast<std::uint32_t>(first)) + head * from_width;
        float *const to = absorbed + (first * spec.heads + head) * to_width;
        const kernel::cpu::TransposedProduct product = {.activations = from,
                                                        .activation_rows = count,
                                                        .activation_stride = queries.columns(),
                                                        .output = to,
                                                        .output_stride = spec.heads * to_width};
        if (views.fused.rows != 0) {
          const std::uint64_t head_rows = std::uint64_t{spec.nope} + spec.value;
          multiply_transposed(*this, encoding::slice_rows(views.fused, head * head_rows, spec.nope),
                              product, scratch);
        } else {
          multiply(*this,
                   encoding::slice_rows(views.keys_transposed, head * spec.latent, spec.latent),
                   product, scratch);
        }
        for (std::size_t row = 0; row < count; ++row) {
          std::copy_n(from + row * queries.columns() + spec.nope, spec.rope,
                      to + row * spec.heads * to_width + spec.latent);
        }
      });
}

Status LatentProduct::lift(const float *contexts, std::uint32_t first_row, std::uint32_t rows,
                           Tensor& out) const {
  const std::size_t width = std::size_t{spec.latent} + spec.rope;
  const LatentUpViews& views = up.views;
  return for_heads(
      *this, rows, [&](std::size_t head, std::size_t first, std::size_t count, float *scratch) {
        const std::uint64_t head_rows = std::uint64_t{spec.nope} + spec.value;
        const encoding::WeightView matrix =
            views.fused.rows != 0
                ? encoding::slice_rows(views.fused, head * head_rows + spec.nope, spec.value)
                : encoding::slice_rows(views.values, head * spec.value, spec.value);
        float *const to =
            out.row(first_row + static_cast<std::uint32_t>(first)) + head * spec.value;
        multiply(*this, matrix,
                 {.activations = contexts + (first * spec.heads + head) * width,
                  .activation_rows = count,
                  .activation_stride = spec.heads * width,
                  .output = to,
                  .output_stride = out.columns()},
                 scratch);
      });
}

Result<LatentUp> CpuBackend::load_latent_up(const LatentUpViews& views,
                                            const attention::mla::Spec& spec) {
  const std::uint64_t heads = spec.heads;
  if (views.fused.rows != 0) {
    ZLLM_TRY(check_view("fused", views.fused, heads * (spec.nope + spec.value), spec.latent));
  } else {
    ZLLM_TRY(check_view("keys_transposed", views.keys_transposed, heads * spec.latent, spec.nope));
    ZLLM_TRY(check_view("values", views.values, heads * spec.value, spec.latent));
  }
  return LatentUp{.views = views};
}

}  // namespace zllm::backend::cpu
