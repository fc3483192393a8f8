#include "logits.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/runtime/any_model.h>

#include "tensor_output.h"
#include "token_input.h"

namespace zllm::commands {
namespace {

using runtime::AnyModel;
using runtime::Round;
using runtime::RoundOutput;
using runtime::Segment;
using runtime::SegmentKind;

// One given sequence on its way through the model.
struct Run {
  SequenceId id;
  std::vector<TokenId> tokens;  // the prompt, then what was chosen
  std::size_t prompt = 0;
  std::size_t done = 0;
  std::vector<float> logits = {};  // [prompt, vocabulary]
  std::vector<TokenId> greedy = {};
};

Result<std::vector<std::vector<TokenId>>> read_sequences(const LogitsOptions& options) {
  const int sources = (options.tokens.empty() ? 0 : 1) + (options.tokens_file.empty() ? 0 : 1) +
                      (options.sequences_file.empty() ? 0 : 1);
  if (sources != 1) {
    return Error{Code::invalid_argument,
                 "give exactly one of --tokens, --tokens-file and --sequences"};
  }
  if (!options.sequences_file.empty()) {
    return read_token_sequences(options.sequences_file);
  }
  std::vector<std::vector<TokenId>> one(1);
  if (!options.tokens.empty()) {
    ZLLM_TRY(one[0], parse_token_list(options.tokens));
  } else {
    ZLLM_TRY(one[0], read_tokens(options.tokens_file));
  }
  return one;
}

Status check_split(std::string_view option, std::optional<std::uint64_t> split, const Run& run) {
  if (split && (*split == 0 || *split >= run.prompt)) {
    return Error{Code::invalid_argument, concat(option, " ", *split, " is not between 1 and ",
                                                run.prompt, " - 1 of a sequence of ", run.prompt)};
  }
  return {};
}

// The next rows of a run: never over a split, one by one from decode_from on.
Segment next_segment(const Run& run, const LogitsOptions& options, std::size_t room) {
  std::size_t end = run.prompt;
  SegmentKind kind = run.done == 0 ? SegmentKind::new_prefill : SegmentKind::append_prefill;
  for (const auto& split : {options.append_at, options.decode_from}) {
    if (split && run.done < *split) {
      end = std::min<std::size_t>(end, *split);
    }
  }
  if (options.decode_from && run.done >= *options.decode_from) {
    end = run.done + 1;
    kind = SegmentKind::decode;
  }
  const std::size_t count = std::min(end - run.done, room);
  const auto first = run.tokens.begin() + static_cast<std::ptrdiff_t>(run.done);
  Segment segment{.sequence = run.id,
                  .start = run.done,
                  .kind = kind,
                  .tokens = {first, first + static_cast<std::ptrdiff_t>(count)},
                  .logit_rows = {}};
  segment.logit_rows.resize(count);
  std::iota(segment.logit_rows.begin(), segment.logit_rows.end(), 0u);
  return segment;
}

// Submits a round, commits it and hands each run the logits of its rows.
template <class Take>
Status run_round(AnyModel& model, Round round, std::span<Run *const> runs, Take take) {
  ZLLM_TRY(const RoundOutput output, model.submit(round));
  std::size_t row = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Segment& segment = round.segments[i];
    ZLLM_TRY(model.states().commit(segment.sequence, segment.tokens.size()));
    runs[i]->done += segment.tokens.size();
    for (std::size_t k = 0; k < segment.logit_rows.size(); ++k) {
      take(*runs[i], output.row(row++));
    }
  }
  return {};
}

Status run_prompts(AnyModel& model, std::span<Run> runs, const LogitsOptions& options) {
  for (;;) {
    Round round;
    std::vector<Run *> in_round;
    std::size_t room = model.info().limits.rows;
    for (Run& run : runs) {
      if (run.done < run.prompt && room > 0) {
        round.segments.push_back(next_segment(run, options, room));
        in_round.push_back(&run);
        room -= round.segments.back().tokens.size();
      }
    }
    if (in_round.empty()) {
      return {};
    }
    ZLLM_TRY(run_round(model, std::move(round), in_round, [](Run& run, std::span<const float> row) {
      run.logits.insert(run.logits.end(), row.begin(), row.end());
    }));
  }
}

TokenId argmax(std::span<const float> row) {
  return static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin());
}

// One more greedy token of each run.
Status decode_round(AnyModel& model, std::span<Run> runs) {
  Round round;
  std::vector<Run *> in_round;
  for (Run& run : runs) {
    round.segments.push_back({.sequence = run.id,
                              .start = run.done,
                              .kind = SegmentKind::decode,
                              .tokens = {run.greedy.back()},
                              .logit_rows = {0}});
    in_round.push_back(&run);
  }
  return run_round(model, std::move(round), in_round,
                   [](Run& run, std::span<const float> row) { run.greedy.push_back(argmax(row)); });
}

Status run_greedy(AnyModel& model, std::span<Run> runs, std::uint64_t count) {
  const std::uint32_t vocabulary = model.info().limits.vocabulary;
  for (Run& run : runs) {
    if (count > 0) {
      run.greedy.push_back(argmax(std::span(run.logits).last(vocabulary)));
    }
  }
  for (std::uint64_t step = 1; step < count; ++step) {
    for (std::size_t first = 0; first < runs.size(); first += model.info().limits.rows) {
      const std::size_t room = std::min<std::size_t>(model.info().limits.rows, runs.size() - first);
      ZLLM_TRY(decode_round(model, runs.subspan(first, room)));
    }
  }
  return {};
}

Status write_outputs(const LogitsOptions& options, std::span<const Run> runs,
                     std::uint32_t vocabulary) {
  std::vector<OutputTensor> tensors;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string suffix = options.sequences_file.empty() ? "" : concat(".", i);
    tensors.push_back({.name = "logits" + suffix,
                       .dtype = "F32",
                       .shape = {runs[i].prompt, vocabulary},
                       .bytes = std::as_bytes(std::span(runs[i].logits))});
    if (options.greedy > 0) {
      tensors.push_back({.name = "greedy" + suffix,
                         .dtype = "I32",
                         .shape = {runs[i].greedy.size()},
                         .bytes = std::as_bytes(std::span(runs[i].greedy))});
    }
  }
  return write_safetensors(options.out, tensors);
}

}  // namespace

Status run_logits(const LogitsOptions& options) {
  if (options.out.empty()) {
    return Error{Code::invalid_argument, "--out is missing"};
  }
  ZLLM_TRY(auto sequences, read_sequences(options));
  std::vector<Run> runs;
  std::uint64_t rows = 0;
  std::uint64_t longest = 0;
  for (std::vector<TokenId>& tokens : sequences) {
    if (tokens.empty()) {
      return Error{Code::invalid_argument, concat("sequence ", runs.size(), " has no tokens")};
    }
    const std::size_t count = tokens.size();
    runs.push_back({.id = {}, .tokens = std::move(tokens), .prompt = count});
    ZLLM_TRY(check_split("--append-at", options.append_at, runs.back()));
    ZLLM_TRY(check_split("--decode-from", options.decode_from, runs.back()));
    longest = std::max<std::uint64_t>(longest, count + options.greedy);
    // A page more each: sequences do not share pages.
    rows += count + options.greedy + kRowsOfAPageAtMost;
  }
  ModelOptions model_options = options.model;
  if (model_options.context == 0) {
    model_options.context = longest;
  }
  model_options.sequences = static_cast<std::uint32_t>(runs.size());
  ZLLM_TRY(registry::Model model, load(model_options, rows, KvDefault::by_weights));
  for (Run& run : runs) {
    ZLLM_TRY(run.id, model.model().states().create(run.prompt));
  }
  ZLLM_TRY(run_prompts(model.model(), runs, options));
  ZLLM_TRY(run_greedy(model.model(), runs, options.greedy));
  ZLLM_TRY(model.check());
  return write_outputs(options, runs, model.model().info().limits.vocabulary);
}

}  // namespace zllm::commands
