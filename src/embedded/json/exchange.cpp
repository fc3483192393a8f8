#include <zllm/embedded/json/exchange.h>

#include <ctime>
#include <filesystem>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/dialect/catalog/catalog.h>
#include <zllm/embedded/random_name.h>

namespace zllm {
namespace {

constexpr std::size_t kUniqueLength = 24;

std::string own_name(const EngineInfo& model) {
  const std::filesystem::path path = model.path;
  return path.has_filename() ? path.filename().string() : model.architecture;
}

std::string model_name(const JsonRequest& request, const Json& body, const EngineInfo& model) {
  if (!request.model.empty()) {
    return request.model;
  }
  const Json *named = body.find("model");
  const std::string *name = named == nullptr ? nullptr : named->as_string();
  return name == nullptr || name->empty() ? own_name(model) : *name;
}

Failure unknown_dialect(std::string_view name) {
  std::string known;
  for (const dialect::Dialect& each : dialect::all_dialects()) {
    known += concat(known.empty() ? "" : ", ", each.name);
  }
  return {FailureKind::not_found, concat("the dialect ", quote(name), " is not one of ", known)};
}

}  // namespace

Outcome<dialect::Batch> read_exchange(const JsonRequest& request, const EngineInfo& model) {
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
                                   .model = model_name(request, body, model),
                                   .identity = model.identity};
  return spoken->read(body, facts, {.caller = request.caller, .store = request.store});
}

std::string json_error(std::string_view dialect, const Failure& failure) {
  const dialect::Dialect *spoken = dialect::find_dialect(dialect);
  return (spoken == nullptr ? dialect::all_dialects().front() : *spoken)
      .error_body(failure, concat("req_", random_name(kUniqueLength)));
}

}  // namespace zllm
