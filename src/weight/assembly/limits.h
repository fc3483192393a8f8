#pragma once

#include <cstdint>

// Ranges of the numbers that a model file states, the same for every family and file format. They
// lie far beyond every published model, and keep sizes computed from them within 64 bits and
// memory reserved for them small until tensors of that size are seen.
namespace zllm::weight {

// Both ends are allowed.
struct IntegerRange {
  std::uint64_t minimum = 0;
  std::uint64_t maximum = 0;
};

struct NumberRange {
  double minimum = 0;
  double maximum = 0;
};

constexpr IntegerRange kVocabularyRange{1, 1U << 24};    // 60 times the largest known
constexpr IntegerRange kHiddenRange{1, 1U << 20};        // 40 times the widest known
constexpr IntegerRange kIntermediateRange{1, 1U << 24};  // 16 times the widest hidden state
constexpr IntegerRange kLayerRange{1, 4096};             // 30 times the deepest known
constexpr IntegerRange kHeadCountRange{1, 1U << 16};
constexpr IntegerRange kHeadWidthRange{1, 1U << 16};
constexpr IntegerRange kRopeWidthRange{0, kHeadWidthRange.maximum};  // some models turn nothing
constexpr IntegerRange kRankRange{1, kHiddenRange.maximum};          // of low-rank projections
constexpr IntegerRange kExpertCountRange{1, 1U << 14};               // 16 times the most known
constexpr IntegerRange kSharedExpertRange{0, 1U << 10};              // some models have none
constexpr IntegerRange kPositionRange{1, (1U << 31) - 1};  // positions are 32-bit in rounds

constexpr NumberRange kExpertScalingRange{1e-6, 1e6};  // of the routed experts' weights
constexpr NumberRange kSwigluLimitRange{1e-6, 1e9};    // 0 would silence every block

// An epsilon below the smallest normal float would be lost beside any square in f32.
constexpr NumberRange kEpsilonRange{1.2e-38, 1.0};
constexpr NumberRange kThetaRange{1.0, 1e30};             // below 1 lanes would turn ever faster
constexpr NumberRange kRopeFactorRange{1e-3, 1e6};        // of positions and of frequencies
constexpr NumberRange kAmplitudeRange{1e-3, 1e3};         // of cosines and sines
constexpr NumberRange kFrequencyDivisorRange{1e-6, 1e9};  // per lane, longrope and GGUF tables

}  // namespace zllm::weight
