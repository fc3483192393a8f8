#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <zllm/embedded/model_text.h>
#include <zllm/text/fence/fence_factory.h>

namespace {

using std::chrono::steady_clock;

constexpr std::string_view kSchema = R"({"type":"object","properties":{
  "title":{"type":"string"},"year":{"type":"integer","minimum":1900,"maximum":2100},
  "rating":{"type":"number"},"genres":{"type":"array","items":{"enum":["drama","comedy","crime",
  "science fiction"]},"minItems":1},"cast":{"type":"array","items":{"type":"object","properties":{
  "name":{"type":"string","minLength":1},"role":{"type":"string"},
  "born":{"type":"string","format":"date"}},"required":["name","role"],
  "additionalProperties":false}},"seen":{"type":["boolean","null"]}},
  "required":["title","year","genres","cast"],"additionalProperties":false})";

// Spaced as fences want it.
constexpr std::string_view kAnswer =
    R"({"title": "The quiet engine that could, part two", "year": 1987, "rating": 7.25, )"
    R"("genres": ["drama", "science fiction"], "cast": [)"
    R"({"name": "Ada Lovelace", "role": "the narrator, who \"knows\" all", "born": "1950-12-10"}, )"
    R"({"name": "Alan Turing", "role": "an engineer"}, )"
    R"({"name": "Grace Hopper", "role": "Captain; speaks in short sentences. Never late."}], )"
    R"("seen": null})";

double microseconds(steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void report(const char *what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (const double time : times) {
    sum += time;
  }
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("%-24s %6zu times: average %8.1f us, median %8.1f, p99 %8.1f, largest %8.1f\n", what,
              times.size(), sum / static_cast<double>(times.size()), at(0.5), at(0.99), at(1.0));
}

}  // namespace

// Time to compile a schema as far as its first mask, and of every mask of an answer within it:
// mask_bench MODEL, a GGUF file or a folder with tokenizer.json.
int main(int argc, char **argv) {
  const auto model = zllm::load_model_text(argc > 1 ? argv[1] : ".");
  if (!model.ok() || model->tokenizer.end_tokens().empty()) {
    std::fprintf(stderr, "mask_bench MODEL: %s\n",
                 model.ok() ? "no end token" : model.error().message.c_str());
    return 1;
  }
  const zllm::text::Tokenizer& tokenizer = model->tokenizer;
  auto start = steady_clock::now();
  const auto factory =
      *zllm::text::FenceFactory::create(tokenizer, {tokenizer.end_tokens().front()});
  std::printf("vocabulary of %zu tokens made ready in %.1f ms\n", tokenizer.vocabulary_size(),
              microseconds(steady_clock::now() - start) / 1000);
  const std::vector<zllm::TokenId> answer = *tokenizer.encode(kAnswer);
  std::vector<double> first;
  std::vector<double> masks;
  std::vector<double> advances;
  std::size_t forced = 0;
  for (int round = 0; round < 20; ++round) {
    start = steady_clock::now();
    const auto fence =
        *factory.make({.constraint = zllm::text::Constraint{zllm::text::ConstraintKind::json_schema,
                                                            std::string(kSchema)}});
    first.push_back(microseconds(steady_clock::now() - start));
    for (const zllm::TokenId token : answer) {
      start = steady_clock::now();
      if (!fence->advance(token).ok()) {
        std::fprintf(stderr, "the answer is not within the schema\n");
        return 1;
      }
      const auto middle = steady_clock::now();
      if (!fence->mask().ok()) {
        return 1;
      }
      masks.push_back(microseconds(steady_clock::now() - middle));
      advances.push_back(microseconds(middle - start));
      const auto next = fence->forced();
      forced += next.ok() && !next->empty() ? 1U : 0U;
    }
  }
  report("make and first mask", first);
  report("mask", masks);
  report("advance", advances);
  std::printf("places with forced tokens: %.1f %%\n",
              100.0 * static_cast<double>(forced) / static_cast<double>(masks.size()));
}
