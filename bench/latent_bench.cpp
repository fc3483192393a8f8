// Latent attention and sparse selection of a large model's ratios: one decode row at depth, dense
// and over selected keys, and rows of a prompt.
// latent_bench [scalar|avx2|avx512 [threads [encoding of the lifting matrices [heads]]]]; half as
// many index heads
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/base/cpu_features.h>

namespace zllm::backend::cpu {
namespace {

struct Dims {
  attention::mla::Spec mla = {
      .heads = 64, .latent = 512, .nope = 192, .rope = 64, .value = 256, .scale = 0.0625F};
  attention::sparse::IndexerSpec indexer = {
      .heads = 32, .width = 128, .top_k = 2048, .score_scale = 0.088F, .weight_scale = 0.177F};
};

constexpr PlaneId kLatents{0};
constexpr PlaneId kIndexKeys{1};
constexpr std::uint32_t kFewRows = 4;  // are measured more often

unsigned threads = 1;
encoding::Encoding format = encoding::Encoding::f16;

// One thread is timed by its processor time, which other programs disturb less.
double seconds() {
  timespec now{};
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Work>
double best_of(int repeats, Work work) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds();
    work();
    best = std::min(best, seconds() - start);
  }
  return best;
}

template <class T>
T need(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  return std::move(*result);
}

void need(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
  }
}

float noise(std::size_t i) { return static_cast<float>(i * 2654435761U % 4096) / 2048.0F - 1.0F; }

Tensor noise_tensor(std::uint32_t rows, std::uint32_t columns) {
  Tensor tensor = need(Tensor::make(rows, columns));
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    tensor.data()[i] = noise(i + columns);
  }
  return tensor;
}

// A half in [-1, 1] of either sign.
std::uint16_t noise_half(std::size_t i) {
  const auto bits = static_cast<std::uint32_t>(i * 2654435761U >> 8);
  return static_cast<std::uint16_t>((bits & 0x83FFU) | (0x3000U + (bits >> 16 & 3U) * 0x400U));
}

#if defined(__x86_64__)
// Sixteen independent sums, twice what hides the latency of a product.
__attribute__((target("avx512f"), noinline)) float multiply_registers(int rounds) {
  constexpr std::size_t kSums = 16;
  const __m512 factor = _mm512_set1_ps(0.999F);
  __m512 sums[kSums];
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSums; ++i) {
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  }
  for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kSums; ++i) {
      sums[i] = _mm512_fmadd_ps(sums[i], factor, factor);
    }
  }
  __m512 sum = factor;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSums; ++i) {
    sum = _mm512_add_ps(sum, sums[i]);
  }
  float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  return lanes[0];
}

double peak_avx512() {
  volatile int rounds = 1000000;  // not known when compiled, so every call counts
  volatile float kept = 0;
  const double time = best_of(7, [&] { kept = multiply_registers(rounds); });
  return 16.0 * 32.0 * rounds / time;
}
#endif

struct Rig {
  Rig(CpuBackend& cpu, const Dims& sizes, std::uint32_t depth, std::uint32_t rows)
      : backend(cpu),
        dims(sizes),
        count(rows),
        cache(need(cpu.paged_cache(
            {.planes = {{.kind = PlaneKind::latents, .width = dims.mla.latent + dims.mla.rope},
                        {.kind = PlaneKind::index_keys, .width = dims.indexer.width}},
             .type = KvType::f16,
             .pages = (depth + rows + 31) / 32}))),
        queries(noise_tensor(rows, dims.mla.heads * (dims.mla.nope + dims.mla.rope))),
        latents(noise_tensor(rows, dims.mla.latent)),
        keys(noise_tensor(rows, dims.mla.rope)),
        out(noise_tensor(rows, dims.mla.heads * dims.mla.value)),
        index_queries(noise_tensor(rows, dims.indexer.heads * dims.indexer.width)),
        index_keys(noise_tensor(rows, dims.indexer.width)),
        weights(noise_tensor(rows, dims.indexer.heads)) {
    std::vector<std::uint16_t> halves(cache.page(PageId{0}).size() / 2);
    for (std::uint32_t page = 0; page < cache.spec().pages; ++page) {
      // Neighbours in the sequence are not neighbours in memory.
      pages.emplace_back(page ^ (cache.spec().pages > (page ^ 5U) ? 5U : 0U));
      for (std::size_t i = 0; i < halves.size(); ++i) {
        halves[i] = noise_half(i + page * 7919U);
      }
      need(cpu.import_page(cache, PageId{page}, std::as_bytes(std::span(halves))));
    }
    const std::uint64_t matrix_rows =
        std::uint64_t{dims.mla.heads} * (dims.mla.nope + dims.mla.value);
    matrix.resize(matrix_rows * *encoding::row_bytes(format, dims.mla.latent));
    for (std::size_t i = 0; i + 1 < matrix.size(); i += 2) {
      // Moderate numbers as halves and as the scales of blocks.
      const std::uint16_t half = noise_half(i);
      std::memcpy(matrix.data() + i, &half, sizeof(half));
    }
    LatentUpViews views;
    views.fused = {
        .encoding = format, .rows = matrix_rows, .columns = dims.mla.latent, .bytes = matrix};
    up = need(cpu.load_latent_up(views, dims.mla));
    segment = {.rows = rows, .position = depth, .pages = pages};
  }

  void dense() {
    need(backend.attend_latent(cache, kLatents, dims.mla, {&segment, 1},
                               {.queries = &queries, .latents = &latents, .shared_keys = &keys}, up,
                               out));
  }
  void select() {
    const IndexInputs<Tensor> inputs = {
        .queries = &index_queries, .keys = &index_keys, .weights = &weights, .gates = nullptr};
    need(backend.select_keys(cache, kIndexKeys, dims.indexer, {&segment, 1}, inputs, selection));
  }
  void sparse() {
    need(backend.attend_selected(cache, kLatents, dims.mla, {&segment, 1}, selection,
                                 {.queries = &queries, .latents = &latents, .shared_keys = &keys},
                                 up, out));
  }
  void select_own() {
    selection.clear();
    for (std::uint32_t row = 0; row < count; ++row) {
      selection.append_row(std::vector{static_cast<std::uint32_t>(segment.position) + row});
    }
  }

  CpuBackend& backend;
  Dims dims;
  std::uint32_t count;
  PagedCache cache;
  Tensor queries;
  Tensor latents;
  Tensor keys;
  Tensor out;
  Tensor index_queries;
  Tensor index_keys;
  Tensor weights;
  std::vector<std::byte> matrix;
  std::vector<PageId> pages;
  LatentUp up;
  PagedSegment segment;
  attention::sparse::Selection selection;
};

void line(const char *what, double time, double keys, double operations, double peak) {
  std::printf("  %-34s %9.3f ms  %8.1f ns/key  %7.1f GFLOP/s  %4.0f%% of peak\n", what, time * 1e3,
              time / keys * 1e9, operations / time / 1e9, 100.0 * operations / time / peak);
}

// Medians of runs in turn, so that a disturbance meets all alike.
struct Times {
  std::vector<double> up, dense, select, sparse;
};

double median(std::vector<double>& times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

Times take_turns(Rig& rig, int repeats) {
  const auto time_of = [](auto work) { return best_of(1, work); };
  Times times;
  for (int i = 0; i < repeats; ++i) {
    rig.select_own();
    times.up.push_back(time_of([&] { rig.sparse(); }));
    times.dense.push_back(time_of([&] { rig.dense(); }));
    times.select.push_back(time_of([&] { rig.select(); }));
    times.sparse.push_back(time_of([&] { rig.sparse(); }));
  }
  return times;
}

void measure(CpuBackend& backend, const Dims& dims, std::uint32_t depth, std::uint32_t rows,
             double peak) {
  Rig rig(backend, dims, depth, rows);
  const double count = rows;
  const double seen = count * depth + count * (count + 1) / 2;
  const double kept = count * std::min<double>(dims.indexer.top_k, depth);
  const double score = 2.0 * dims.indexer.heads * dims.indexer.width;
  const double attend = 2.0 * dims.mla.heads * (2.0 * dims.mla.latent + dims.mla.rope);
  const double lift = 2.0 * count * dims.mla.heads * dims.mla.latent *
                      static_cast<double>(dims.mla.nope + dims.mla.value);
  take_turns(rig, 1);
  Times times = take_turns(rig, rows <= kFewRows ? 11 : 3);
  const double up = median(times.up);
  const double dense = median(times.dense);
  const double select = median(times.select);
  const double sparse = median(times.sparse);
  std::printf("%u rows at %u, %u heads, %u threads\n", rows, depth, dims.mla.heads,
              backend.threads());
  line("absorb and lift", up, count, lift, peak);
  line("dense attention without these", dense - up, seen, seen * attend, peak);
  line("selection", select, seen, seen * score, peak);
  line("selected attention without these", sparse - up, kept, kept * attend, peak);
  std::printf("  in all: dense %.3f ms, selected %.3f ms: %.3f of dense\n", dense * 1e3,
              (select + sparse) * 1e3, (select + sparse) / dense);
}

int run(int argc, char **argv) {
  using kernel::cpu::Isa;
  const Isa isa = kernel::cpu::isa_named(argc > 1 ? argv[1] : "").value_or(Isa::avx512);
  threads = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
  format = encoding::encoding_named(argc > 3 ? argv[3] : "").value_or(encoding::Encoding::f16);
  const auto backend = need(CpuBackend::create({.threads = threads, .isa_cap = isa}));
  double peak = 1e11;
#if defined(__x86_64__)
  if (kernel::cpu::best_isa(cpu_features()) == Isa::avx512) {
    peak = peak_avx512() * threads;
  }
#endif
  std::printf("%s, peak of avx512 %.1f GFLOP/s\n",
              std::string(kernel::cpu::name(backend->isa())).c_str(), peak / 1e9);
  Dims dims;
  if (argc > 4) {
    dims.mla.heads = static_cast<std::uint32_t>(std::atoi(argv[4]));
    dims.indexer.heads = dims.mla.heads / 2;
  }
  measure(*backend, dims, 32767, 1, peak);
  measure(*backend, dims, 32764, 4, peak);
  measure(*backend, dims, 8192, 64, peak);
  return 0;
}

}  // namespace
}  // namespace zllm::backend::cpu

int main(int argc, char **argv) { return zllm::backend::cpu::run(argc, argv); }
