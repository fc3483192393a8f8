#include <algorithm>
#include <array>

#include <zllm/base/text.h>
#include <zllm/dialect/anthropic/messages.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::dialect::anthropic {
namespace {

// Kinds of failures that a server has and the engine has not: Failure::code names them.
constexpr std::array<std::string_view, 3> kServerTypes = {"authentication_error",
                                                          "permission_error", "request_too_large"};

std::string_view type_of(const Failure& failure) {
  const auto *type = std::ranges::find(kServerTypes, std::string_view(failure.code));
  if (type != kServerTypes.end()) {
    return *type;
  }
  if (failure.code == "invalid_api_key") {
    return "authentication_error";
  }
  switch (failure.kind) {
    case FailureKind::invalid:
    case FailureKind::too_long:
    case FailureKind::unsupported:
      return "invalid_request_error";
    case FailureKind::not_found:
      return "not_found_error";
    case FailureKind::busy:
      return "rate_limit_error";
    case FailureKind::loading:
    case FailureKind::shut_down:
    case FailureKind::out_of_memory:
      return "overloaded_error";
    case FailureKind::deadline:
      return "timeout_error";
    case FailureKind::internal:
      return "api_error";
  }
  return "api_error";
}

// As a request of this dialect names it.
std::string field_of(const Failure& failure) {
  constexpr std::string_view kTool = "tools[";
  constexpr std::string_view kSchema = "].parameters";
  const std::string& field = failure.field;
  if (names_body_field(failure)) {
    return field;
  }
  if (field == "response_format") {
    return "output_config.format.schema";
  }
  if (field.starts_with(kTool) && field.ends_with(kSchema)) {
    const std::size_t digits = field.size() - kTool.size() - kSchema.size();
    return concat("tools.", field.substr(kTool.size(), digits), ".input_schema");
  }
  return field == "stop" ? "stop_sequences" : field;
}

}  // namespace

std::string error_body(const Failure& failure, std::string_view request_id) {
  const std::string field = field_of(failure);
  const bool names_field = field.empty() || failure.message.find(field) != std::string::npos;
  JsonWriter json;
  json.begin_object().text("type", "error").begin_object("error");
  json.text("type", type_of(failure));
  json.text("message", names_field ? failure.message : concat(field, ": ", failure.message));
  json.end_object();
  if (!request_id.empty()) {
    json.text("request_id", request_id);
  }
  return json.end_object().str();
}

}  // namespace zllm::dialect::anthropic
