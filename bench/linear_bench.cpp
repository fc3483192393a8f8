#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <time.h>

#include <zllm/base/cpu_features.h>
#include <zllm/encoding/encoding.h>
#include <zllm/kernel/cpu/dispatch/linear_dispatch.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/kernel/cpu/linear.h>
#include <zllm/kernel/cpu/packed_matrix.h>

// Rates of the packed products: linear_bench [isa] [threads] [encoding].
namespace {

using namespace zllm;               // NOLINT
using namespace zllm::kernel::cpu;  // NOLINT
using encoding::Encoding;

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Pages {
  explicit Pages(std::size_t size) : bytes(size) {
    data = static_cast<std::byte *>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(data, size, MADV_HUGEPAGE);
  }
  ~Pages() { munmap(data, bytes); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte *data = nullptr;
  std::size_t bytes;
};

// Bytes whose half floats are all small and finite.
std::vector<std::byte> random_blocks(std::size_t bytes) {
  std::mt19937 random(1);
  std::vector<std::byte> blocks(bytes);
  for (std::byte& byte : blocks) {
    byte = static_cast<std::byte>(random() & 0x37U);
  }
  return blocks;
}

template <class Work>
double best_of(int threads, std::uint64_t panels, const Work& work) {
  double best = 1e9;
  // One thread is measured in its own time, which a busy machine disturbs less.
  const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  for (int attempt = 0; attempt < 7; ++attempt) {
    const double start = seconds(clock);
    std::vector<std::thread> others;
    const auto count = static_cast<std::uint64_t>(threads);
    for (std::uint64_t i = 1; i < count; ++i) {
      others.emplace_back([&, i] { work(panels * i / count, panels * (i + 1) / count); });
    }
    work(0, panels / count);
    for (std::thread& other : others) {
      other.join();
    }
    best = std::min(best, seconds(clock) - start);
  }
  return best;
}

// m rows of k activations by a matrix of n rows.
struct Product {
  Encoding encoding;
  std::size_t m;
  std::uint64_t k;
  std::uint64_t n;
};

void measure(Isa isa, int threads, const Product& product) {
  const auto& [encoding, m, k, n] = product;
  const LinearKernels& kernels = linear_kernels(isa);
  const auto stored = encoding::row_bytes(encoding, k);
  const auto packed = packed_bytes(encoding, n, k);
  if (!stored || !packed) {
    return;
  }
  auto blocks = random_blocks(n * *stored);
  if (encoding == Encoding::mxfp4) {
    // Small exponents would measure how slow the processor is with subnormal numbers.
    const std::size_t block_bytes = encoding::info(encoding).block_bytes;
    for (std::size_t i = 0; i < blocks.size(); i += block_bytes) {
      blocks[i] = std::byte{120};
    }
  }
  Pages panels(*packed);
  const encoding::WeightView view = {
      .encoding = encoding, .rows = n, .columns = k, .bytes = blocks};
  const double pack_start = seconds(CLOCK_THREAD_CPUTIME_ID);
  if (!pack_panels(view, 0, panel_count(n), panels.data).ok()) {
    std::abort();
  }
  const double pack_time = seconds(CLOCK_THREAD_CPUTIME_ID) - pack_start;
  std::vector<float> inputs(k, 0.5F);
  std::vector<ActivationBlock> activations(m * k / 32);
  for (std::size_t row = 0; row < m; ++row) {
    kernels.quantize_row(
        {.input = inputs.data(), .columns = k, .blocks = activations.data() + row * k / 32});
  }
  std::vector<float> output(m * n);
  const double time = best_of(threads, panel_count(n), [&](std::uint64_t a, std::uint64_t b) {
    kernels.multiply_packed({.matrix = {encoding, n, k, panels.data},
                             .first_panel = a,
                             .end_panel = b,
                             .activations = activations.data(),
                             .activation_rows = m,
                             .output = {.values = output.data(), .stride = n}});
  });
  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(k * n);
  const std::string_view title = encoding::info(encoding).name;
  std::printf("%-7.*s m %4zu k %5zu n %6zu: %7.2f GB/s %6.3f TOPS  (pack %.2f GB/s)\n",
              static_cast<int>(title.size()), title.data(), m, static_cast<std::size_t>(k),
              static_cast<std::size_t>(n), static_cast<double>(*packed) / time * 1e-9,
              operations / time * 1e-12, static_cast<double>(n * *stored) / pack_time * 1e-9);
}

}  // namespace

int main(int argc, char **argv) {
  const Isa cap = argc > 1 ? isa_named(argv[1]).value_or(Isa::avx512) : Isa::avx512;
  const Isa isa = best_isa(cpu_features(), cap);
  const int threads = argc > 2 ? std::atoi(argv[2]) : 2;
  const std::string_view only = argc > 3 ? argv[3] : "";
  for (std::size_t i = 0; i < encoding::kEncodingCount; ++i) {
    const auto encoding = static_cast<Encoding>(i);
    if (!packable(encoding) || (!only.empty() && only != encoding::info(encoding).name)) {
      continue;
    }
    measure(isa, threads, {encoding, 1, 4096, 32768});
    measure(isa, threads, {encoding, 512, 576, 1536});
    measure(isa, threads, {encoding, 512, 1536, 576});
    measure(isa, threads, {encoding, 512, 4096, 4096});
  }
}
