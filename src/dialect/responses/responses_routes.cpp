#include <zllm/dialect/responses/responses_routes.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/dialect/openai_answer.h>

namespace zllm::dialect::responses {
namespace {

// Of the API.
constexpr std::size_t kDefaultItems = 20;
constexpr std::size_t kMaxItems = 100;

struct ItemsQuery {
  std::string after = {};
  std::size_t limit = kDefaultItems;
  bool is_newest_first = true;
};

Failure unknown_parameter(const std::string& name) {
  return {FailureKind::invalid, concat("Unknown parameter: ", quote(name), "."), name,
          "unknown_parameter"};
}

bool is_include(std::string_view name) { return name == "include" || name == "include[]"; }

// What is asked to be included is there in any case, or never.
Outcome<Done> check_include(const std::string& value) {
  if (value == "message.output_text.logprobs" || value == "reasoning.encrypted_content") {
    return Done{};
  }
  return unsupported_field("include", concat(quote(value), " does not exist here"));
}

Outcome<ItemsQuery> read_query(const QueryParameters& parameters) {
  ItemsQuery query;
  for (const auto& [name, value] : parameters) {
    if (name == "after") {
      query.after = value;
    } else if (name == "limit") {
      if (!parse_number(value, query.limit) || query.limit < 1 || query.limit > kMaxItems) {
        return wrong_value("limit", concat("must be at least 1 and at most ", kMaxItems));
      }
    } else if (name == "order") {
      if (value != "asc" && value != "desc") {
        return wrong_value("order", "must be 'asc' or 'desc'");
      }
      query.is_newest_first = value == "desc";
    } else if (is_include(name)) {
      ZLLM_TRY(check_include(value));
    } else {
      return unknown_parameter(name);
    }
  }
  return query;
}

std::string id_of(const std::string& item) {
  const auto json = Json::parse(item, "item");
  const Json *id = json.ok() ? json->find("id") : nullptr;
  return id != nullptr && id->as_string() != nullptr ? *id->as_string() : "";
}

void write_id(JsonWriter& json, std::string_view name, const std::vector<std::string>& items,
              std::size_t index) {
  if (index < items.size()) {
    json.text(name, id_of(items[index]));
  } else {
    json.null(name);
  }
}

}  // namespace

Failure unknown_response(std::string_view id) {
  return {FailureKind::not_found, concat("Response with id ", quote(id), " not found."), "", ""};
}

Outcome<StoredQuery> read_stored_query(const StoredResponse& response,
                                       const QueryParameters& parameters) {
  StoredQuery query;
  std::optional<std::uint32_t> after;
  for (const auto& [name, value] : parameters) {
    if (is_include(name)) {
      ZLLM_TRY(check_include(value));
    } else if (name == "stream" || name == "include_obfuscation") {
      if (value != "true" && value != "false") {
        return wrong_value(name, "must be 'true' or 'false'");
      }
      if (name == "stream") {
        query.is_streaming = value == "true";
      } else if (value == "true") {
        return unsupported_field(name, "streams are not padded");
      }
    } else if (name == "starting_after") {
      if (!parse_number(value, after.emplace())) {
        return wrong_value(name, "must be the sequence number of an event");
      }
    } else {
      return unknown_parameter(name);
    }
  }
  if (after.has_value() && !query.is_streaming) {
    return wrong_value("starting_after", "only allowed when 'stream' is true");
  }
  if (query.is_streaming && response.events == nullptr) {
    return wrong_value("stream", "the response was not made with 'background' and 'stream'");
  }
  if (query.is_streaming && response.events->is_dropped()) {
    return wrong_value("stream", "the response has more events than are kept");
  }
  query.first_event = after.has_value() ? std::size_t{*after} + 1 : 0;
  return query;
}

Outcome<std::string> input_items_body(const StoredResponse& response,
                                      const QueryParameters& parameters) {
  ZLLM_TRY(const ItemsQuery query, read_query(parameters));
  std::vector<std::string> items = response.input_items;
  if (query.is_newest_first) {
    std::ranges::reverse(items);
  }
  if (!query.after.empty()) {
    const auto found = std::ranges::find(items, query.after, id_of);
    if (found == items.end()) {
      return wrong_value("after", concat("no item has the id ", quote(query.after)));
    }
    items.erase(items.begin(), std::next(found));
  }
  const bool has_more = items.size() > query.limit;
  items.resize(std::min(items.size(), query.limit));
  JsonWriter json;
  json.begin_object().text("object", "list").begin_array("data");
  for (const std::string& item : items) {
    json.raw(item);
  }
  json.end_array();
  write_id(json, "first_id", items, 0);
  write_id(json, "last_id", items, items.size() - 1);
  return std::move(json.boolean("has_more", has_more).end_object()).str();
}

std::string input_tokens_body(std::uint64_t count) {
  JsonWriter json;
  json.begin_object().text("object", "response.input_tokens").integer("input_tokens", count);
  return std::move(json.end_object()).str();
}

std::string deleted_body(std::string_view id) {
  JsonWriter json;
  json.begin_object().text("id", id).text("object", "response").boolean("deleted", true);
  return std::move(json.end_object()).str();
}

Outcome<bool> needs_cancel(const StoredResponse& response) {
  if (!response.is_background) {
    return Failure(FailureKind::invalid, "Only background responses can be cancelled.",
                   "response_id");
  }
  if (response.is_final && !response.is_cancelled) {
    return Failure(FailureKind::invalid, "A response that has ended cannot be cancelled.",
                   "response_id");
  }
  return !response.is_cancelled;
}

StoredResponse cancelled(StoredResponse response) {
  const auto parsed = Json::parse(response.body, "response");
  if (response.is_final || !parsed.ok() || parsed->as_object() == nullptr) {
    return response;
  }
  Json::Object members = *parsed->as_object();
  for (auto& [name, value] : members) {
    if (name == "status") {
      value = Json(std::string("cancelled"));
    }
  }
  response.body = Json(std::move(members)).dump();
  response.is_final = true;
  response.is_cancelled = true;
  return response;
}

Failure named(Failure failure) {
  if (names_body_field(failure)) {
    return failure;
  }
  if (failure.field == "messages" || failure.field == "prompt") {
    failure.field = "input";
  } else if (failure.field == "response_format") {
    failure.field = "text.format.schema";
  } else if (failure.field == "max_tokens") {
    failure.field = "max_output_tokens";
  }
  return failure;
}

std::string error_body(const Failure& failure) { return openai_error_body(named(failure)); }

}  // namespace zllm::dialect::responses
