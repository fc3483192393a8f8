#include <zllm/moe/routing.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string_view>

#include <zllm/activation/reference.h>
#include <zllm/base/text.h>

namespace zllm::moe {
namespace {

constexpr double kSumEpsilon = 1e-20;  // scores that are all zero divide by this

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("router ", field, ": ", reason)};
}

std::string_view flaw(float value) { return std::isnan(value) ? " is NaN" : " is infinite"; }

// An exact sum of two numbers: the rounded one and what rounding lost (Knuth's two-sum). A score
// far below the last place of a large bias still orders experts.
struct Choice {
  double sum = 0.0;
  double lost = 0.0;

  auto operator<=>(const Choice&) const = default;
};

constexpr Choice kMasked{.sum = -std::numeric_limits<double>::infinity(), .lost = 0.0};

Choice add(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return {.sum = sum, .lost = (a - (sum - b_part)) + (b - b_part)};
}

// Indices of the `count` highest values, of equal ones the lower; in ascending order.
std::vector<std::uint32_t> highest(std::span<const Choice> values, std::uint32_t count) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(count);
  if (end != order.end()) {
    std::nth_element(order.begin(), end, order.end(), [values](std::uint32_t a, std::uint32_t b) {
      return values[a] != values[b] ? values[a] > values[b] : a < b;
    });
  }
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<double> scores_of(Scoring scoring, std::span<const float> logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (scoring == Scoring::sigmoid) {
    std::transform(scores.begin(), scores.end(), scores.begin(), activation::sigmoid);
    return scores;
  }
  const double top = *std::max_element(scores.begin(), scores.end());
  double total = 0.0;
  for (double& score : scores) {
    score = std::exp(score - top);
    total += score;
  }
  for (double& score : scores) {
    score /= total;
  }
  return scores;
}

// The sum of the two best, or the only one.
Choice group_value(std::span<const Choice> choices) {
  Choice best = kMasked;
  Choice second = kMasked;
  for (const Choice& choice : choices) {
    second = std::max(second, std::min(best, choice));
    best = std::max(best, choice);
  }
  if (choices.size() == 1) {
    return best;
  }
  const Choice both = add(best.sum, second.sum);
  return {.sum = both.sum, .lost = both.lost + best.lost + second.lost};
}

void mask_groups(const RouterSpec& spec, std::span<Choice> choices) {
  const std::size_t size = spec.experts / spec.groups;
  std::vector<Choice> values(spec.groups);
  for (std::size_t group = 0; group < spec.groups; ++group) {
    values[group] = group_value(choices.subspan(group * size, size));
  }
  std::vector<bool> kept(spec.groups, false);
  for (const std::uint32_t group : highest(values, spec.kept_groups)) {
    kept[group] = true;
  }
  for (std::size_t expert = 0; expert < choices.size(); ++expert) {
    if (!kept[expert / size]) {
      choices[expert] = kMasked;
    }
  }
}

void add_row(const RouterSpec& spec, std::span<const float> logits, std::span<const float> bias,
             Routing& routing) {
  const std::vector<double> scores = scores_of(spec.scoring, logits);
  std::vector<Choice> choices(scores.size());
  for (std::size_t expert = 0; expert < choices.size(); ++expert) {
    choices[expert] = add(scores[expert], bias.empty() ? 0.0 : static_cast<double>(bias[expert]));
  }
  if (spec.kept_groups < spec.groups) {
    mask_groups(spec, choices);
  }
  const std::vector<std::uint32_t> chosen = highest(choices, spec.top_k);
  double divisor = 1.0;
  if (spec.normalise) {
    divisor = kSumEpsilon;
    for (const std::uint32_t expert : chosen) {
      divisor += scores[expert];
    }
  }
  for (const std::uint32_t expert : chosen) {
    routing.experts.push_back(expert);
    routing.weights.push_back(
        static_cast<float>(scores[expert] / divisor * static_cast<double>(spec.scaling)));
  }
}

}  // namespace

Status validate(const RouterSpec& spec) {
  if (spec.experts == 0) {
    return refused("experts", "must be above 0");
  }
  if (spec.top_k == 0 || spec.top_k > spec.experts) {
    return refused("top_k", concat(spec.top_k, " of ", spec.experts, " experts"));
  }
  if (spec.groups == 0 || spec.experts % spec.groups != 0) {
    return refused("groups",
                   concat(spec.experts, " experts are no multiple of ", spec.groups, " groups"));
  }
  if (spec.kept_groups == 0 || spec.kept_groups > spec.groups) {
    return refused("kept_groups", concat(spec.kept_groups, " of ", spec.groups, " groups"));
  }
  if (spec.kept_groups * (spec.experts / spec.groups) < spec.top_k) {
    return refused("kept_groups",
                   concat(spec.kept_groups, " groups of ", spec.experts / spec.groups,
                          " experts hold fewer than top_k ", spec.top_k));
  }
  if (!std::isfinite(spec.scaling)) {
    return refused("scaling", "must be finite");
  }
  return {};
}

Result<Routing> route(const RouterSpec& spec, std::span<const float> logits,
                      std::span<const float> bias) {
  ZLLM_TRY(validate(spec));
  ZLLM_CHECK(logits.size() % spec.experts == 0, "router: logits");
  ZLLM_CHECK(bias.size() == (spec.has_selection_bias ? spec.experts : 0), "router: bias");
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isfinite(logits[i])) {
      return refused("logits", concat("row ", i / spec.experts, ", expert ", i % spec.experts,
                                      flaw(logits[i])));
    }
  }
  for (std::size_t expert = 0; expert < bias.size(); ++expert) {
    if (!std::isfinite(bias[expert])) {
      return refused("bias", concat("expert ", expert, flaw(bias[expert])));
    }
  }
  Routing routing{.top_k = spec.top_k, .experts = {}, .weights = {}};
  for (std::size_t begin = 0; begin < logits.size(); begin += spec.experts) {
    add_row(spec, logits.subspan(begin, spec.experts), bias, routing);
  }
  return routing;
}

}  // namespace zllm::moe
