#include <algorithm>
#include <limits>
#include <numeric>

#include <zllm/attention/sparse/indexer.h>
#include <zllm/attention/sparse/kpool.h>
#include <zllm/backend/cpu/latent_fixture-inl.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/top_indices.h>

namespace zllm::backend::cpu {
namespace {

using attention::sparse::IndexerSpec;
using attention::sparse::KpoolSpec;
using attention::sparse::Selection;
using kernel::cpu::Isa;

struct Rows {
  Rows(const IndexerSpec& spec, std::size_t count, unsigned seed) : tokens(count) {
    Noise noise(seed);
    queries = noise.values(tokens * spec.heads * spec.width);
    keys = noise.values(tokens * spec.width);
    weights = noise.values(tokens * spec.heads);
    gates = noise.values(tokens * spec.width);
  }

  std::span<const float> part(const std::vector<float>& values, std::size_t first,
                              std::size_t count) const {
    const std::size_t columns = values.size() / tokens;
    return std::span(values).subspan(first * columns, count * columns);
  }

  std::size_t tokens;
  std::vector<float> queries;
  std::vector<float> keys;
  std::vector<float> weights;
  std::vector<float> gates;
};

struct Case {
  Isa isa = Isa::scalar;
  unsigned threads = 1;
  KvType type = KvType::f32;
};

std::vector<std::uint64_t> positions_of(std::size_t rows) {
  std::vector<std::uint64_t> positions(rows);
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  return positions;
}

// Selections of a sequence run in chunks, the last size of which repeats; pooled where bias is
// given. Slots take turns.
class Indexer {
 public:
  Indexer(const KpoolSpec& spec, const Case& run, std::span<const float> bias)
      : spec_(spec),
        backend_(test_backend(run.isa, run.threads)),
        cache_(*backend_->paged_cache({.planes = {{.kind = PlaneKind::latents, .width = 5},
                                                  {.kind = PlaneKind::index_keys,
                                                   .width = spec.indexer.width,
                                                   .pool = spec.pool}},
                                       .type = run.type,
                                       .pages = kTestPages})),
        slots_(*SlotCache::make(
            {.planes = {OpenPoolSpec{.width = spec.indexer.width, .pool = spec.pool}},
             .slots = 2})),
        bias_(bias) {
    const std::vector<std::byte> nans(cache_.page(PageId{0}).size(), std::byte{0xFF});
    for (std::uint32_t page = 0; page < kTestPages; ++page) {
      EXPECT_TRUE(backend_->import_page(cache_, PageId{page}, nans).ok());
    }
  }

  Result<Selection> select(const Rows& rows, std::size_t first, std::size_t count) {
    const IndexerSpec& spec = spec_.indexer;
    const std::vector<PageId> pages = scattered_pages(1, rows.tokens);
    const Tensor queries =
        tensor_of(rows.part(rows.queries, first, count), spec.heads * spec.width);
    const Tensor keys = tensor_of(rows.part(rows.keys, first, count), spec.width);
    const Tensor weights = tensor_of(rows.part(rows.weights, first, count), spec.heads);
    const Tensor gates = tensor_of(rows.part(rows.gates, first, count), spec.width);
    const IndexInputs<Tensor> inputs = {
        .queries = &queries, .keys = &keys, .weights = &weights, .gates = &gates};
    const PagedSegment segment = {
        .rows = static_cast<std::uint32_t>(count), .position = first, .pages = pages};
    Selection out;
    if (bias_.empty()) {
      ZLLM_TRY(backend_->select_keys(cache_, PlaneId{1}, spec, {&segment, 1}, inputs, out));
      return out;
    }
    const SlotSegment way = {.rows = segment.rows,
                             .position = first,
                             .from = first == 0 ? std::nullopt : std::optional(SlotId{turn_}),
                             .to = SlotId{1 - turn_},
                             .journal = count <= kJournalRows};
    turn_ = 1 - turn_;
    const encoding::WeightView view = {.encoding = encoding::Encoding::f32,
                                       .rows = 1,
                                       .columns = bias_.size(),
                                       .bytes = std::as_bytes(bias_)};
    ZLLM_TRY(const Weight bias, backend_->load_vector(view));
    ZLLM_TRY(backend_->select_pools(
        {.pages = &cache_, .keys = PlaneId{1}, .slots = &slots_, .open_pool = SlotPlaneId{0}},
        spec_, {&segment, 1}, {&way, 1}, inputs, bias, out));
    return out;
  }

  std::vector<float> state() {
    const auto state = slots_.state(SlotId{turn_}, SlotPlaneId{0});
    return {state.begin(), state.end()};
  }
  std::vector<float> journal() {
    const auto journal = slots_.journal(SlotId{turn_}, SlotPlaneId{0});
    return {journal.begin(), journal.end()};
  }

 private:
  KpoolSpec spec_;
  std::unique_ptr<CpuBackend> backend_;
  PagedCache cache_;
  SlotCache slots_;
  std::span<const float> bias_;
  std::uint32_t turn_ = 0;
};

Selection select_chunks(Indexer& indexer, const Rows& rows,
                        const std::vector<std::size_t>& chunks) {
  Selection all;
  std::size_t first = 0;
  for (std::size_t i = 0; first < rows.tokens; ++i) {
    const std::size_t count = std::min(chunks[std::min(i, chunks.size() - 1)], rows.tokens - first);
    const auto some = indexer.select(rows, first, count);
    EXPECT_TRUE(some.ok());
    for (std::size_t row = 0; some.ok() && row < count; ++row) {
      all.append_row(some->row(row));
    }
    first += count;
  }
  return all;
}

std::string describe(const KpoolSpec& spec, const Case& run) {
  return concat(name(run.isa), run.type == KvType::f16 ? " f16" : " f32", " heads ",
                spec.indexer.heads, " width ", spec.indexer.width, " top_k ", spec.indexer.top_k,
                " pool ", spec.pool, " threads ", run.threads);
}

const std::vector<std::size_t> kCuts[] = {{300}, {1}, {31, 1, 2, 64, 7}, {299, 1}};

TEST(SelectKeys, AgreesWithTheReferenceInAnyChunks) {
  const IndexerSpec specs[] = {
      {.heads = 1, .width = 1, .top_k = 4, .score_scale = 1.0F, .weight_scale = 1.0F},
      {.heads = 5, .width = 17, .top_k = 33, .score_scale = 0.25F, .weight_scale = 0.5F},
      {.heads = 11, .width = 40, .top_k = 1, .score_scale = 0.2F, .weight_scale = 0.3F}};
  for (const IndexerSpec& spec : specs) {
    const Rows rows(spec, 300, 2);
    for (const KvType type : {KvType::f32, KvType::f16}) {
      const auto wanted =
          attention::sparse::select_keys(spec, {.queries = rows.queries,
                                                .weights = rows.weights,
                                                .query_positions = positions_of(300),
                                                .keys = stored(rows.keys, type)});
      ASSERT_TRUE(wanted.ok());
      for (const Isa isa : present_isas()) {
        for (std::size_t i = 0; i < std::size(kCuts); ++i) {
          const Case run = {.isa = isa, .threads = static_cast<unsigned>(i % 3 + 1), .type = type};
          Indexer indexer({.indexer = spec}, run, {});
          EXPECT_TRUE(select_chunks(indexer, rows, kCuts[i]) == *wanted)
              << describe({.indexer = spec}, run) << " chunks " << i;
        }
      }
    }
  }
}

// Whole numbers have exact scores, many of which are equal.
TEST(SelectKeys, PrefersTheLowerPositionOfEqualScores) {
  const IndexerSpec spec = {.heads = 3, .width = 4, .top_k = 20};
  Rows rows(spec, 200, 3);
  for (auto *const values : {&rows.queries, &rows.keys, &rows.weights}) {
    for (float& value : *values) {
      value = std::round(value);
    }
  }
  const auto wanted = attention::sparse::select_keys(spec, {.queries = rows.queries,
                                                            .weights = rows.weights,
                                                            .query_positions = positions_of(200),
                                                            .keys = rows.keys});
  ASSERT_TRUE(wanted.ok());
  for (const Isa isa : present_isas()) {
    const Case run = {.isa = isa, .threads = 2, .type = KvType::f16};
    Indexer indexer({.indexer = spec}, run, {});
    EXPECT_TRUE(select_chunks(indexer, rows, {200}) == *wanted) << name(isa);
  }
}

TEST(SelectKeys, NamesTheRowOfAScoreThatIsNotFinite) {
  const IndexerSpec spec = {.heads = 2, .width = 3, .top_k = 8};
  for (const Isa isa : present_isas()) {
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Rows rows(spec, 60, 4);
      rows.weights[40 * 2] = bad;
      Indexer indexer({.indexer = spec}, {.isa = isa}, {});
      const auto selected = indexer.select(rows, 0, 60);
      ASSERT_FALSE(selected.ok());
      EXPECT_NE(selected.error().message.find("select_keys: row 40"), std::string::npos)
          << selected.error().message;
    }
  }
}

TEST(SelectPools, AgreesWithTheReferenceInAnyChunks) {
  for (const std::uint32_t pool : {1U, 2U, 3U, 4U, 5U, 40U}) {
    for (const bool tail : {true, false}) {
      const KpoolSpec spec = {.indexer = {.heads = 3,
                                          .width = 9,
                                          .top_k = pool == 40 ? 85U : 24U,
                                          .score_scale = 0.3F,
                                          .weight_scale = 0.6F},
                              .pool = pool,
                              .select_tail = tail};
      const Rows rows(spec.indexer, 300, pool);
      const std::vector<float> bias = Noise(9).values(std::size_t{pool} * spec.indexer.width);
      const auto wanted =
          attention::sparse::select_pools(spec, {.queries = rows.queries,
                                                 .weights = rows.weights,
                                                 .query_positions = positions_of(300),
                                                 .keys = rows.keys,
                                                 .gates = rows.gates,
                                                 .position_bias = bias});
      ASSERT_TRUE(wanted.ok());
      for (const Isa isa : present_isas()) {
        std::vector<float> state;
        for (std::size_t i = 0; i < std::size(kCuts); ++i) {
          const Case run = {.isa = isa, .threads = static_cast<unsigned>(i % 3 + 1)};
          Indexer indexer(spec, run, bias);
          EXPECT_TRUE(select_chunks(indexer, rows, kCuts[i]) == *wanted)
              << describe(spec, run) << " chunks " << i;
          EXPECT_TRUE(state.empty() || same_bits(state, indexer.state()))
              << describe(spec, run) << " chunks " << i;
          state = indexer.state();
        }
      }
    }
  }
}

// In a cache of halves the pooled keys are rounded, the same in any chunks.
TEST(SelectPools, ChunksGiveTheSameInHalves) {
  const KpoolSpec spec = {.indexer = {.heads = 2, .width = 20, .top_k = 15}, .pool = 3};
  const Rows rows(spec.indexer, 300, 5);
  const std::vector<float> bias = Noise(6).values(60);
  for (const Isa isa : present_isas()) {
    Indexer whole(spec, {.isa = isa, .type = KvType::f16}, bias);
    const Selection wanted = select_chunks(whole, rows, {300});
    for (const auto& chunks : kCuts) {
      Indexer indexer(spec, {.isa = isa, .threads = 2, .type = KvType::f16}, bias);
      EXPECT_TRUE(select_chunks(indexer, rows, chunks) == wanted) << name(isa);
    }
  }
}

TEST(SelectPools, KeepsAJournalOfTheRows) {
  const KpoolSpec spec = {.indexer = {.heads = 1, .width = 3, .top_k = 4}, .pool = 4};
  const Rows rows(spec.indexer, 20, 7);
  const std::vector<float> bias(12, 0.0F);
  Indexer indexer(spec, {}, bias);
  ASSERT_TRUE(indexer.select(rows, 0, 18).ok());
  ASSERT_TRUE(indexer.select(rows, 18, 2).ok());
  const std::vector<float> journal = indexer.journal();
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_EQ(journal[row * 6 + d], rows.keys[(18 + row) * 3 + d]);
      EXPECT_EQ(journal[row * 6 + 3 + d], rows.gates[(18 + row) * 3 + d]);
    }
  }
}

TEST(TopIndices, AgreesWithTheReference) {
  kernel::cpu::TopIndicesScratch scratch;
  for (const std::size_t count : {1U, 2U, 7U, 100U, 5000U}) {
    for (const float step : {0.0F, 0.5F, 100.0F}) {
      std::vector<float> scores = Noise(static_cast<unsigned>(count)).values(count);
      for (float& score : scores) {
        score = step == 0.0F ? score : std::round(score / step) * step;  // zeros of both signs too
      }
      for (const std::size_t keep : {std::size_t{0}, std::size_t{1}, count / 3, count}) {
        std::vector<std::uint32_t> best(keep + 1);
        ASSERT_FALSE(kernel::cpu::top_indices(scores, keep, scratch, best.data()).has_value());
        best.pop_back();
        EXPECT_EQ(best, attention::sparse::top_indices(scores, keep)) << count << " " << keep;
      }
    }
  }
}

}  // namespace
}  // namespace zllm::backend::cpu
