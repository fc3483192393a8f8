#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/embedded/event.h>
#include <zllm/embedded/failure.h>

// Parts that all answers of OpenAI's API share.
namespace zllm::dialect {

// What ends a stream without a failure.
constexpr std::string_view kStreamEnd = "[DONE]";

// {"error": {"message", "type", "param", "code"}}
std::string openai_error_body(const Failure& failure);

// The member "system_fingerprint" where what answers is known.
void write_fingerprint(JsonWriter& json, const AnswerFacts& facts);

// The members "usage", and "timings" in milliseconds and tokens a second.
void write_usage(JsonWriter& json, const Usage& usage);
void write_timings(JsonWriter& json, const AnswerTimings& timings, const Usage& usage);

// Elements of an array of log-probabilities, of content or of all, appended with commas between.
enum class Scores : std::uint8_t { content, all };
void append_scored(std::string& out, const std::vector<ScoredToken>& tokens, Scores which);

// "stop", "length" or "tool_calls".
std::string_view finish_reason(StopReason reason);

}  // namespace zllm::dialect
