#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/sampling/parameters.h>
#include <zllm/sampling/random.h>
#include <zllm/sampling/truncation.h>

// What sampling means. In this order, each step on what the one before left, l being a logit:
//
//   1 mask         tokens whose bit is 0 are banned
//   2 penalties    for each distinct token of the history's window, seen c times:
//                  repetition l = l / r where l > 0, else l * r [1], then
//                  l -= presence + c * frequency (as in OpenAI's API)
//   3 logit bias   l += bias
//   4 temperature  weight = exp((l - max l) / t); 0 takes the highest l and ends here
//   5 top_k        the k highest l
//   6 typical_p    by | -ln p - entropy |, least first, until typical_p of the weight is held [2]
//   7 top_p        by weight, highest first, until top_p of the weight is held [3]
//   8 min_p        tokens of at least min_p times the highest weight [4]
//   9 draw         by the inverse of the cumulative weights in order of token id
//
// [1] arXiv:1909.05858 [2] arXiv:2202.00666 [3] arXiv:1904.09751 [4] arXiv:2407.01082
// Steps 6 and 7 keep the token that reaches the share, so one is always left. Temperature comes
// before truncation as in transformers and vLLM; llama.cpp's default order has it last. Every tie
// goes to the lower id. Ids from `vocabulary` on pad the output matrix: they have probability 0.
namespace zllm::sampling {

// One row of logits and what surrounds it.
struct Row {
  std::span<const float> logits;          // may be longer than the vocabulary
  std::size_t vocabulary = 0;             // ids that the tokenizer knows, 1 to logits.size()
  std::span<const TokenId> history = {};  // prompt and answer so far; unknown ids are ignored
  // Bit i % 32 of word i / 32 allows token i; empty allows all.
  std::span<const std::uint32_t> mask = {};
};

// Reuses its memory from call to call; one object a thread. Errors name a NaN or infinite logit by
// its token (minus infinity is a banned token, no error), or say that no token is left. Parameters
// have passed `validate`.
class Sampler {
 public:
  // The token of the row, a function of its arguments alone.
  Result<TokenId> sample(const SamplingParameters& parameters, const Row& row, const Place& place);

  // The distribution that `sample` draws from, by ascending id, without zeros, adding up to 1; one
  // candidate when greedy. Valid until the next call.
  Result<std::span<const Candidate>> distribution(const SamplingParameters& parameters,
                                                  const Row& row);

 private:
  Status adjust(const SamplingParameters& parameters, const Row& row);
  void penalise(const SamplingParameters& parameters, std::span<const TokenId> history);
  void weigh(const SamplingParameters& parameters, float highest_logit);

  std::vector<float> adjusted_;
  std::span<const float> logits_;      // adjusted_, or the row's own where nothing changes them
  std::vector<std::uint32_t> counts_;  // per token, all 0 between calls
  std::vector<TokenId> seen_;
  std::vector<Candidate> candidates_;  // weights, then probabilities
};

// The candidate that a uniform number in [0, 1) falls on; candidates are not empty.
TokenId pick(std::span<const Candidate> candidates, double uniform);

}  // namespace zllm::sampling
