#include "serve_options.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/text_file.h>
#include <zllm/server/allowed_hosts.h>
#include <zllm/server/api_keys.h>

#include "model_location.h"

namespace zllm::cli {
namespace {

constexpr const char *kKeyVariable = "ZLLM_API_KEY";
constexpr std::uint64_t kMostSequences = 4096;  // each has tables of its own in every round
constexpr std::uint64_t kMostTokens = 1ULL << 40;
constexpr double kMostSeconds = 1e6;                           // more than a week
constexpr std::size_t kSmallFileLimit = std::size_t{1} << 20;  // of templates and PEM files

Range<std::uint64_t> bytes() { return {0, std::numeric_limits<std::uint64_t>::max()}; }
Range<double> seconds() { return {kAboveZero, kMostSeconds}; }

void describe_models(ServeOptions& options, OptionTable& table) {
  EngineOptions& engine = options.engine;
  table.text("model", "PATH", "Hub-layout folder, GGUF file or the name of a pulled model",
             options.model);
  table.text("model-name", "NAME", "How requests call it; not set = its file's name",
             options.model_name);
  table.list("models", "NAME=PATH", "A model by name (repeatable)", options.models);
  table.text("backend", "NAME", "What computes: see 'zllm capabilities'", engine.backend);
  table.number("threads", "Threads, 0 = as many as this process may use", engine.threads,
               Range<unsigned>{0, 4096});
  table.number("context", "Tokens of a prompt and its answer, 0 = the model's own as memory allows",
               engine.context, Range<std::uint64_t>{0, kMostTokens});
  table.number("cache-tokens", "Tokens that all answers and prefixes hold together, 0 = fitting",
               engine.cache_tokens, Range<std::uint64_t>{0, kMostTokens});
  table.choice("kv-type", {"f32", "f16"}, "Numbers of the cache", engine.kv_type);
  table.number("max-concurrent", "Answers that are computed at once", engine.max_concurrent,
               Range<std::uint32_t>{1, kMostSequences});
  table.number("queue-length", "Requests that wait at most; more get 429", engine.queue_length,
               Range<std::size_t>{1, std::size_t{1} << 20});
  table.number("prefill-budget", "Prompt tokens of a round beside answers, 0 = a default",
               engine.prefill_budget, Range<std::uint64_t>{0, kMostTokens});
  table.toggle("no-prefix-cache", "Compute every prompt anew", options.no_prefix_cache);
  table.number("prefix-cache-bytes", "Memory of cached prefixes, 0 = what answers leave free",
               engine.prefix_cache_bytes, bytes());
  table.text("prefix-cache-folder", "PATH", "Keeps evicted prefixes on disk there",
             engine.prefix_cache_folder);
  table.number("prefix-cache-folder-bytes", "Size of that folder", engine.prefix_cache_folder_bytes,
               bytes());
  table.number("swap-bytes", "Host memory for answers that are put aside", engine.swap_bytes,
               bytes());
  table.text("chat-template-file", "PATH", "In place of the models' own chat template",
             options.chat_template_file);
  table.text("output-family", "NAME", "How answers are taken apart; not set = by the template",
             engine.family);
  table.text("pre-tokenizer", "NAME", "In place of what a GGUF file names", engine.pre_tokenizer);
}

void describe_access(ServeOptions& options, OptionTable& table) {
  server::http::TransportOptions& transport = options.server.transport;
  table.text("host", "ADDRESS", "Where to listen", transport.host);
  table.number("port", "Port, 0 = any that is free", transport.port,
               Range<std::uint16_t>{0, std::numeric_limits<std::uint16_t>::max()});
  table.text("api-key-file", "PATH",
             concat("Keys that requests must bring, one a line; ", kKeyVariable,
                    " of the environment adds one"),
             options.api_key_file);
  table.list("cors-origin", "ORIGIN", "Pages of this origin may read answers (repeatable)",
             options.server.cors_origins);
  table.list(
      "allowed-hosts", "NAME",
      "Host that requests may name, * = any (repeatable); not set = any, on loopback without "
      "keys its own names",
      options.server.allowed_hosts);
  table.text("tls-certificate", "PATH", "PEM file of the certificate chain",
             transport.tls_certificate);
  table.text("tls-key", "PATH", "PEM file of its key", transport.tls_key);
  table.toggle("no-http3", "With TLS: HTTP/1.1 and 2 alone", options.no_http3);
}

void describe_limits(ServeOptions& options, OptionTable& table) {
  server::http::TransportLimits& limits = options.server.transport.limits;
  server::ServerLimits& server = options.server.limits;
  const Range<std::size_t> sizes{1, std::size_t{1} << 40};
  table.number("max-body-bytes", "Of a request", limits.body_bytes, sizes);
  table.number("max-total-body-bytes", "Of all requests that are not answered yet; more get 429",
               limits.total_body_bytes, sizes);
  table.number("max-header-bytes", "Of all headers of a request", limits.header_bytes, sizes);
  table.number("max-connections", "At once", limits.connections, sizes);
  table.number("max-buffer-bytes", "Of an answer that its client does not take",
               limits.buffer_bytes, sizes);
  table.number("header-timeout", "Seconds for a request's headers", limits.header_seconds,
               seconds());
  table.number("body-timeout", "Seconds for a request's body", limits.body_seconds, seconds());
  table.number("idle-timeout", "Seconds that a connection may be idle", limits.idle_seconds,
               seconds());
  table.number("write-timeout", "Seconds that a client may take nothing", limits.write_seconds,
               seconds());
  table.number("max-priority", "Highest priority that a request may ask for; not set = any",
               server.priority, Range<std::int32_t>{0, std::numeric_limits<std::int32_t>::max()});
  table.number("request-timeout", "Seconds from a request to the end of its answer",
               server.request_seconds, seconds());
  table.number("max-stored-responses", "Responses that are kept for later", server.store.responses,
               Range<std::size_t>{0, std::size_t{1} << 32});
  table.number("max-stored-bytes", "Of those responses", server.store.bytes,
               Range<std::size_t>{0, std::size_t{1} << 40});
  table.number("max-background", "Responses that run without a client", server.background_responses,
               Range<std::size_t>{0, std::size_t{1} << 20});
  table.number("drain-timeout", "Seconds that running answers have when a signal came",
               options.drain_seconds, Range<double>{0, kMostSeconds});
  table.toggle("no-request-log", "Log no line a request", options.no_request_log);
}

// "SmolLM2-135M" of "/models/SmolLM2-135M.gguf".
std::string name_of(const std::string& path) {
  std::filesystem::path file = std::filesystem::path(path).lexically_normal();
  if (!file.has_filename()) {
    file = file.parent_path();
  }
  return file.extension() == ".gguf" ? file.stem().string() : file.filename().string();
}

Result<std::vector<server::ServedModel>> models_of(const ServeOptions& options,
                                                   const EngineOptions& engine) {
  std::vector<std::pair<std::string, std::string>> wanted;
  if (!options.model.empty() || options.models.empty()) {
    wanted.emplace_back(options.model_name, options.model);
  }
  for (const std::string& model : options.models) {
    const std::size_t equals = model.find('=');
    wanted.emplace_back(model.substr(0, equals), model.substr(equals + 1));
  }
  std::vector<server::ServedModel> models;
  std::set<std::string> names;
  for (auto& [name, path] : wanted) {
    server::ServedModel model{.name = name, .options = engine};
    ZLLM_TRY(model.options.model, locate_model(path));
    if (name.empty()) {
      model.name = name_of(model.options.model);
    }
    if (!names.insert(model.name).second) {
      return Error{Code::invalid_argument,
                   concat("two models are called ", quote(model.name), "; --models names them")};
    }
    models.push_back(std::move(model));
  }
  return models;
}

Status check_models(const std::vector<std::string>& models) {
  std::set<std::string> names;
  for (const std::string& model : models) {
    const std::size_t equals = model.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == model.size()) {
      return Error{Code::invalid_argument, concat("--models: ", quote(model), " is not NAME=PATH")};
    }
    const std::string name = model.substr(0, equals);
    if (!names.insert(name).second) {
      return Error{Code::invalid_argument, concat("--models: two models are called ", quote(name))};
    }
  }
  return {};
}

Status check_file(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  auto text = read_text_file(path, kSmallFileLimit);
  return text.ok() ? Status() : Status(std::move(text).error());
}

Status check_keys(std::vector<std::string> keys, const std::string& source) {
  auto checked = server::ApiKeys::create(std::move(keys));
  return checked.ok() ? Status() : Status(std::move(checked).error().within(source));
}

// Those of the file and of the environment. Called before any thread runs.
Result<std::vector<std::string>> keys_of(const ServeOptions& options) {
  std::vector<std::string> keys;
  if (!options.api_key_file.empty()) {
    ZLLM_TRY(keys, server::read_key_file(options.api_key_file));
    ZLLM_TRY(check_keys(keys, options.api_key_file));
  }
  if (const char *key = std::getenv(kKeyVariable); key != nullptr && *key != '\0') {
    ZLLM_TRY(check_keys({key}, kKeyVariable));
    keys.emplace_back(key);
  }
  return keys;
}

// As browsers send them: a scheme, a host and where it is not the usual one a port.
bool is_origin(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == 0 || scheme_end == std::string_view::npos) {
    return false;
  }
  const std::string_view host = text.substr(scheme_end + 3);
  const auto is_plain = [](char c) {
    return c > ' ' && c < '\x7f' && !(c >= 'A' && c <= 'Z') &&
           std::string_view("/?#@*,\\").find(c) == std::string_view::npos;
  };
  const bool has_usual_port = (text.starts_with("https://") && host.ends_with(":443")) ||
                              (text.starts_with("http://") && host.ends_with(":80"));
  return !host.empty() && !has_usual_port && std::ranges::all_of(host, is_plain) &&
         std::ranges::all_of(text.substr(0, scheme_end), is_plain);
}

// The files that a run would read beside the models, so that a checked configuration starts.
Status check_files(const ServeOptions& options) {
  const server::http::TransportOptions& transport = options.server.transport;
  ZLLM_TRY(check_file(options.chat_template_file));
  ZLLM_TRY(check_file(transport.tls_certificate));
  ZLLM_TRY(check_file(transport.tls_key));
  ZLLM_TRY(server::http::check_tls(transport));
  auto keys = keys_of(options);
  return keys.ok() ? Status() : Status(std::move(keys).error());
}

}  // namespace

void describe(ServeOptions& options, OptionTable& table) {
  describe_models(options, table);
  describe_access(options, table);
  describe_limits(options, table);
}

Status check(const ServeOptions& options) {
  ZLLM_TRY(check_models(options.models));
  const server::http::TransportOptions& transport = options.server.transport;
  if (transport.tls_certificate.empty() != transport.tls_key.empty()) {
    return Error{Code::invalid_argument, "--tls-certificate and --tls-key need each other"};
  }
  ZLLM_TRY(server::check_allowed_hosts(options.server.allowed_hosts));
  for (const std::string& origin : options.server.cors_origins) {
    if (!is_origin(origin)) {
      return Error{Code::invalid_argument,
                   concat("--cors-origin: ", quote(origin),
                          " is not an origin as browsers send it, such as https://example.org")};
    }
  }
  return check_files(options);
}

Result<server::ServerOptions> server_options(const ServeOptions& options) {
  server::ServerOptions server = options.server;
  EngineOptions engine = options.engine;
  engine.prefix_cache = !options.no_prefix_cache;
  if (!options.chat_template_file.empty()) {
    ZLLM_TRY(engine.chat_template, read_text_file(options.chat_template_file, kSmallFileLimit));
    if (engine.chat_template.empty()) {
      return Error{Code::invalid_argument, concat(options.chat_template_file, ": is empty")};
    }
  }
  ZLLM_TRY(server.api_keys, keys_of(options));
  server.transport.is_http3_offered = !options.no_http3;
  server.logs_requests = !options.no_request_log;
  ZLLM_TRY(server.models, models_of(options, engine));
  return server;
}

}  // namespace zllm::cli
