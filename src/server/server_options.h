#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zllm/dialect/responses/response_store.h>
#include <zllm/embedded/engine_options.h>
#include <zllm/server/http/transport.h>
#include <zllm/server/request_log.h>

namespace zllm::server {

// A model and the name that requests call it by.
struct ServedModel {
  std::string name;
  EngineOptions options;
};

struct ServerLimits {
  std::size_t workers = 0;                // threads for text and JSON work; 0 = as the machine has
  double request_seconds = 3600;          // from arrival to the end of the answer
  std::size_t background_responses = 64;  // that run at once without a client
  std::optional<std::int32_t> priority = {};  // the highest to ask for; nothing: any
  dialect::responses::StoreLimits store = {};
};

struct ServerOptions {
  std::vector<ServedModel> models = {};
  std::vector<std::string> api_keys = {};      // empty: no request needs one
  std::vector<std::string> cors_origins = {};  // exact origins; empty: no cross-origin answers
  // What requests may name as their host, without ports; "*": any. Empty: see AllowedHosts.
  std::vector<std::string> allowed_hosts = {};
  http::TransportOptions transport = {};
  ServerLimits limits = {};
  LogSink log = {};  // of events and, where wanted, requests
  bool logs_requests = true;
};

}  // namespace zllm::server
