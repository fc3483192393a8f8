// Attention over pages: decode of one row at depth in GB/s of keys and values read, and prefill in
// GFLOP/s of what the rows see. attention_bench [scalar|avx2|avx512 [beginning of a case's name]]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include <zllm/base/cpu_features.h>
#include <zllm/kernel/cpu/dispatch/attention_dispatch.h>

namespace zllm::kernel::cpu {
namespace {

struct Free {
  void operator()(void *memory) const { std::free(memory); }
};
template <class T>
std::unique_ptr<T[], Free> allocate(std::size_t bytes) {
  bytes = (bytes + 4095) / 4096 * 4096;
  std::unique_ptr<T[], Free> memory(static_cast<T *>(std::aligned_alloc(4096, bytes)));
  std::memset(memory.get(), 0, bytes);
  return memory;
}

struct Case {
  const char *name;
  std::size_t depth;
  std::size_t rows;
  std::size_t query_heads;
  std::size_t kv_heads;
  std::size_t head;
  std::size_t layers;  // distinct layers, read in turn as a model does
};

class Layers {
 public:
  Layers(const Case& shape, KvType type) : shape_(shape), type_(type) {
    const std::size_t tokens = shape.depth + shape.rows;
    const std::size_t stride = shape.kv_heads * shape.head;
    std::vector<float> noise(tokens * stride);
    for (std::size_t i = 0; i < noise.size(); ++i) {
      noise[i] = static_cast<float>(i * 2654435761U % 1024) / 512.0F - 1.0F;
    }
    queries_.assign(shape.rows * shape.query_heads * shape.head, 0.1F);
    output_.resize(queries_.size());
    const std::size_t count = (tokens + kPageTokens - 1) / kPageTokens;
    pages_.resize(shape.layers);
    for (auto& layer : pages_) {
      for (std::size_t page = 0; page < count; ++page) {
        owned_.push_back(allocate<std::byte>(kv_page_bytes(shape.kv_heads, shape.head, type)));
        layer.push_back(owned_.back().get());
      }
      attention_kernels(Isa::scalar)
          .kv_append({.keys = noise.data(),
                      .values = noise.data(),
                      .key_row_stride = stride,
                      .value_row_stride = stride,
                      .rows = tokens,
                      .kv_heads = shape.kv_heads,
                      .head = shape.head,
                      .type = type,
                      .pages = layer.data()},
                     0, shape.kv_heads);
    }
  }

  AttentionParams params(std::size_t layer) {
    const std::size_t stride = shape_.query_heads * shape_.head;
    return {.queries = queries_.data(),
            .output = output_.data(),
            .query_row_stride = stride,
            .output_row_stride = stride,
            .rows = shape_.rows,
            .first_position = shape_.depth,
            .query_heads = shape_.query_heads,
            .kv_heads = shape_.kv_heads,
            .head = shape_.head,
            .scale = 0.125F,
            .type = type_,
            .pages = pages_[layer].data()};
  }

 private:
  Case shape_;
  KvType type_;
  std::vector<float> queries_;
  std::vector<float> output_;
  std::vector<std::unique_ptr<std::byte[], Free>> owned_;
  std::vector<std::vector<std::byte *>> pages_;
};

// One thread is timed by its processor time, which other programs disturb less.
double seconds(std::size_t threads) {
  timespec now{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// One pass over all layers; threads meet after each phase.
double run_layers(const AttentionKernels& kernels, Layers& layers, std::size_t count,
                  std::size_t threads) {
  const AttentionPlan plan = plan_attention(layers.params(0), threads);
  const auto partials = allocate<float>(plan.partial_floats * sizeof(float) + 64);
  std::vector<std::atomic<std::size_t>> next(2 * count);
  std::vector<std::atomic<std::size_t>> arrived(2 * count);
  const auto work = [&](float *scratch) {
    const AttentionMemory memory = {.scratch = scratch, .partials = partials.get()};
    for (std::size_t phase = 0; phase < 2 * count; ++phase) {
      const AttentionParams params = layers.params(phase / 2);
      const bool merging = phase % 2 == 1;
      const std::size_t tasks = merging ? plan.merge_count() : plan.task_count();
      for (std::size_t i = next[phase]++; i < tasks; i = next[phase]++) {
        if (merging) {
          kernels.attention_merge(params, plan, attention_merge_task(plan, i), memory);
        } else {
          kernels.attention(params, plan, attention_task(plan, i), memory);
        }
      }
      ++arrived[phase];
      while (arrived[phase].load() < threads) {
      }
    }
  };
  std::vector<std::unique_ptr<float[], Free>> scratch;
  for (std::size_t i = 0; i < threads; ++i) {
    scratch.push_back(allocate<float>(plan.scratch_floats * sizeof(float)));
  }
  const double start = seconds(threads);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.emplace_back(work, scratch[i].get());
  }
  work(scratch[0].get());
  for (std::thread& thread : others) {
    thread.join();
  }
  return seconds(threads) - start;
}

void measure(const Case& shape, KvType type, Isa isa, std::size_t threads) {
  Layers layers(shape, type);
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    best = std::min(best, run_layers(attention_kernels(isa), layers, shape.layers, threads));
  }
  const double count = static_cast<double>(shape.layers);
  const double keys = static_cast<double>(shape.depth + shape.rows);
  const double bytes = count * keys * static_cast<double>(shape.kv_heads * shape.head * 2) *
                       static_cast<double>(kv_element_bytes(type));
  const double rows = static_cast<double>(shape.rows);
  const double seen = rows * static_cast<double>(shape.depth) + rows * (rows + 1) / 2;
  const double operations =
      count * seen * static_cast<double>(shape.query_heads * shape.head) * 4.0;
  std::printf("%-30s %s %zu threads: %8.1f us a layer, %6.1f GB/s, %7.1f GFLOP/s\n", shape.name,
              type == KvType::f32 ? "f32" : "f16", threads, best / count * 1e6, bytes / best / 1e9,
              operations / best / 1e9);
}

int run(int argc, char **argv) {
  Isa isa = best_isa(cpu_features());
  const std::string_view only = argc > 2 ? argv[2] : "";
  if (argc > 1) {
    isa = best_isa(cpu_features(), isa_named(argv[1]).value_or(isa));
  }
  std::printf("%s\n", std::string(name(isa)).c_str());
  const Case cases[] = {{"decode 9/3 x 64 at 256", 256, 1, 9, 3, 64, 30},
                        {"decode 9/3 x 64 at 4096", 4096, 1, 9, 3, 64, 30},
                        {"decode 9/3 x 64 at 32768", 32768, 1, 9, 3, 64, 4},
                        {"decode 32/8 x 128 at 4096", 4096, 1, 32, 8, 128, 6},
                        {"decode 32/8 x 128 at 32768", 32768, 1, 32, 8, 128, 1},
                        {"prefill 9/3 x 64, 512 rows", 0, 512, 9, 3, 64, 4},
                        {"prefill 9/3 x 64, 4096 rows", 0, 4096, 9, 3, 64, 1},
                        {"prefill 32/8 x 128, 512 rows", 0, 512, 32, 8, 128, 1},
                        {"prefill 32/8 x 128, 4096 rows", 0, 4096, 32, 8, 128, 1}};
  for (const Case& shape : cases) {
    if (std::string_view(shape.name).substr(0, only.size()) != only) {
      continue;
    }
    for (const KvType type : {KvType::f16, KvType::f32}) {
      for (const std::size_t threads : {1U, 2U}) {
        measure(shape, type, isa, threads);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace zllm::kernel::cpu

int main(int argc, char **argv) { return zllm::kernel::cpu::run(argc, argv); }
