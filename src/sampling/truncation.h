#pragma once

#include <vector>

#include <zllm/base/strong.h>

// Steps that shorten a list of candidates; sampler.h says what each means and in which order they
// run. Weights are above 0 and need not add up to 1; at least one candidate goes in and comes out.
// The order of the list is free before and after.
namespace zllm::sampling {

struct Candidate {
  TokenId token = 0;
  double probability = 0.0;  // in the steps: a weight
};

void keep_typical(std::vector<Candidate>& candidates, double share);
void keep_top_p(std::vector<Candidate>& candidates, double share);
void keep_min_p(std::vector<Candidate>& candidates, double ratio);

// Makes the weights add up to 1 and orders the list by ascending id.
void normalise(std::vector<Candidate>& candidates);

}  // namespace zllm::sampling
