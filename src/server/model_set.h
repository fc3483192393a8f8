#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <zllm/embedded/engine.h>
#include <zllm/server/server_options.h>

namespace zllm::server {

enum class LoadState : std::uint8_t { loading, ready, failed };

// The served models by name. Once asked to, they load one after another on a thread of their own,
// so that the server answers meanwhile. Thread-safe.
class ModelSet {
 public:
  explicit ModelSet(std::vector<ServedModel> models);
  // With engines that exist already.
  ModelSet(std::vector<std::string> names, std::vector<std::shared_ptr<Engine>> engines);
  ~ModelSet();  // waits for the model that loads
  ModelSet(const ModelSet&) = delete;
  ModelSet& operator=(const ModelSet&) = delete;

  struct Entry {
    std::string name;
    std::string path;
    LoadState state = LoadState::loading;
    std::string error = {};  // of a failed one
    std::int64_t since = 0;  // seconds since 1970, when it was ready
    std::shared_ptr<Engine> engine = {};
  };
  std::vector<Entry> entries() const;

  // The model of a request. An empty name is the only model, as are names that programs put where
  // they know none ("default") and the beginning of a name without regard to case where it tells
  // one model. loading and failed models are failures of their kind.
  Outcome<Entry> find(std::string_view name) const;

  bool is_loading() const;
  // The first error of a model that failed to load; empty when there is none.
  std::string first_error() const;
  void load();
  // The model that loads is the last to load.
  void stop_loading();

 private:
  void load_all();

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<ServedModel> wanted_;
  bool is_stopped_ = false;
  std::thread loader_;
};

}  // namespace zllm::server
