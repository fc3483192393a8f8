#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/engine/job.h>
#include <zllm/engine/prefix_cache.h>
#include <zllm/engine/statistics.h>
#include <zllm/runtime/any_model.h>

namespace zllm::engine {

// Which choices have a state in the model: they get one from the cache, the swap or anew, give it
// up when memory is short, and leave it to the cache at the end.
class Residence {
 public:
  struct Resident {
    Job *job = nullptr;
    Choice *choice = nullptr;

    bool is_paused() const { return job->events->room() == 0; }
  };

  enum class Seating : std::uint8_t {
    seated,
    full,  // not before another choice gives up or ends
  };

  Residence(runtime::AnyModel& model, std::unique_ptr<PrefixCache> cache, std::uint64_t swap_bytes,
            Statistics& statistics);

  // The last of the residents, which are in order, that computes for a request of lower priority.
  static std::optional<Resident> last_below(std::int32_t priority,
                                            std::span<const Resident> residents);

  // Gives a choice its state. `residents` are those that have one, whose further rows are left
  // room; paused ones give up for it, then those of lower priority. An error: it can never have
  // one.
  Result<Seating> seat(Job& job, Choice& choice, std::vector<Resident> residents);
  // Gives a choice a fork of another's state, where the model has room for one more.
  bool seat_beside(const Choice& other, Choice& choice);
  // Takes a choice's state, into the swap or else the cache; the choice is computed on later as if
  // nothing had been.
  void preempt(Job& job, Choice& choice);
  // A choice ends. is_sound: the state is what its history says.
  void leave(const Job& job, Choice& choice, bool is_sound);
  // Leaves a copy of a state whose prompt is computed, or computed up to an anchor, to the cache.
  void keep_prompt(const Job& job, const Choice& choice);
  // Frees rows of the cache; false when nothing was freed.
  bool make_room(std::uint64_t rows);
  // The next row at which a recurrent model's prompt is cut; 0 = nowhere.
  std::uint64_t cut(const Job& job) const;

  PrefixCache& cache() { return *cache_; }
  const PrefixCache& cache() const { return *cache_; }
  std::uint64_t capacity_rows() const { return capacity_rows_; }

 private:
  bool has_room(const Job& job, std::uint64_t rows, std::vector<Resident>& residents);
  bool preempt_for(const Job& job, std::vector<Resident>& residents);
  Result<Seating> swap_in(const Job& job, Choice& choice, std::vector<Resident>& residents);
  Result<Seating> acquire(Job& job, Choice& choice, std::vector<Resident>& residents);
  void release(Choice& choice);
  void forget_snapshot(Choice& choice);

  runtime::AnyModel& model_;
  std::unique_ptr<PrefixCache> cache_;
  std::uint64_t swap_bytes_;
  std::uint64_t swapped_bytes_ = 0;
  std::uint64_t capacity_rows_;
  Statistics& statistics_;
};

}  // namespace zllm::engine
