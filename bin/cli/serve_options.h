#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/server/server_options.h>

#include "option_table.h"

namespace zllm::cli {

// What the command line and the YAML file of zllm serve say.
struct ServeOptions {
  std::string model;
  std::string model_name;
  std::vector<std::string> models;  // NAME=PATH
  EngineOptions engine;             // of every model, but for its path
  std::string chat_template_file;
  bool no_prefix_cache = false;
  std::string api_key_file;
  server::ServerOptions server;
  bool no_http3 = false;
  bool no_request_log = false;
  double drain_seconds = 30;
};

void describe(ServeOptions& options, OptionTable& table);
// What is certain before anything loads.
Status check(const ServeOptions& options);
// Reads key and template files, and finds the models.
Result<server::ServerOptions> server_options(const ServeOptions& options);

}  // namespace zllm::cli
