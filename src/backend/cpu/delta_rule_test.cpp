#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/attention/delta_rule/reference.h>
#include <zllm/backend/cpu/cpu_backend.h>

namespace zllm::backend::cpu {
namespace {

namespace delta = attention::delta_rule;
using delta::DecayGate;
using delta::DecayWidth;
using kernel::cpu::Isa;
using Slot = std::optional<SlotId>;

constexpr SlotPlaneId kPlane{1};  // behind a pool, whose width is odd

const std::vector<delta::Spec> kSpecs = {
    {.key_heads = 1, .value_heads = 1, .key_width = 1, .value_width = 1, .taps = 1},
    {.key_heads = 1,
     .value_heads = 1,
     .key_width = 3,
     .value_width = 17,
     .taps = 4,
     .decay_gate = DecayGate::bounded,
     .lower_bound = -5.0F},
    {.key_heads = 3, .value_heads = 3, .key_width = 17, .value_width = 3, .taps = 4},
    {.key_heads = 3,
     .value_heads = 6,
     .key_width = 17,
     .value_width = 17,
     .taps = 4,
     .decay_width = DecayWidth::head,
     .rates_are_logarithms = false},
    {.key_heads = 2,
     .value_heads = 4,
     .key_width = 32,
     .value_width = 65,
     .taps = 2,
     .decay_gate = DecayGate::bounded,
     .lower_bound = -5.0F},
    // Whole blocks of columns at every instruction set.
    {.key_heads = 1, .value_heads = 2, .key_width = 5, .value_width = 160, .taps = 3},
};

std::vector<float> noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

std::unique_ptr<CpuBackend> backend_of(unsigned threads, Isa isa = Isa::avx512) {
  return std::move(CpuBackend::create({.threads = threads, .isa_cap = isa}).value());
}

Weight vector_of(CpuBackend& backend, std::span<const float> values) {
  return std::move(backend
                       .load_vector({.encoding = encoding::Encoding::f32,
                                     .rows = 1,
                                     .columns = values.size(),
                                     .bytes = std::as_bytes(values),
                                     .name = {}})
                       .value());
}

// Weights and some rows of inputs of a layer.
struct Layer {
  delta::Spec spec;
  std::vector<float> taps, rates, decay_bias, mixed, decay, beta;

  Layer(const delta::Spec& of, std::size_t rows)
      : spec(of),
        taps(noise(delta::channels(of) * of.taps, 1)),
        rates(noise(of.value_heads, 2)),
        decay_bias(noise(delta::decays(of), 3)),
        mixed(noise(rows * delta::channels(of), 4)),
        decay(noise(rows * delta::decays(of), 5)),
        beta(noise(rows * of.value_heads, 6)) {
    if (!of.rates_are_logarithms) {
      std::ranges::transform(rates, rates.begin(), [](float rate) { return -std::exp(rate); });
    }
  }
  std::size_t values() const { return std::size_t{spec.value_heads} * spec.value_width; }
};

// A layer on a backend, with slots.
class Runner {
 public:
  Runner(CpuBackend& backend, const Layer& layer, std::uint32_t slots = 8)
      : backend_(backend),
        layer_(layer),
        cache_(
            std::move(backend
                          .slot_cache({.planes = {OpenPoolSpec{.width = 3, .pool = 4}, layer.spec},
                                       .slots = slots})
                          .value())) {
    const std::size_t keys =
        std::size_t{layer.spec.key_heads} * layer.spec.key_width * layer.spec.taps;
    const std::span<const float> taps(layer.taps);
    weights_.push_back(vector_of(backend, taps.first(keys)));
    weights_.push_back(vector_of(backend, taps.subspan(keys, keys)));
    weights_.push_back(vector_of(backend, taps.subspan(2 * keys)));
    weights_.push_back(vector_of(backend, layer.rates));
    weights_.push_back(vector_of(backend, layer.decay_bias));
  }

  // A round whose row i is row `first` + i of the layer's inputs.
  std::vector<float> run(std::span<const SlotSegment> segments, std::size_t first,
                         std::uint32_t rows) {
    const Tensor mixed = inputs(layer_.mixed, delta::channels(layer_.spec), first, rows);
    const Tensor decay = inputs(layer_.decay, delta::decays(layer_.spec), first, rows);
    const Tensor beta = inputs(layer_.beta, layer_.spec.value_heads, first, rows);
    Tensor out =
        std::move(backend_.tensor(rows, static_cast<std::uint32_t>(layer_.values())).value());
    EXPECT_TRUE(backend_
                    .delta_rule(cache_, kPlane, layer_.spec, segments,
                                {.mixed = &mixed, .decay = &decay, .beta = &beta},
                                {.query_taps = &weights_[0],
                                 .key_taps = &weights_[1],
                                 .value_taps = &weights_[2],
                                 .rates = &weights_[3],
                                 .decay_bias = &weights_[4]},
                                out)
                    .ok());
    return {out.data(), out.data() + out.size()};
  }
  // One segment alone.
  std::vector<float> run(Slot from, SlotId to, std::size_t first, std::uint32_t rows,
                         bool journal = false) {
    const SlotSegment segment{.first_row = 0,
                              .rows = rows,
                              .position = first,
                              .from = from,
                              .to = to,
                              .journal = journal};
    return run({&segment, 1}, first, rows);
  }
  std::vector<float> state(SlotId slot) {
    const auto state = cache_.state(slot, kPlane);
    return {state.begin(), state.end()};
  }
  SlotCache& cache() { return cache_; }

 private:
  Tensor inputs(std::span<const float> values, std::size_t columns, std::size_t first,
                std::uint32_t rows) {
    Tensor tensor = std::move(backend_.tensor(rows, static_cast<std::uint32_t>(columns)).value());
    EXPECT_TRUE(backend_.write(values.subspan(first * columns, rows * columns), tensor).ok());
    return tensor;
  }

  CpuBackend& backend_;
  const Layer& layer_;
  SlotCache cache_;
  std::vector<Weight> weights_;
};

// The largest difference, relative to the largest value.
double distance(std::span<const float> values, std::span<const float> exact) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(exact[i])));
    difference = std::max(difference,
                          std::abs(static_cast<double>(values[i]) - static_cast<double>(exact[i])));
  }
  return difference / std::max(largest, 1e-3);
}

// f32 sums of the kernel against the f64 sums of the reference: both round the state once a row.
constexpr double kBound = 4e-6;

TEST(DeltaRule, AgreesWithTheReference) {
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    const auto backend = backend_of(1, isa);
    if (backend->isa() != isa) {
      continue;
    }
    for (const delta::Spec& spec : kSpecs) {
      for (const std::uint32_t rows : {1U, 2U, 5U, 70U}) {
        const Layer layer(spec, rows);
        Runner runner(*backend, layer);
        const auto output = runner.run(Slot(), SlotId{2}, 0, rows);
        delta::State state = delta::initial_state(spec);
        std::vector<float> exact(output.size());
        ASSERT_TRUE(
            delta::recurrent(
                spec, {.taps = layer.taps, .rates = layer.rates, .decay_bias = layer.decay_bias},
                {.mixed = layer.mixed, .decay = layer.decay, .beta = layer.beta}, state, exact)
                .ok());
        EXPECT_LE(distance(output, exact), kBound) << rows << " rows, " << spec.key_width;
        const auto stored = runner.state(SlotId{2});
        const std::span<const float> tail(stored.data(), state.tail.size());
        EXPECT_TRUE(std::ranges::equal(tail, state.tail));
        EXPECT_LE(distance({stored.data() + tail.size(), state.matrices.size()}, state.matrices),
                  kBound);
      }
    }
  }
}

TEST(DeltaRule, PiecesAreTheWhole) {
  constexpr std::uint32_t kRows = 70;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    const auto backend = backend_of(1, isa);
    for (const delta::Spec& spec : kSpecs) {
      const Layer layer(spec, kRows);
      Runner runner(*backend, layer);
      const auto whole = runner.run(Slot(), SlotId{0}, 0, kRows);
      for (std::uint32_t split = 1; split < kRows; ++split) {
        auto pieces = runner.run(Slot(), SlotId{1}, 0, split);
        const auto rest = runner.run(SlotId{1}, SlotId{2}, split, kRows - split);
        pieces.insert(pieces.end(), rest.begin(), rest.end());
        ASSERT_EQ(pieces, whole) << "split at " << split;
        ASSERT_EQ(runner.state(SlotId{2}), runner.state(SlotId{0}));
      }
    }
  }
}

TEST(DeltaRule, SegmentsOfARoundDoNotMeet) {
  for (const delta::Spec& spec : kSpecs) {
    const Layer layer(spec, 60);
    const auto alone_backend = backend_of(1);
    Runner alone(*alone_backend, layer);
    alone.run(Slot(), SlotId{0}, 0, 9);
    std::vector<float> expected = alone.run(Slot(), SlotId{1}, 0, 40);
    for (const auto& part :
         {alone.run(SlotId{0}, SlotId{2}, 40, 1), alone.run(SlotId{0}, SlotId{3}, 41, 5),
          alone.run(Slot(), SlotId{4}, 46, 14)}) {
      expected.insert(expected.end(), part.begin(), part.end());
    }
    for (const unsigned threads : {1U, 2U, 3U}) {
      const auto backend = backend_of(threads);
      Runner runner(*backend, layer);
      runner.run(Slot(), SlotId{0}, 0, 9);
      const auto before = runner.state(SlotId{0});
      // Two of them start from one slot.
      const std::vector<SlotSegment> segments = {
          {.first_row = 0, .rows = 40, .position = 0, .from = {}, .to = SlotId{1}},
          {.first_row = 40, .rows = 1, .position = 9, .from = SlotId{0}, .to = SlotId{2}},
          {.first_row = 41,
           .rows = 5,
           .position = 9,
           .from = SlotId{0},
           .to = SlotId{3},
           .journal = true},
          {.first_row = 46, .rows = 14, .position = 0, .from = {}, .to = SlotId{4}}};
      EXPECT_EQ(runner.run(segments, 0, 60), expected) << threads << " threads";
      EXPECT_EQ(runner.state(SlotId{0}), before);
      for (std::uint32_t slot = 1; slot < 5; ++slot) {
        EXPECT_EQ(runner.state(SlotId{slot}), alone.state(SlotId{slot}));
      }
    }
  }
}

TEST(DeltaRule, ReplayIsARoundOfFewerRows) {
  constexpr std::uint32_t kBefore = 3;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    const auto backend = backend_of(2, isa);
    for (const delta::Spec& spec : kSpecs) {
      const Layer layer(spec, kBefore + kJournalRows);
      Runner runner(*backend, layer);
      runner.run(Slot(), SlotId{0}, 0, kBefore);
      const auto start = runner.state(SlotId{0});
      for (const Slot from : {Slot(), Slot(SlotId{0})}) {
        const std::size_t first = from ? kBefore : 0;
        runner.run(from, SlotId{1}, first, kJournalRows, true);
        const auto full = runner.state(SlotId{1});
        for (const std::uint32_t rows : {16U, 0U, 7U, 1U, 2U, 3U, 4U, 15U, 16U}) {
          ASSERT_TRUE(backend->replay(runner.cache(), from, SlotId{1}, rows).ok());
          const auto replayed = runner.state(SlotId{1});
          if (rows == 0) {
            EXPECT_EQ(replayed, from ? start : std::vector<float>(start.size(), 0.0F));
            continue;
          }
          runner.run(from, SlotId{2}, first, rows);
          EXPECT_EQ(replayed, runner.state(SlotId{2})) << rows << " rows";
        }
        EXPECT_EQ(runner.state(SlotId{1}), full);
        EXPECT_EQ(runner.state(SlotId{0}), start);
      }
    }
  }
}

TEST(DeltaRule, ExportedSlotGoesOn) {
  const delta::Spec& spec = kSpecs[3];
  const Layer layer(spec, 20);
  const auto backend = backend_of(1);
  Runner first(*backend, layer);
  Runner second(*backend, layer);
  first.run(Slot(), SlotId{5}, 0, 12);
  std::vector<std::byte> bytes(backend->slot_bytes(first.cache().spec()));
  ASSERT_TRUE(backend->export_slot(first.cache(), SlotId{5}, bytes).ok());
  ASSERT_TRUE(backend->import_slot(second.cache(), SlotId{1}, bytes).ok());
  EXPECT_EQ(second.run(SlotId{1}, SlotId{2}, 12, 8), first.run(SlotId{5}, SlotId{6}, 12, 8));
}

}  // namespace
}  // namespace zllm::backend::cpu
