// The gated delta rule: a row in GB/s of states read and written, and a prompt in GFLOP/s.
// recurrent_bench [scalar|avx2|avx512 [beginning of a case's name]]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <zllm/base/cpu_features.h>
#include <zllm/kernel/cpu/dispatch/delta_rule_dispatch.h>

namespace zllm::kernel::cpu {
namespace {

struct Case {
  const char *name;
  std::size_t rows;
  std::size_t layers;  // distinct states, passed in turn as a model does
  bool replay;
};

constexpr DeltaRuleShape kShape = {.key_heads = 64,
                                   .value_heads = 64,
                                   .key_width = 128,
                                   .value_width = 128,
                                   .taps = 4,
                                   .gate = DecayGate::bounded,
                                   .lower_bound = -5.0F};
constexpr std::size_t kMatrices = 64 * 128 * 128;

std::vector<float> noise(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i * 2654435761U % 1024) / 512.0F - 1.0F;
  }
  return values;
}

struct Slot {
  std::vector<float> tail = noise(3 * channels_of(kShape));
  std::vector<float> matrices = noise(kMatrices);
};

class Layers {
 public:
  explicit Layers(const Case& shape)
      : rows_(shape.rows),
        mixed_(noise(rows_ * channels_of(kShape))),
        decay_(noise(rows_ * decays_of(kShape))),
        beta_(noise(rows_ * kShape.value_heads)),
        taps_(noise(channels_of(kShape) * kShape.taps)),
        rates_(noise(kShape.value_heads)),
        bias_(noise(decays_of(kShape))),
        output_(rows_ * values_of(kShape)),
        journal_(noise(rows_ * journal_of(kShape).width)),
        from_(shape.layers),
        to_(shape.layers) {}

  DeltaRuleParams params(std::size_t layer) {
    return {.shape = kShape,
            .rows = rows_,
            .mixed = mixed_.data(),
            .decay = decay_.data(),
            .beta = beta_.data(),
            .output = output_.data(),
            .mixed_stride = channels_of(kShape),
            .decay_stride = decays_of(kShape),
            .beta_stride = kShape.value_heads,
            .output_stride = values_of(kShape),
            .query_taps = taps_.data(),
            .key_taps = taps_.data(),
            .value_taps = taps_.data(),
            .rates = rates_.data(),
            .decay_bias = bias_.data(),
            .from = {.tail = from_[layer].tail.data(), .matrices = from_[layer].matrices.data()},
            .to = {.tail = to_[layer].tail.data(), .matrices = to_[layer].matrices.data()}};
  }
  DeltaRuleReplay replay(std::size_t layer) {
    const DeltaRuleParams params = this->params(layer);
    return {.shape = kShape,
            .rows = rows_,
            .journal = journal_.data(),
            .from = params.from,
            .to = params.to};
  }

 private:
  std::size_t rows_;
  std::vector<float> mixed_, decay_, beta_, taps_, rates_, bias_, output_, journal_;
  std::vector<Slot> from_, to_;
};

// One thread is timed by its processor time, which other programs disturb less.
double seconds(std::size_t threads) {
  timespec now{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double run_layers(const DeltaRuleKernels& kernels, Layers& layers, const Case& shape,
                  std::size_t threads) {
  std::atomic<std::size_t> next{0};
  const std::size_t tasks = shape.layers * kShape.value_heads;
  const auto work = [&] {
    std::vector<float> scratch(delta_rule_scratch(kShape) + 16);
    float *const aligned =
        scratch.data() + 16 - reinterpret_cast<std::uintptr_t>(scratch.data()) / 4 % 16;
    for (std::size_t i = next++; i < tasks; i = next++) {
      const std::size_t layer = i / kShape.value_heads;
      if (shape.replay) {
        kernels.replay(layers.replay(layer), i % kShape.value_heads, aligned);
      } else {
        kernels.delta_rule(layers.params(layer), i % kShape.value_heads, aligned);
      }
    }
  };
  const double start = seconds(threads);
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& thread : others) {
    thread.join();
  }
  return seconds(threads) - start;
}

void measure(const Case& shape, Isa isa, std::size_t threads) {
  Layers layers(shape);
  double best = 1e9;
  for (int repeat = 0; repeat < 7; ++repeat) {
    best = std::min(best, run_layers(delta_rule_kernels(isa), layers, shape, threads));
  }
  const double count = static_cast<double>(shape.layers);
  const double elements = count * static_cast<double>(kMatrices);
  // An element is read and written once a segment; a row decays it, adds a product to it and to two
  // sums, a replayed row only the first two.
  const double operations = elements * static_cast<double>(shape.rows) * (shape.replay ? 3.0 : 7.0);
  std::printf("%-24s %zu threads: %8.1f us a layer, %6.1f GB/s, %7.1f GFLOP/s\n", shape.name,
              threads, best / count * 1e6, elements * 8.0 / best / 1e9, operations / best / 1e9);
}

int run(int argc, char **argv) {
  Isa isa = best_isa(cpu_features());
  if (argc > 1) {
    isa = best_isa(cpu_features(), isa_named(argv[1]).value_or(isa));
  }
  std::printf("%s, 64 heads x 128 x 128\n", std::string(name(isa)).c_str());
  const Case cases[] = {{"1 row", 1, 24, false},
                        {"4 rows", 4, 24, false},
                        {"512 rows", 512, 1, false},
                        {"replay of 4 rows", 4, 24, true},
                        {"replay of 16 rows", 16, 24, true}};
  const std::string only = argc > 2 ? argv[2] : "";
  for (const Case& shape : cases) {
    if (!std::string(shape.name).starts_with(only)) {
      continue;
    }
    for (const std::size_t threads : {1U, 2U}) {
      measure(shape, isa, threads);
    }
  }
  return 0;
}

}  // namespace
}  // namespace zllm::kernel::cpu

int main(int argc, char **argv) { return zllm::kernel::cpu::run(argc, argv); }
