#include <zllm/dialect/sampling_fields.h>

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect {
namespace {

// Less than the share that any vocabulary leaves to its likeliest token: what top_p 0 means.
constexpr double kLeastTopP = 1e-9;
constexpr std::size_t kTokenDigits = 10;  // of the largest id

void read_seed(FieldReader& fields, SamplingOptions& sampling) {
  const Json *value = fields.take("seed");
  std::uint64_t natural = 0;
  if (value == nullptr) {
    return;
  }
  if (value->as_unsigned(natural)) {
    sampling.seed = natural;
    return;
  }
  const IntegerRange any{.least = std::numeric_limits<std::int64_t>::min()};
  if (const auto seed = fields.keep(read_integer(*value, fields.path_of("seed"), any))) {
    sampling.seed = static_cast<std::uint64_t>(*seed);
  }
}

void read_logit_bias(FieldReader& fields, SamplingOptions& sampling) {
  const Json *map = fields.object("logit_bias");
  if (map == nullptr) {
    return;
  }
  if (map->as_object()->size() > kMaxLogitBias) {
    fields.fail("logit_bias", concat("has more than ", kMaxLogitBias, " entries"));
    return;
  }
  for (const auto& [key, value] : *map->as_object()) {
    TokenId token = 0;
    if (key.size() > kTokenDigits || !parse_number(key, token) || token < 0) {
      fields.fail("logit_bias", concat(quote(key), " is not the id of a token"));
      return;
    }
    const auto bias = fields.keep(
        read_number(value, member_path("logit_bias", key), {.least = -100, .most = 100}));
    if (!bias) {
      return;
    }
    sampling.logit_bias.emplace_back(token, *bias);
  }
}

void read_penalties(FieldReader& fields, SamplingOptions& sampling) {
  sampling.presence_penalty = fields.number("presence_penalty", {.least = -2, .most = 2});
  sampling.frequency_penalty = fields.number("frequency_penalty", {.least = -2, .most = 2});
  sampling.repetition_penalty =
      fields.number(fields.either("repetition_penalty", "repeat_penalty"),
                    {.least = 0, .most = kMaxRepetitionPenalty, .excludes_least = true});
  sampling.penalty_last_n =
      fields.integer(fields.either("penalty_last_n", "repeat_last_n"), {.least = -1});
}

}  // namespace

void read_sampling(FieldReader& fields, SamplingOptions& sampling) {
  sampling.temperature = fields.number("temperature", {.least = 0, .most = 2});
  sampling.top_p = fields.number("top_p", {.least = 0, .most = 1});
  if (sampling.top_p == 0.0) {
    sampling.top_p = kLeastTopP;
  }
  sampling.min_p = fields.number("min_p", {.least = 0, .most = 1});
  sampling.typical_p = fields.number("typical_p", {.least = 0, .most = 1, .excludes_least = true});
  sampling.top_k = fields.integer("top_k", {.least = -1});
  if (sampling.top_k == -1) {
    sampling.top_k = 0;  // both mean off to those who ask
  }
  read_penalties(fields, sampling);
  read_seed(fields, sampling);
  read_logit_bias(fields, sampling);
}

}  // namespace zllm::dialect
