#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/cpu_features.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/dispatch/attention_dispatch.h>

namespace zllm::kernel::cpu {
namespace {

std::vector<Isa> present() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (best_isa(cpu_features(), isa) == isa) {
      all.push_back(isa);
    }
  }
  return all;
}

struct Shape {
  std::size_t tokens = 0;
  std::size_t query_heads = 0;
  std::size_t kv_heads = 0;
  std::size_t head = 0;
  KvType type = KvType::f32;
  std::size_t window = 0;
  float softcap = 0.0F;
  bool sinks = false;
};

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
template <class T>
using Aligned = std::unique_ptr<T[], Free>;

// Filled with NaN: what is read before it is written shows in the result.
template <class T>
Aligned<T> allocate(std::size_t count) {
  const std::size_t bytes = (count * sizeof(T) + kPageAlignment) / kPageAlignment * kPageAlignment;
  Aligned<T> memory(static_cast<T *>(std::aligned_alloc(kPageAlignment, bytes)));
  std::memset(memory.get(), 0xFF, bytes);
  return memory;
}

// Keys, values and queries of every position of one sequence, in pages once appended.
class Sequence {
 public:
  explicit Sequence(const Shape& shape) : shape_(shape) {
    std::mt19937 random(static_cast<unsigned>(shape.tokens + 31 * shape.head));
    std::normal_distribution<float> normal;
    const auto fill = [&](std::size_t heads) {
      std::vector<float> rows(shape.tokens * heads * shape.head);
      std::generate(rows.begin(), rows.end(), [&] { return normal(random); });
      return rows;
    };
    queries = fill(shape.query_heads);
    keys = fill(shape.kv_heads);
    values = fill(shape.kv_heads);
    for (std::size_t i = 0; i < shape.query_heads; ++i) {
      sinks.push_back(normal(random) * 3.0F);
    }
    output.assign(queries.size(), std::nanf(""));
    for (std::size_t page = 0; page * kPageTokens < shape.tokens; ++page) {
      owned_.push_back(allocate<std::byte>(kv_page_bytes(shape.kv_heads, shape.head, shape.type)));
      pages.push_back(owned_.back().get());
    }
  }

  void append(const AttentionKernels& kernels, std::size_t first, std::size_t rows) {
    const std::size_t stride = shape_.kv_heads * shape_.head;
    const KvAppendParams params = {.keys = keys.data() + first * stride,
                                   .values = values.data() + first * stride,
                                   .key_row_stride = stride,
                                   .value_row_stride = stride,
                                   .rows = rows,
                                   .first_position = first,
                                   .kv_heads = shape_.kv_heads,
                                   .head = shape_.head,
                                   .type = shape_.type,
                                   .pages = pages.data()};
    kernels.kv_append(params, 0, 1);
    kernels.kv_append(params, 1, shape_.kv_heads);
  }

  AttentionParams params(std::size_t first, std::size_t rows) {
    const std::size_t stride = shape_.query_heads * shape_.head;
    return {.queries = queries.data() + first * stride,
            .output = output.data() + first * stride,
            .query_row_stride = stride,
            .output_row_stride = stride,
            .rows = rows,
            .first_position = first,
            .query_heads = shape_.query_heads,
            .kv_heads = shape_.kv_heads,
            .head = shape_.head,
            .window = shape_.window,
            .scale = 1.0F / std::sqrt(static_cast<float>(shape_.head)),
            .softcap = shape_.softcap,
            .sinks = shape_.sinks ? sinks.data() : nullptr,
            .type = shape_.type,
            .pages = pages.data()};
  }

  // What attention reads: rounded as the page stores it.
  std::vector<double> stored(const std::vector<float>& exact) const {
    std::vector<double> rounded(exact.size());
    std::transform(exact.begin(), exact.end(), rounded.begin(),
                   [this](float value) { return stored(value); });
    return rounded;
  }
  double stored(float value) const {
    if (shape_.type == KvType::f32 || value == 0.0F) {
      return value;
    }
    const int exponent = std::max(std::ilogb(value), -14);
    const double step = std::ldexp(1.0, exponent - 10);
    return std::nearbyint(value / step) * step;
  }

  std::vector<float> queries;
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<float> sinks;
  std::vector<float> output;
  std::vector<std::byte *> pages;

 private:
  Shape shape_;
  std::vector<Aligned<std::byte>> owned_;
};

// All tasks of the plan in reverse order: no task may depend on another.
void run(const AttentionKernels& kernels, const AttentionParams& params, std::size_t threads) {
  const AttentionPlan plan = plan_attention(params, threads);
  const auto scratch = allocate<float>(plan.scratch_floats);
  const auto partials = allocate<float>(plan.partial_floats);
  const AttentionMemory memory = {.scratch = scratch.get(), .partials = partials.get()};
  for (std::size_t i = plan.task_count(); i-- > 0;) {
    kernels.attention(params, plan, attention_task(plan, i), memory);
  }
  for (std::size_t i = 0; i < plan.merge_count(); ++i) {
    kernels.attention_merge(params, plan, attention_merge_task(plan, i), memory);
  }
}

// Rows in f64, straight from the definition.
class Reference {
 public:
  Reference(const Shape& shape, const Sequence& sequence)
      : shape_(shape),
        sequence_(sequence),
        keys_(sequence.stored(sequence.keys)),
        values_(sequence.stored(sequence.values)) {}

  std::vector<double> row(std::size_t position, std::size_t query_head) const {
    const std::size_t head = shape_.head;
    const std::size_t kv_head = query_head / (shape_.query_heads / shape_.kv_heads);
    const std::size_t first =
        shape_.window != 0 && position >= shape_.window ? position + 1 - shape_.window : 0;
    const double sink = shape_.sinks ? sequence_.sinks[query_head] : -HUGE_VAL;
    std::vector<double> scores;
    for (std::size_t j = first; j <= position; ++j) {
      scores.push_back(score(position, query_head, j * shape_.kv_heads + kv_head));
    }
    const double largest = std::max(sink, *std::max_element(scores.begin(), scores.end()));
    double sum = std::exp(sink - largest);
    std::vector<double> output(head);
    for (std::size_t j = first; j <= position; ++j) {
      const double weight = std::exp(scores[j - first] - largest);
      sum += weight;
      for (std::size_t d = 0; d < head; ++d) {
        output[d] += weight * values_[(j * shape_.kv_heads + kv_head) * head + d];
      }
    }
    for (double& value : output) {
      value /= sum;
    }
    return output;
  }

 private:
  double score(std::size_t position, std::size_t query_head, std::size_t key_row) const {
    const std::size_t head = shape_.head;
    const float *query =
        sequence_.queries.data() + (position * shape_.query_heads + query_head) * head;
    double dot = 0;
    for (std::size_t d = 0; d < head; ++d) {
      dot += query[d] * keys_[key_row * head + d];
    }
    dot /= std::sqrt(static_cast<double>(head));
    const double cap = shape_.softcap;
    return cap != 0 ? cap * std::tanh(dot / cap) : dot;
  }

  const Shape& shape_;
  const Sequence& sequence_;
  std::vector<double> keys_;
  std::vector<double> values_;
};

std::string describe(const Shape& shape, Isa isa) {
  return concat(name(isa), " tokens ", shape.tokens, " heads ", shape.query_heads, "/",
                shape.kv_heads, " head ", shape.head, " window ", shape.window,
                shape.type == KvType::f16 ? " f16" : " f32");
}

// Rows [first, tokens) against f64. Values are of order 1; the bound is 2e-6 absolute: a few ulp
// of scores of order 4 and of sums of weights.
void expect_near_reference(const Shape& shape, std::size_t first, Isa isa) {
  const AttentionKernels& kernels = attention_kernels(isa);
  Sequence sequence(shape);
  sequence.append(kernels, 0, shape.tokens);
  run(kernels, sequence.params(first, shape.tokens - first), 2);
  const Reference reference(shape, sequence);
  double worst = 0;
  for (std::size_t position = first; position < shape.tokens; ++position) {
    for (std::size_t query_head = 0; query_head < shape.query_heads; ++query_head) {
      const auto expected = reference.row(position, query_head);
      const float *output =
          sequence.output.data() + (position * shape.query_heads + query_head) * shape.head;
      for (std::size_t d = 0; d < shape.head; ++d) {
        const double difference = std::abs(output[d] - expected[d]);
        worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
      }
    }
  }
  EXPECT_LE(worst, 2e-6) << describe(shape, isa) << " first " << first;
}

TEST(Attention, AgreesWithTheDefinition) {
  for (const Isa isa : present()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const std::size_t rows : {1U, 7U, 40U}) {
        for (const std::size_t first : {0U, 31U, 32U, 33U}) {
          expect_near_reference(
              {.tokens = first + rows, .query_heads = 9, .kv_heads = 3, .head = 64, .type = type},
              first, isa);
        }
      }
    }
  }
}

TEST(Attention, TakesAnyHeadAndGroup) {
  for (const Isa isa : present()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const std::size_t head : {1U, 16U, 37U, 80U, 128U}) {
        for (const std::size_t group : {1U, 3U, 4U, 14U}) {
          expect_near_reference(
              {.tokens = 259, .query_heads = 2 * group, .kv_heads = 2, .head = head, .type = type},
              257, isa);
        }
      }
    }
  }
}

TEST(Attention, KeepsItsBoundAtDepth) {
  for (const Isa isa : present()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const std::size_t first : {511U, 512U, 513U, 2000U}) {
        expect_near_reference(
            {.tokens = first + 5, .query_heads = 4, .kv_heads = 2, .head = 32, .type = type}, first,
            isa);
      }
    }
  }
}

TEST(Attention, HonoursWindowsSinksAndSoftCaps) {
  for (const Isa isa : present()) {
    for (const std::size_t window : {1U, 5U, 32U, 33U, 256U, 500U}) {
      for (const std::size_t first : {0U, 31U, 250U, 530U}) {
        for (const bool extras : {false, true}) {
          expect_near_reference({.tokens = first + 40,
                                 .query_heads = 3,
                                 .kv_heads = 1,
                                 .head = 16,
                                 .window = window,
                                 .softcap = extras ? 2.0F : 0.0F,
                                 .sinks = extras},
                                first, isa);
        }
      }
    }
  }
}

// A sequence run in given chunks, each appended just before its rows run.
std::vector<float> run_chunks(const Shape& shape, Isa isa, const std::vector<std::size_t>& chunks,
                              std::size_t threads) {
  const AttentionKernels& kernels = attention_kernels(isa);
  Sequence sequence(shape);
  std::size_t first = 0;
  for (std::size_t i = 0; first < shape.tokens; ++i) {
    const std::size_t rows = std::min(chunks[i % chunks.size()], shape.tokens - first);
    sequence.append(kernels, first, rows);
    run(kernels, sequence.params(first, rows), threads);
    first += rows;
    // Pages that no later row can see go away, as a sliding cache would have it.
    for (std::size_t page = 0; shape.window != 0 && page < sequence.pages.size(); ++page) {
      if ((page + 1) * kPageTokens + shape.window <= first + 1) {
        sequence.pages[page] = nullptr;
      }
    }
  }
  return sequence.output;
}

TEST(Attention, BitsDependNeitherOnChunksNorOnThreads) {
  for (const Isa isa : present()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const std::size_t window : {0U, 33U, 300U}) {
        for (const std::size_t group : {1U, 3U, 4U}) {
          const Shape shape = {.tokens = 333,
                               .query_heads = 2 * group,
                               .kv_heads = 2,
                               .head = group == 4 ? 80U : 24U,
                               .type = type,
                               .window = window,
                               .sinks = window == 33};
          const auto whole = run_chunks(shape, isa, {shape.tokens}, 1);
          EXPECT_TRUE(std::all_of(whole.begin(), whole.end(),
                                  [](float value) { return std::isfinite(value); }));
          const std::vector<std::vector<std::size_t>> cuts = {
              {1}, {332, 1}, {32}, {31, 2, 64, 7}, {257, 3}, {5}};
          for (const auto& chunks : cuts) {
            const std::size_t threads = chunks[0] % 3 == 1 ? 16 : 2;
            const auto cut = run_chunks(shape, isa, chunks, threads);
            EXPECT_EQ(std::memcmp(whole.data(), cut.data(), whole.size() * sizeof(float)), 0)
                << describe(shape, isa) << " chunks of " << chunks[0] << " threads " << threads;
          }
        }
      }
    }
  }
}

TEST(Attention, ShowsWhatIsNotFinite) {
  for (const Isa isa : present()) {
    const Shape shape = {.tokens = 40, .query_heads = 3, .kv_heads = 1, .head = 16};
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Sequence sequence(shape);
      sequence.values[20 * 16 + 3] = bad;
      sequence.keys[35 * 16 + 1] = bad;
      sequence.append(attention_kernels(isa), 0, shape.tokens);
      run(attention_kernels(isa), sequence.params(0, shape.tokens), 1);
      const auto output = [&](std::size_t row, std::size_t d) {
        return sequence.output[row * 48 + d];
      };
      EXPECT_TRUE(std::isfinite(output(19, 3)));
      EXPECT_FALSE(std::isfinite(output(20, 3)));
      EXPECT_TRUE(std::isfinite(output(34, 4)));
      EXPECT_FALSE(std::isfinite(output(39, 3)));
    }
  }
}

TEST(KvAppend, RoundsHalvesToNearestEven) {
  for (const Isa isa : present()) {
    const Shape shape = {
        .tokens = 33, .query_heads = 2, .kv_heads = 2, .head = 24, .type = KvType::f16};
    Sequence sequence(shape);
    const std::vector<std::pair<float, std::uint16_t>> cases = {
        {1.0F, 0x3C00},        {1.0F + 0x1p-11F, 0x3C00}, {1.0F + 0x1.8p-10F, 0x3C02},
        {-2.0F, 0xC000},       {65504.0F, 0x7BFF},        {65519.0F, 0x7BFF},
        {65520.0F, 0x7C00},    {0x1p-24F, 0x0001},        {0x1p-25F, 0x0000},
        {0x1.8p-24F, 0x0002},  {0x1.ffcp-15F, 0x0400},    {-0.0F, 0x8000},
        {-0x1.8p-15F, 0x8300}, {1e30F, 0x7C00},           {0x1.ff8p-15F, 0x03FF}};
    for (std::size_t i = 0; i < cases.size(); ++i) {
      sequence.keys[(32 * 2 + 1) * 24 + i] = cases[i].first;
      sequence.values[(32 * 2 + 1) * 24 + i] = cases[i].first;
    }
    sequence.append(attention_kernels(isa), 0, shape.tokens);
    std::vector<std::uint16_t> head(kv_head_elements(24));
    std::memcpy(head.data(), sequence.pages[1] + head.size() * 2, head.size() * 2);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_EQ(head[i * kPageTokens], cases[i].second) << name(isa) << " " << cases[i].first;
      EXPECT_EQ(head[24 * kPageTokens + i], cases[i].second) << name(isa) << cases[i].first;
    }
    EXPECT_EQ(head[24 * kPageTokens + 24], 0) << "padding is written";
    EXPECT_EQ(head[1], 0xFFFF) << "other tokens are not";
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu
