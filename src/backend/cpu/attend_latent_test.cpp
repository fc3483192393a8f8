#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <zllm/attention/mla/reference.h>
#include <zllm/backend/cpu/latent_fixture-inl.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/latent.h>

namespace zllm::backend::cpu {
namespace {

using attention::mla::Spec;
using attention::sparse::Selection;
using kernel::cpu::Isa;

constexpr PlaneId kPlane{1};

// One sequence: everything that its rows bring.
struct Sequence {
  Sequence(const Spec& shape, std::size_t count, unsigned seed) : spec(shape), tokens(count) {
    Noise noise(seed);
    queries = noise.values(tokens * spec.heads * (spec.nope + spec.rope));
    latents = noise.values(tokens * spec.latent);
    keys = noise.values(tokens * spec.rope);
  }

  std::span<const float> rows(const std::vector<float>& values, std::size_t first,
                              std::size_t count) const {
    const std::size_t columns = values.size() / tokens;
    return std::span(values).subspan(first * columns, count * columns);
  }

  Spec spec;
  std::size_t tokens;
  std::vector<float> queries;
  std::vector<float> latents;
  std::vector<float> keys;
};

// Lifting matrices in f32, and views of them in some encoding and form.
struct Matrices {
  explicit Matrices(const Spec& shape) : spec(shape) {
    Noise noise(7);
    fused = noise.values(std::size_t{spec.heads} * (spec.nope + spec.value) * spec.latent,
                         1.0F / std::sqrt(static_cast<float>(spec.latent)));
  }

  LatentUpViews fused_views() const {
    LatentUpViews views;
    views.fused = {.encoding = encoding::Encoding::f32,
                   .rows = std::uint64_t{spec.heads} * (spec.nope + spec.value),
                   .columns = spec.latent,
                   .bytes = std::as_bytes(std::span(fused)),
                   .name = "kv_b"};
    return views;
  }

  // The same matrices as two.
  LatentUpViews split_views() {
    keys_transposed.resize(std::size_t{spec.heads} * spec.latent * spec.nope);
    values.clear();
    for (std::size_t head = 0; head < spec.heads; ++head) {
      const float *const from = fused.data() + head * (spec.nope + spec.value) * spec.latent;
      for (std::size_t n = 0; n < spec.nope; ++n) {
        for (std::size_t c = 0; c < spec.latent; ++c) {
          keys_transposed[(head * spec.latent + c) * spec.nope + n] = from[n * spec.latent + c];
        }
      }
      values.insert(values.end(), from + spec.nope * spec.latent,
                    from + (spec.nope + spec.value) * spec.latent);
    }
    LatentUpViews views;
    views.keys_transposed = {.encoding = encoding::Encoding::f32,
                             .rows = std::uint64_t{spec.heads} * spec.latent,
                             .columns = spec.nope,
                             .bytes = std::as_bytes(std::span(keys_transposed)),
                             .name = "k_b"};
    views.values = {.encoding = encoding::Encoding::f32,
                    .rows = std::uint64_t{spec.heads} * spec.value,
                    .columns = spec.latent,
                    .bytes = std::as_bytes(std::span(values)),
                    .name = "v_b"};
    return views;
  }

  Spec spec;
  std::vector<float> fused;
  std::vector<float> keys_transposed;
  std::vector<float> values;
};

struct Case {
  Isa isa = Isa::scalar;
  unsigned threads = 1;
  KvType type = KvType::f32;
  const Selection *selection = nullptr;  // of all rows
};

// Filled with NaN: what is read before it is written shows in the result.
PagedCache latent_cache(CpuBackend& backend, const Spec& spec, KvType type) {
  auto cache = backend.paged_cache(
      {.planes = {{.kind = PlaneKind::index_keys, .width = 3},
                  {.kind = PlaneKind::latents, .width = spec.latent + spec.rope}},
       .type = type,
       .pages = kTestPages});
  EXPECT_TRUE(cache.ok());
  const std::vector<std::byte> nans(cache->page(PageId{0}).size(), std::byte{0xFF});
  for (std::uint32_t page = 0; page < kTestPages; ++page) {
    EXPECT_TRUE(backend.import_page(*cache, PageId{page}, nans).ok());
  }
  return std::move(*cache);
}

Selection rows_of(const Selection& all, std::size_t first, std::size_t count) {
  Selection some;
  for (std::size_t row = first; row < first + count; ++row) {
    some.append_row(all.row(row));
  }
  return some;
}

// Rows [first, first + count) of a sequence whose earlier rows are in the cache.
std::vector<float> run_rows(CpuBackend& backend, PagedCache& cache, const Sequence& sequence,
                            const LatentUp& up, const Case& run, std::size_t first,
                            std::size_t count) {
  const Spec& spec = sequence.spec;
  const std::vector<PageId> pages = scattered_pages(0, sequence.tokens);
  const Tensor queries = tensor_of(sequence.rows(sequence.queries, first, count),
                                   spec.heads * (spec.nope + spec.rope));
  const Tensor latents = tensor_of(sequence.rows(sequence.latents, first, count), spec.latent);
  const Tensor keys = tensor_of(spec.rope != 0 ? sequence.rows(sequence.keys, first, count)
                                               : std::span<const float>(sequence.queries).first(1),
                                std::max(spec.rope, 1U));
  std::vector<float> garbage(count * spec.heads * spec.value, std::nanf(""));
  Tensor out = tensor_of(garbage, std::size_t{spec.heads} * spec.value);
  const PagedSegment segment = {
      .rows = static_cast<std::uint32_t>(count), .position = first, .pages = pages};
  const LatentInputs<Tensor> inputs = {
      .queries = &queries, .latents = &latents, .shared_keys = spec.rope != 0 ? &keys : nullptr};
  const Status status =
      run.selection == nullptr
          ? backend.attend_latent(cache, kPlane, spec, {&segment, 1}, inputs, up, out)
          : backend.attend_selected(cache, kPlane, spec, {&segment, 1},
                                    rows_of(*run.selection, first, count), inputs, up, out);
  EXPECT_TRUE(status.ok());
  return {out.data(), out.data() + out.size()};
}

// The whole sequence in chunks of the given sizes, the last of which repeats.
std::vector<float> run_chunks(const Sequence& sequence, const LatentUpViews& views, const Case& run,
                              const std::vector<std::size_t>& chunks) {
  const auto backend = test_backend(run.isa, run.threads);
  PagedCache cache = latent_cache(*backend, sequence.spec, run.type);
  const auto up = backend->load_latent_up(views, sequence.spec);
  EXPECT_TRUE(up.ok());
  std::vector<float> all;
  std::size_t first = 0;
  for (std::size_t i = 0; first < sequence.tokens; ++i) {
    const std::size_t count =
        std::min(chunks[std::min(i, chunks.size() - 1)], sequence.tokens - first);
    const auto rows = run_rows(*backend, cache, sequence, *up, run, first, count);
    all.insert(all.end(), rows.begin(), rows.end());
    first += count;
  }
  return all;
}

std::vector<float> expected(const Sequence& sequence, const Matrices& matrices, const Case& run) {
  std::vector<std::uint64_t> positions(sequence.tokens);
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  const std::vector<float> latents = stored(sequence.latents, run.type);
  const std::vector<float> keys = stored(sequence.keys, run.type);
  std::vector<float> out(sequence.tokens * sequence.spec.heads * sequence.spec.value);
  const Status status = attention::mla::attend_expanded(sequence.spec,
                                                        {.queries = sequence.queries,
                                                         .query_positions = positions,
                                                         .latents = latents,
                                                         .shared_keys = keys,
                                                         .up = matrices.fused,
                                                         .selection = run.selection},
                                                        out);
  EXPECT_TRUE(status.ok());
  return out;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double one = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    worst = std::isnan(one) ? HUGE_VAL : std::max(worst, one);
  }
  return worst;
}

std::string describe(const Spec& spec, const Case& run) {
  return concat(name(run.isa), run.type == KvType::f16 ? " f16" : " f32", " heads ", spec.heads,
                " latent ", spec.latent, " nope ", spec.nope, " rope ", spec.rope, " value ",
                spec.value, " threads ", run.threads);
}

// Values are of order 1: a few ulp of scores of order 4 and of sums.
constexpr double kBound = 4e-6;

const Spec kSpecs[] = {
    {.heads = 1, .latent = 1, .nope = 1, .rope = 0, .value = 1, .scale = 1.0F},
    {.heads = 3, .latent = 17, .nope = 5, .rope = 3, .value = 9, .scale = 0.35F},
    {.heads = 5, .latent = 40, .nope = 16, .rope = 0, .value = 7, .scale = 0.25F},
    {.heads = 20, .latent = 64, .nope = 12, .rope = 8, .value = 16, .scale = 0.22F},
    {.heads = 70, .latent = 33, .nope = 3, .rope = 3, .value = 2, .scale = 0.4F}};

TEST(AttendLatent, AgreesWithTheDefinition) {
  for (const Isa isa : present_isas()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const Spec& spec : kSpecs) {
        const Sequence sequence(spec, 70, 3);
        Matrices matrices(spec);
        const Case run = {.isa = isa, .threads = 2, .type = type};
        const auto wanted = expected(sequence, matrices, run);
        for (const auto& chunks : {std::vector<std::size_t>{70}, {1}, {31, 1, 1, 2, 64}}) {
          EXPECT_LE(difference(run_chunks(sequence, matrices.fused_views(), run, chunks), wanted),
                    kBound)
              << describe(spec, run);
        }
        EXPECT_LE(difference(run_chunks(sequence, matrices.split_views(), run, {70}), wanted),
                  kBound)
            << describe(spec, run) << " split matrices";
      }
    }
  }
}

TEST(AttendLatent, KeepsItsBoundAtDepth) {
  const Spec spec = {.heads = 3, .latent = 17, .nope = 5, .rope = 3, .value = 9, .scale = 0.35F};
  const Sequence sequence(spec, 1030, 4);
  const Matrices matrices(spec);
  for (const Isa isa : present_isas()) {
    const Case run = {.isa = isa, .threads = 3, .type = KvType::f16};
    EXPECT_LE(difference(run_chunks(sequence, matrices.fused_views(), run, {1023, 1, 2}),
                         expected(sequence, matrices, run)),
              kBound)
        << describe(spec, run);
  }
}

TEST(AttendLatent, BitsDependNeitherOnChunksNorOnThreads) {
  for (const Isa isa : present_isas()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const Spec& spec : {kSpecs[1], kSpecs[3]}) {
        if (isa == Isa::scalar && spec.heads > 3) {
          continue;  // slow, and nothing that the others do not show
        }
        const Sequence sequence(spec, 333, 5);
        const Matrices matrices(spec);
        const auto views = matrices.fused_views();
        const auto whole = run_chunks(sequence, views, {.isa = isa, .type = type}, {333});
        for (const auto& chunks : {std::vector<std::size_t>{332, 1}, {31, 2, 64, 7}, {257, 3}}) {
          for (const unsigned threads : {1U, 2U, 3U}) {
            const Case run = {.isa = isa, .threads = threads, .type = type};
            EXPECT_TRUE(same_bits(run_chunks(sequence, views, run, chunks), whole))
                << describe(spec, run) << " chunks of " << chunks[0];
          }
        }
      }
    }
  }
}

// Deep enough that tasks of whole spans, of splits and of everything meet.
TEST(AttendLatent, BitsAtDepthDependOnNoThreads) {
  const Spec& spec = kSpecs[1];
  constexpr std::size_t kTokens = 2 * kernel::cpu::kSpanSplits * kernel::cpu::kSplitKeys + 300;
  const Sequence sequence(spec, kTokens, 13);
  const Matrices matrices(spec);
  for (const KvType type : {KvType::f32, KvType::f16}) {
    std::vector<float> first;
    for (const unsigned threads : {1U, 2U, 3U, 5U}) {
      const auto several = test_backend(present_isas().back(), threads);
      PagedCache cache = latent_cache(*several, spec, type);
      const auto up = *several->load_latent_up(matrices.fused_views(), spec);
      const Case run = {.isa = present_isas().back(), .threads = threads, .type = type};
      run_rows(*several, cache, sequence, up, run, 0, kTokens - 1);
      const auto last = run_rows(*several, cache, sequence, up, run, kTokens - 1, 1);
      first = first.empty() ? last : first;
      EXPECT_TRUE(same_bits(first, last)) << describe(spec, run);
    }
  }
}

Selection everything(std::size_t rows) {
  std::vector<std::uint32_t> positions;
  Selection all;
  for (std::uint32_t row = 0; row < rows; ++row) {
    positions.push_back(row);
    all.append_row(positions);
  }
  return all;
}

// Row r keeps position j when a hash of both says so; always its own, but row 3 keeps nothing.
Selection scattered(std::size_t rows) {
  Selection some;
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t j = 0; j <= row && row != 3; ++j) {
      if (j == row || (row * 31 + j * j * 7) % 3 != 0) {
        positions.push_back(j);
      }
    }
    some.append_row(positions);
  }
  return some;
}

TEST(AttendSelected, OfEverythingGivesTheBitsOfNoSelection) {
  for (const Isa isa : present_isas()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      const Spec& spec = kSpecs[1];
      const Sequence sequence(spec, 300, 6);
      const Matrices matrices(spec);
      const auto views = matrices.fused_views();
      const Selection all = everything(300);
      const auto dense = run_chunks(sequence, views, {.isa = isa, .type = type}, {300});
      for (const unsigned threads : {1U, 3U}) {
        const Case run = {.isa = isa, .threads = threads, .type = type, .selection = &all};
        EXPECT_TRUE(same_bits(run_chunks(sequence, views, run, {299, 1}), dense))
            << describe(spec, run);
      }
    }
  }
}

TEST(AttendSelected, AgreesWithTheDefinitionInAnyChunks) {
  for (const Isa isa : present_isas()) {
    for (const KvType type : {KvType::f32, KvType::f16}) {
      for (const Spec& spec : {kSpecs[1], kSpecs[2]}) {
        const Sequence sequence(spec, 450, 8);
        const Matrices matrices(spec);
        const auto views = matrices.fused_views();
        const Selection some = scattered(450);
        const Case run = {.isa = isa, .threads = 1, .type = type, .selection = &some};
        const auto whole = run_chunks(sequence, views, run, {450});
        EXPECT_LE(difference(whole, expected(sequence, matrices, run)), kBound)
            << describe(spec, run);
        const Case cut = {.isa = isa, .threads = 3, .type = type, .selection = &some};
        EXPECT_TRUE(same_bits(run_chunks(sequence, views, cut, {400, 1, 1, 48}), whole))
            << describe(spec, run);
      }
    }
  }
}

TEST(AttendSelected, RefusesALaterPosition) {
  const Spec& spec = kSpecs[0];
  const Sequence sequence(spec, 1, 1);
  const Matrices matrices(spec);
  const auto backend = test_backend(Isa::scalar, 1);
  PagedCache cache = latent_cache(*backend, spec, KvType::f32);
  const Tensor ones = tensor_of(std::vector<float>{1.0F}, 1);
  Tensor out = tensor_of(std::vector<float>{0.0F}, 1);
  const std::vector<PageId> pages = scattered_pages(0, 6);
  const PagedSegment segment = {.rows = 1, .position = 5, .pages = pages};
  Selection later;
  later.append_row(std::vector<std::uint32_t>{2, 6});
  const Status status = backend->attend_selected(
      cache, kPlane, spec, {&segment, 1}, later, {.queries = &ones, .latents = &ones},
      *backend->load_latent_up(matrices.fused_views(), spec), out);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("row 0"), std::string::npos) << status.error().message;
}

TEST(AttendLatent, RunsSeveralSequencesInOneCall) {
  const Spec& spec = kSpecs[1];
  const Matrices matrices(spec);
  for (const Isa isa : present_isas()) {
    const Case run = {.isa = isa, .threads = 2, .type = KvType::f16};
    const std::size_t lengths[] = {1, 45, 300};
    const auto backend = test_backend(isa, 2);
    PagedCache cache = latent_cache(*backend, spec, run.type);
    const auto up = *backend->load_latent_up(matrices.fused_views(), spec);
    std::vector<float> queries;
    std::vector<float> latents;
    std::vector<float> keys;
    std::vector<float> wanted;
    std::vector<std::vector<PageId>> pages;
    std::vector<PagedSegment> segments;
    std::uint32_t rows = 0;
    for (std::uint32_t i = 0; i < 3; ++i) {
      const Sequence sequence(spec, lengths[i], 20 + i);
      queries.insert(queries.end(), sequence.queries.begin(), sequence.queries.end());
      latents.insert(latents.end(), sequence.latents.begin(), sequence.latents.end());
      keys.insert(keys.end(), sequence.keys.begin(), sequence.keys.end());
      const auto alone = run_chunks(sequence, matrices.fused_views(), run, {lengths[i]});
      wanted.insert(wanted.end(), alone.begin(), alone.end());
      pages.push_back(scattered_pages(i, lengths[i]));
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto count = static_cast<std::uint32_t>(lengths[i]);
      segments.push_back({.first_row = rows, .rows = count, .position = 0, .pages = pages[i]});
      rows += count;
    }
    const Tensor q = tensor_of(queries, spec.heads * (spec.nope + spec.rope));
    const Tensor c = tensor_of(latents, spec.latent);
    const Tensor k = tensor_of(keys, spec.rope);
    Tensor out = tensor_of(wanted, spec.heads * spec.value);
    std::fill_n(out.data(), out.size(), std::nanf(""));
    ASSERT_TRUE(backend
                    ->attend_latent(cache, kPlane, spec, segments,
                                    {.queries = &q, .latents = &c, .shared_keys = &k}, up, out)
                    .ok());
    EXPECT_TRUE(same_bits({out.data(), out.size()}, wanted)) << name(isa);
  }
}

TEST(AttendLatent, ShowsWhatIsNotFinite) {
  const Spec& spec = kSpecs[1];
  const Matrices matrices(spec);
  for (const Isa isa : present_isas()) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Sequence sequence(spec, 40, 12);
      sequence.latents[20 * spec.latent + 3] = bad;
      const auto out = run_chunks(sequence, matrices.fused_views(), {.isa = isa}, {40});
      const std::size_t width = std::size_t{spec.heads} * spec.value;
      EXPECT_TRUE(std::all_of(out.begin(), out.begin() + 20 * 27,
                              [](float value) { return std::isfinite(value); }));
      EXPECT_EQ(width, 27U);
      EXPECT_TRUE(std::none_of(out.begin() + 20 * 27, out.end(),
                               [](float value) { return std::isfinite(value); }));
    }
  }
}

// Matrices in other encodings are the f32 matrices of their decoded elements.
TEST(LatentUp, UsesEveryEncoding) {
  using encoding::Encoding;
  const Spec spec = {.heads = 3, .latent = 64, .nope = 32, .rope = 3, .value = 9, .scale = 0.2F};
  for (const Encoding format :
       {Encoding::f16, Encoding::bf16, Encoding::q8_0, Encoding::q4_0, Encoding::q5_1}) {
    Matrices matrices(spec);
    const auto exact = matrices.fused_views();
    std::vector<std::byte> bytes(exact.fused.rows *
                                 *encoding::row_bytes(format, exact.fused.columns));
    // Small bytes everywhere: in each of these formats moderate numbers.
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i % 2 == 1 ? 0x2A + i % 5 : i * 37 % 128);
    }
    encoding::decode(format, bytes, matrices.fused);
    for (float& value : matrices.fused) {
      ASSERT_TRUE(std::isfinite(value));
    }
    LatentUpViews views = exact;
    views.fused.encoding = format;
    views.fused.bytes = bytes;
    const Sequence sequence(spec, 40, 11);
    for (const Isa isa : present_isas()) {
      const Case run = {.isa = isa, .threads = 2};
      const auto decoded = run_chunks(sequence, exact, run, {40});
      EXPECT_TRUE(same_bits(run_chunks(sequence, views, run, {40}), decoded))
          << encoding::info(format).name << " " << name(isa);
      EXPECT_TRUE(same_bits(run_chunks(sequence, views, run, {3, 1, 36}), decoded))
          << encoding::info(format).name << " " << name(isa);
    }
  }
}

TEST(LatentUp, RefusesOtherShapesByName) {
  const auto backend = test_backend(Isa::scalar, 1);
  const Matrices matrices(kSpecs[1]);
  auto views = matrices.fused_views();
  views.fused.rows -= 1;
  const auto up = backend->load_latent_up(views, kSpecs[1]);
  ASSERT_FALSE(up.ok());
  EXPECT_NE(up.error().message.find("kv_b"), std::string::npos) << up.error().message;
}

}  // namespace
}  // namespace zllm::backend::cpu
