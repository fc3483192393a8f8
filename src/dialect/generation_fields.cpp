#include <zllm/dialect/generation_fields.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::dialect {
namespace {

// As in OpenAI's API.
constexpr std::size_t kMaxMetadata = 16;
constexpr std::size_t kMaxMetadataKey = 64;
constexpr std::size_t kMaxMetadataValue = 512;

void add_stop(FieldReader& fields, std::string path, const Json& value, Request& request) {
  auto stop = fields.keep(read_text(value, path));
  if (!stop) {
    return;
  }
  if (stop->empty() || stop->size() > kMaxStopBytes) {
    fields.fail(wrong_value(std::move(path), concat("must have 1 to ", kMaxStopBytes, " bytes")));
    return;
  }
  request.stop.push_back(std::move(*stop));
}

void read_stops(FieldReader& fields, Request& request) {
  const Json *stop = fields.take("stop");
  if (stop != nullptr && stop->as_string() != nullptr) {
    add_stop(fields, "stop", *stop, request);
  } else if (const Json::Array *stops = fields.array("stop", kMaxStops)) {
    for (std::size_t i = 0; i < stops->size(); ++i) {
      add_stop(fields, element_path("stop", i), (*stops)[i], request);
    }
  }
  if (const Json::Array *ids = fields.array("stop_token_ids", kMaxStopTokens)) {
    for (std::size_t i = 0; i < ids->size(); ++i) {
      const auto id = fields.keep(read_integer((*ids)[i], element_path("stop_token_ids", i),
                                               {.most = std::numeric_limits<TokenId>::max()}));
      if (id) {
        request.stop_tokens.push_back(static_cast<TokenId>(*id));
      }
    }
  }
}

void read_choices(FieldReader& fields, bool is_streaming, Request& request) {
  const IntegerRange range{.least = 1, .most = kMaxChoices};
  const std::int64_t choices = fields.integer("n", range).value_or(1);
  const std::int64_t candidates = fields.integer("best_of", range).value_or(choices);
  if (candidates < choices) {
    fields.fail("best_of", concat("must be at least n, which is ", choices));
  } else if (candidates > choices && is_streaming) {
    fields.fail("best_of", "the best are known at the end only, so they cannot be streamed");
  }
  request.choices = static_cast<std::uint32_t>(choices);
  request.candidates = candidates > choices ? static_cast<std::uint32_t>(candidates) : 0;
}

}  // namespace

OutputOptions read_output_options(FieldReader& fields) {
  OutputOptions output;
  output.is_streaming = fields.boolean("stream").value_or(false);
  output.includes_timings = fields.boolean("timings").value_or(false);
  const Json *options = fields.object("stream_options");
  if (options == nullptr) {
    return output;
  }
  if (!output.is_streaming) {
    fields.fail("stream_options", "only allowed when 'stream' is true");
    return output;
  }
  FieldReader reader(*options, "stream_options");
  output.includes_usage = reader.boolean("include_usage").value_or(false);
  if (reader.boolean("include_obfuscation").value_or(false)) {
    reader.fail(unsupported_field("stream_options.include_obfuscation", "streams are not padded"));
  }
  (void)fields.keep(reader.finish());
  return output;
}

void read_generation(FieldReader& fields, bool is_streaming, Request& request) {
  read_choices(fields, is_streaming, request);
  read_stops(fields, request);
  const std::int64_t min_tokens = fields.integer("min_tokens").value_or(0);
  request.min_tokens = static_cast<std::uint64_t>(min_tokens);
  if (request.max_tokens && request.min_tokens > *request.max_tokens) {
    fields.fail("min_tokens", "more than the most tokens that are asked for");
  }
  request.ignores_end = fields.boolean("ignore_eos").value_or(false);
  request.uses_prefix_cache = fields.boolean("cache_prompt").value_or(true);
  const IntegerRange priorities{.least = std::numeric_limits<std::int32_t>::min(),
                                .most = std::numeric_limits<std::int32_t>::max()};
  request.priority = static_cast<std::int32_t>(fields.integer("priority", priorities).value_or(0));
  request.time_limit_seconds = fields.number(
      "time_limit_seconds", {.least = 0, .most = kMaxSeconds, .excludes_least = true});
}

void read_metadata(FieldReader& fields) {
  const Json *metadata = fields.object("metadata");
  if (metadata == nullptr) {
    return;
  }
  if (metadata->as_object()->size() > kMaxMetadata) {
    fields.fail("metadata", concat("has more than ", kMaxMetadata, " entries"));
    return;
  }
  for (const auto& [key, value] : *metadata->as_object()) {
    std::string path = member_path("metadata", std::string_view(key).substr(0, kMaxMetadataKey));
    const auto text = fields.keep(read_text(value, path));
    if (text && (key.size() > kMaxMetadataKey || text->size() > kMaxMetadataValue)) {
      fields.fail(wrong_value(std::move(path), concat("a key has at most ", kMaxMetadataKey,
                                                      " bytes and a value ", kMaxMetadataValue)));
    }
  }
}

void read_account_fields(FieldReader& fields) {
  // Names for the client's own users and caches: nothing of the answer depends on them.
  for (const std::string_view name : {"user", "safety_identifier", "prompt_cache_key"}) {
    fields.text(name);
  }
  const auto retention = fields.word("prompt_cache_retention", {"in_memory", "in-memory", "24h"});
  if (retention == "24h") {
    fields.fail(unsupported_field("prompt_cache_retention", "prefixes are kept while they fit"));
  }
  fields.word("service_tier", {"auto", "default"});
  if (fields.boolean("store").value_or(false)) {
    fields.fail(unsupported_field("store", "these answers are not stored"));
  }
  read_metadata(fields);
}

}  // namespace zllm::dialect
