#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

// What is asked of an answer as a whole, as OpenAI's API and those who extend it spell it.
namespace zllm::dialect {

constexpr std::int64_t kMaxChoices = 128;      // as in OpenAI's API
constexpr std::size_t kMaxStops = 16;          // each is searched in every piece of text
constexpr std::size_t kMaxStopBytes = 1024;    // text is held back for as long
constexpr std::size_t kMaxStopTokens = 128;    // each is compared with every token
constexpr double kMaxSeconds = 7 * 24 * 3600;  // longer than any answer

// What the writer of the answer is asked for.
struct OutputOptions {
  bool is_streaming = false;
  bool includes_usage = false;    // in a stream
  bool includes_timings = false;  // of the request, beside usage
};

// stream, stream_options, timings.
OutputOptions read_output_options(FieldReader& fields);
// n, best_of, min_tokens, stop, stop_token_ids, ignore_eos, cache_prompt, priority,
// time_limit_seconds; after max_tokens is read.
void read_generation(FieldReader& fields, bool is_streaming, Request& request);
// metadata: at most 16 short texts by name.
void read_metadata(FieldReader& fields);
// Fields about the account and not the answer: user, metadata, store, service_tier and their kin.
void read_account_fields(FieldReader& fields);

}  // namespace zllm::dialect
