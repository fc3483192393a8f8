#include <zllm/embedded/json/exchange.h>

#include <ctime>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/dialect/catalog/catalog.h>
#include <zllm/embedded/random_name.h>

namespace zllm {
namespace {

constexpr std::size_t kUniqueLength = 24;

std::string model_name(const JsonRequest& request, const Json& body,
                       const std::string& default_model) {
  if (!request.model.empty()) {
    return request.model;
  }
  const Json *named = body.find("model");
  const std::string *name = named == nullptr ? nullptr : named->as_string();
  return name == nullptr || name->empty() ? default_model : *name;
}

Failure unknown_dialect(std::string_view name) {
  std::string known;
  for (const dialect::Dialect& each : dialect::all_dialects()) {
    known += concat(known.empty() ? "" : ", ", each.name);
  }
  return {FailureKind::not_found, concat("the dialect ", quote(name), " is not one of ", known)};
}

}  // namespace

Outcome<dialect::Batch> read_exchange(const JsonRequest& request,
                                      const std::string& default_model) {
  const dialect::Dialect *spoken = dialect::find_dialect(request.dialect);
  if (spoken == nullptr) {
    return unknown_dialect(request.dialect);
  }
  const auto parsed = Json::parse(request.body, "the body");
  if (!parsed.ok()) {
    return Failure(FailureKind::invalid, parsed.error().message);
  }
  const Json& body = *parsed;
  if (body.as_object() == nullptr) {
    return Failure(FailureKind::invalid, "the body must be a JSON object");
  }
  const dialect::AnswerFacts facts{.unique = random_name(kUniqueLength),
                                   .created = std::time(nullptr),
                                   .model = model_name(request, body, default_model)};
  return spoken->read(body, facts, {.caller = request.caller, .store = request.store});
}

std::string json_error(std::string_view dialect, const Failure& failure) {
  const dialect::Dialect *spoken = dialect::find_dialect(dialect);
  return (spoken == nullptr ? dialect::all_dialects().front() : *spoken)
      .error_body(failure, concat("req_", random_name(kUniqueLength)));
}

}  // namespace zllm
