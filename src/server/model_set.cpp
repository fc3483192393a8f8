#include <zllm/server/model_set.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::server {
namespace {

// What programs that were made for servers of one model send as its name.
constexpr std::array<std::string_view, 9> kPlaceholders = {
    "default", "model", "local", "local-model", "zllm", "test", "any", "x", "m"};

std::int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool begins_with(std::string_view name, std::string_view beginning) {
  return name.size() >= beginning.size() &&
         std::equal(beginning.begin(), beginning.end(), name.begin(), is_same_letter);
}

}  // namespace

ModelSet::ModelSet(std::vector<ServedModel> models) : wanted_(std::move(models)) {
  entries_.reserve(wanted_.size());
  for (const ServedModel& model : wanted_) {
    entries_.push_back({.name = model.name, .path = model.options.model});
  }
}

void ModelSet::load() {
  if (!wanted_.empty()) {
    loader_ = std::thread([this] { load_all(); });
  }
}

ModelSet::ModelSet(std::vector<std::string> names, std::vector<std::shared_ptr<Engine>> engines) {
  ZLLM_CHECK(names.size() == engines.size(), "a name for every engine");
  entries_.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    entries_.push_back({.name = std::move(names[i]),
                        .path = engines[i]->info().path,
                        .state = LoadState::ready,
                        .since = now_seconds(),
                        .engine = std::move(engines[i])});
  }
}

ModelSet::~ModelSet() {
  stop_loading();
  if (loader_.joinable()) {
    loader_.join();
  }
}

void ModelSet::stop_loading() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
}

void ModelSet::load_all() {
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_) {
        return;
      }
    }
    auto loaded = Engine::load(wanted_[i].options);
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[i];
    entry.since = now_seconds();
    if (loaded.ok()) {
      entry.engine = *std::move(loaded);
      entry.state = LoadState::ready;
    } else {
      entry.error = loaded.error().message;
      entry.state = LoadState::failed;
    }
  }
}

std::vector<ModelSet::Entry> ModelSet::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

bool ModelSet::is_loading() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_,
                             [](const Entry& entry) { return entry.state == LoadState::loading; });
}

std::string ModelSet::first_error() const {
  const std::lock_guard lock(mutex_);
  const auto failed = std::ranges::find(entries_, LoadState::failed, &Entry::state);
  return failed == entries_.end() ? std::string() : failed->error;
}

Outcome<ModelSet::Entry> ModelSet::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const Entry *found = nullptr;
  const auto exact = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return entry.name == name || entry.path == name; });
  if (exact != entries_.end()) {
    found = &*exact;
  } else if (entries_.size() == 1 &&
             (name.empty() || std::ranges::find(kPlaceholders, name) != kPlaceholders.end())) {
    found = &entries_.front();
  } else if (!name.empty()) {
    const auto matches = [&](const Entry& entry) {
      return begins_with(entry.name, name) ||
             std::filesystem::path(entry.path).filename().native() == name;
    };
    if (std::ranges::count_if(entries_, matches) == 1) {
      found = &*std::ranges::find_if(entries_, matches);
    }
  }
  if (found == nullptr) {
    return Failure(FailureKind::not_found,
                   name.empty() ? std::string("a model must be named")
                                : concat("the model ", quote(name), " does not exist"),
                   "model", "model_not_found");
  }
  if (found->state == LoadState::loading) {
    return Failure(FailureKind::loading, concat("the model ", quote(found->name), " is loading"));
  }
  if (found->state == LoadState::failed) {
    return Failure(FailureKind::internal,
                   concat("the model ", quote(found->name), " could not be loaded"));
  }
  return *found;
}

}  // namespace zllm::server
