#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <time.h>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/encoding/encoding.h>

// Rates of routed experts: experts_bench [threads] [experts] [top_k] [width] [intermediate]
// [encoding], beside a dense product of as many rows and as many bytes.
namespace {

using namespace zllm;                // NOLINT
using namespace zllm::backend;       // NOLINT
using namespace zllm::backend::cpu;  // NOLINT
using encoding::Encoding;

struct Setup {
  unsigned threads = 2;
  std::uint32_t experts = 64;
  std::uint32_t top_k = 8;
  std::uint32_t width = 2048;
  std::uint32_t intermediate = 1536;
  Encoding encoding = Encoding::q4_0;
};

template <class T>
T need(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(result).value();
}

void need(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
  }
}

double seconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Work>
double best_of(unsigned threads, std::uint32_t rows, const Work& work) {
  // One thread is measured in its own time, which a busy machine disturbs less.
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  const std::size_t attempts = rows < 64 ? 100 : 8;
  double best = 1e9;
  for (std::size_t attempt = 0; attempt < attempts; ++attempt) {
    const double start = seconds(clock);
    work(attempt);
    best = std::min(best, seconds(clock) - start);
  }
  return best;
}

// A matrix whose half floats are all small and finite. Memory is not given back: loading may drop
// what it has read.
encoding::WeightView matrix(Encoding encoding, std::uint64_t rows, std::uint64_t columns) {
  static std::vector<std::unique_ptr<std::vector<std::byte>>> all;
  static std::minstd_rand random(1);
  const std::size_t size = rows * *encoding::row_bytes(encoding, columns);
  auto& bytes = *all.emplace_back(std::make_unique<std::vector<std::byte>>(size));
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random() & 0x37U);
  }
  return {.encoding = encoding, .rows = rows, .columns = columns, .bytes = bytes};
}

moe::Routing routing(const Setup& setup, std::size_t rows, std::uint32_t seed) {
  std::mt19937 random(seed);
  moe::Routing choice{.top_k = setup.top_k, .experts = {}, .weights = {}};
  std::vector<std::uint32_t> order(setup.experts);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t row = 0; row < rows; ++row) {
    std::shuffle(order.begin(), order.end(), random);
    const auto end = order.begin() + setup.top_k;
    std::sort(order.begin(), end);
    choice.experts.insert(choice.experts.end(), order.begin(), end);
  }
  choice.weights.assign(rows * setup.top_k, 0.125F);
  return choice;
}

Tensor filled(CpuBackend& backend, std::uint32_t rows, std::uint32_t columns) {
  Tensor tensor = need(backend.tensor(rows, columns));
  std::mt19937 random(rows);
  std::normal_distribution<float> normal;
  std::generate_n(tensor.data(), tensor.size(), [&] { return normal(random); });
  return tensor;
}

void measure(CpuBackend& backend, const Setup& setup, const Experts& experts, std::uint32_t rows) {
  const Tensor in = filled(backend, rows, setup.width);
  Tensor out = filled(backend, rows, setup.width);
  std::vector<moe::Routing> choices;
  for (std::uint32_t seed = 0; seed < 16; ++seed) {
    choices.push_back(routing(setup, rows, seed));
  }
  const activation::Spec act{};
  const double time = best_of(setup.threads, rows, [&](std::size_t attempt) {
    need(backend.experts(in, experts, choices[attempt % 16], act, LinearOutput::replace, out));
  });
  std::vector<bool> chosen(setup.experts);
  for (const std::uint32_t expert : choices[0].experts) {
    chosen[expert] = true;
  }
  const double values = 3.0 * setup.width * setup.intermediate;
  const auto used = static_cast<double>(std::count(chosen.begin(), chosen.end(), true));
  const auto& info = encoding::info(setup.encoding);
  const double bytes = used * values * info.block_bytes / info.block_elements;
  const double operations = 2 * values * rows * setup.top_k;
  std::printf("experts %4u rows: %8.3f ms  %7.2f GB/s  %8.1f GFLOP/s\n", rows, time * 1e3,
              bytes / time * 1e-9, operations / time * 1e-9);
}

struct Dense {
  Weight gate, up, down;
};

// The same with `copies` dense layers in turn, so that they come from memory as experts do.
void measure_dense(CpuBackend& backend, const Setup& setup, std::uint32_t rows,
                   std::uint32_t intermediate, std::uint32_t copies) {
  const auto load = [&](std::uint32_t n, std::uint32_t k) {
    return need(backend.load_matrix(matrix(setup.encoding, n, k), {.as_product = true}));
  };
  std::vector<Dense> layers;
  for (std::uint32_t i = 0; i < copies; ++i) {
    layers.push_back({load(intermediate, setup.width), load(intermediate, setup.width),
                      load(setup.width, intermediate)});
  }
  const Tensor in = filled(backend, rows, setup.width);
  Tensor left = filled(backend, rows, intermediate);
  Tensor right = filled(backend, rows, intermediate);
  Tensor out = filled(backend, rows, setup.width);
  const double time = best_of(setup.threads, rows, [&](std::size_t attempt) {
    const Dense& layer = layers[attempt % copies];
    const CpuBackend::Job first[] = {{.weight = &layer.gate, .out = &left},
                                     {.weight = &layer.up, .out = &right}};
    const CpuBackend::Job second[] = {{.weight = &layer.down, .out = &out}};
    need(backend.linear(in, first, LinearOutput::replace));
    need(backend.activate({}, left, right, left));
    need(backend.linear(left, second, LinearOutput::replace));
  });
  const double values = 3.0 * setup.width * intermediate;
  const auto& info = encoding::info(setup.encoding);
  std::printf("dense   %4u rows: %8.3f ms  %7.2f GB/s  %8.1f GFLOP/s\n", rows, time * 1e3,
              values * info.block_bytes / info.block_elements / time * 1e-9,
              2 * values * rows / time * 1e-9);
}

}  // namespace

int main(int argc, char **argv) {
  Setup setup;
  const auto number = [&](int place, std::uint32_t otherwise) {
    return argc > place ? static_cast<std::uint32_t>(std::atoi(argv[place])) : otherwise;
  };
  setup.threads = number(1, setup.threads);
  setup.experts = number(2, setup.experts);
  setup.top_k = number(3, setup.top_k);
  setup.width = number(4, setup.width);
  setup.intermediate = number(5, setup.intermediate);
  for (std::size_t i = 0; i < encoding::kEncodingCount && argc > 6; ++i) {
    if (encoding::info(static_cast<Encoding>(i)).name == argv[6]) {
      setup.encoding = static_cast<Encoding>(i);
    }
  }
  const auto backend = need(CpuBackend::create({.threads = setup.threads}));
  ExpertViews views;
  for (std::uint32_t i = 0; i < setup.experts; ++i) {
    views.gate.push_back(matrix(setup.encoding, setup.intermediate, setup.width));
    views.up.push_back(matrix(setup.encoding, setup.intermediate, setup.width));
    views.down.push_back(matrix(setup.encoding, setup.width, setup.intermediate));
  }
  const double start = seconds();
  const Experts experts = need(backend->load_experts(views));
  std::printf("load %.2f s\n", seconds() - start);
  for (const std::uint32_t rows : {1U, 2U, 8U, 64U, 512U}) {
    measure(*backend, setup, experts, rows);
  }
  // A row's bytes; a prompt's operations in one product; and in one as small as an expert's.
  measure_dense(*backend, setup, 1, setup.intermediate * setup.top_k, setup.experts / setup.top_k);
  measure_dense(*backend, setup, 512 * setup.top_k, setup.intermediate, 1);
  measure_dense(*backend, setup, 512 * setup.top_k / setup.experts, setup.intermediate,
                setup.experts);
}
