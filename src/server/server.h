#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/server/access.h>
#include <zllm/server/allowed_hosts.h>
#include <zllm/server/api_keys.h>
#include <zllm/server/http/transport.h>
#include <zllm/server/route_table.h>
#include <zllm/server/services.h>

namespace zllm::server {

// The service: every request's one way through authorisation, routing and the models. It answers
// while models load. Thread-safe.
class Server {
 public:
  // Errors name the option.
  static Result<std::unique_ptr<Server>> create(ServerOptions options);
  // On engines that exist.
  static Result<std::unique_ptr<Server>> create(ServerOptions options,
                                                std::unique_ptr<ModelSet> models);
  ~Server();  // close()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // For a transport: takes a request and answers it in its own time.
  http::Handler handler();
  // Begins to load the models.
  void load() { services_->models->load(); }
  const ModelSet& models() const { return *services_->models; }
  const RouteTable& routes() const { return routes_; }
  const RequestLog& log() const { return services_->log; }

  // From now on requests are refused with 503; running ones go on.
  void refuse_new() { services_->is_closing = true; }
  // Ends what runs: background answers are cancelled, engines stop. The transport has stopped.
  void close();

 private:
  Server(std::unique_ptr<Services> services, ApiKeys keys, AllowedHosts hosts);

  void take(http::HttpRequest request, std::shared_ptr<http::ResponseWriter> writer);
  void dispatch(const std::shared_ptr<Call>& call);
  bool authorise(Call& call, Access access) const;
  void refuse(Call& call) const;

  std::unique_ptr<Services> services_;
  ApiKeys keys_;
  AllowedHosts hosts_;
  CrossOrigin cross_origin_;
  RouteTable routes_;
};

}  // namespace zllm::server
