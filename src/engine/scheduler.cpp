#include <zllm/engine/scheduler.h>

#include <algorithm>
#include <utility>

#include <zllm/base/check.h>
#include <zllm/engine/prompt_sharing.h>

namespace zllm::engine {
namespace {

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

Timings timings_of(const Job& job) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point first = job.first_round.value_or(now);
  const Clock::time_point answer = job.first_answer.value_or(now);
  return {.queue_seconds = seconds_between(job.submitted, first),
          .prefill_seconds = job.first_round ? seconds_between(first, answer) : 0,
          .decode_seconds = job.first_answer ? seconds_between(answer, now) : 0};
}

bool is_late(const Job& job, Clock::time_point now) {
  return job.request.deadline && *job.request.deadline <= now;
}

Error late() { return {Code::cancelled, "the request was not done by its deadline"}; }

}  // namespace

Scheduler::Scheduler(runtime::AnyModel& model, std::unique_ptr<PrefixCache> cache,
                     LoopOptions options, Publish publish)
    : model_(model),
      options_(std::move(options)),
      publish_(std::move(publish)),
      residence_(model, std::move(cache), options_.swap_bytes, statistics_),
      writer_(model.info().limits, statistics_),
      queue_(options_.weights) {}

void Scheduler::accept(std::unique_ptr<Job> job) {
  job->request.writes_cache = job->request.writes_cache && options_.prefix_cache.is_enabled;
  queue_.push(job->id, job->request.caller, job->request.priority);
  if (Residence::last_below(job->request.priority, residents())) {
    blocked_.reset();
  }
  waiting_.emplace(job->id, std::move(job));
}

bool Scheduler::step(Clock::time_point now) {
  sweep(now);
  admit();
  std::vector<Turn> turns = plan();
  const bool has_work = !turns.empty();
  if (has_work) {
    run(std::move(turns));
  }
  publish(has_work);
  flush();
  return has_work;
}

std::optional<Clock::time_point> Scheduler::next_deadline() const {
  std::optional<Clock::time_point> next;
  const auto note = [&](const Job& job) {
    if (job.request.deadline && (!next || *job.request.deadline < *next)) {
      next = job.request.deadline;
    }
  };
  for (const auto& [id, job] : waiting_) {
    note(*job);
  }
  for (const auto& job : running_) {
    note(*job);
  }
  return next;
}

void Scheduler::shut_down() {
  const auto stop = [this](Job& job) {
    fail(job, FailureKind::shut_down, {Code::cancelled, "the engine was shut down"});
  };
  for (const auto& [id, job] : waiting_) {
    queue_.remove(id);
    stop(*job);
  }
  waiting_.clear();
  for (const auto& job : running_) {
    stop(*job);
  }
  publish(false);
  flush();
}

void Scheduler::sweep(Clock::time_point now) {
  sweep_queue(now);
  for (const auto& job : running_) {
    if (job->events->is_cancelled()) {
      end(*job, {});
    } else if (is_late(*job, now)) {
      fail(*job, FailureKind::deadline, late());
    } else {
      cancel_choices(*job);
    }
  }
}

void Scheduler::sweep_queue(Clock::time_point now) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    Job& job = *next->second;
    if (job.events->is_cancelled()) {
      end(job, {});
    } else if (is_late(job, now)) {
      fail(job, FailureKind::deadline, late());
    } else {
      cancel_choices(job);
    }
    if (job.is_ended) {
      queue_.remove(next->first);
      next = waiting_.erase(next);
    } else {
      ++next;
    }
  }
}

void Scheduler::cancel_choices(Job& job) {
  for (const std::uint32_t index : job.events->take_cancelled_choices()) {
    if (index < job.choices.size() && !job.choices[index].is_over) {
      Choice& choice = job.choices[index];
      choice.finished = {.choice = index, .reason = FinishReason::cancelled};
      finish_choice(job, choice);
    }
  }
}

void Scheduler::admit() {
  if (blocked_) {
    const auto paused = static_cast<std::size_t>(
        std::ranges::count_if(residents(), [](const Resident& r) { return r.is_paused(); }));
    if (*blocked_ == paused) {
      return;
    }
    blocked_.reset();
  }
  while (start_next()) {
  }
}

// Gives the next choice that waits its place, if need be of one of lower priority; false when there
// is none or no room for it.
bool Scheduler::start_next() {
  std::optional<Resident> next = first_parked();
  const std::optional<std::int32_t> priority = queue_.front_priority();
  if (priority && (!next || next->job->request.priority < *priority)) {
    if (!has_place(*priority) || (!next && awaiting_jobs() >= options_.sequences)) {
      return false;
    }
    next = admit_front();
    if (awaits_prompt(*next->job)) {
      return true;
    }
  }
  if (!next || !make_place(next->job->request.priority)) {
    return false;
  }
  const std::vector<Resident> others = residents();
  const Result<Residence::Seating> seating = residence_.seat(*next->job, *next->choice, others);
  if (!seating.ok()) {
    const bool is_memory = seating.error().code == Code::resource_exhausted;
    fail(*next->job, is_memory ? FailureKind::no_memory : FailureKind::failed, seating.error());
  } else if (*seating == Residence::Seating::full) {
    blocked_ = static_cast<std::size_t>(
        std::ranges::count_if(residents(), [](const Resident& r) { return r.is_paused(); }));
    return false;
  }
  return true;
}

// Whether those that give way to nobody of this priority leave a place. More may compute than there
// are places, since readers that were slow come back.
bool Scheduler::has_place(std::int32_t priority) const {
  const std::vector<Resident> all = residents();
  const auto stay = std::ranges::count_if(all, [&](const Resident& resident) {
    return !resident.is_paused() && resident.job->request.priority >= priority;
  });
  return static_cast<std::size_t>(stay) < options_.sequences;
}

// Preempts those that give way until there is a place. False when there is none, be it that a
// reader came back meanwhile: readers take events at any time, so no two looks at them need agree.
bool Scheduler::make_place(std::int32_t priority) {
  if (!has_place(priority)) {
    return false;
  }
  while (active() >= options_.sequences) {
    const std::optional<Resident> last = Residence::last_below(priority, residents());
    if (!last) {
      return false;
    }
    residence_.preempt(*last->job, *last->choice);
  }
  return true;
}

// The first choice that runs but has no state. Choices beside the first wait for the prompt.
std::optional<Scheduler::Resident> Scheduler::first_parked() {
  for (const auto& job : running_) {
    if (job->is_ended || job->events->room() == 0 || awaits_prompt(*job)) {
      continue;
    }
    for (Choice& choice : job->choices) {
      if (!choice.is_over && !choice.sequence &&
          (job->is_prompt_read || &choice == job->leader())) {
        return Resident{.job = job.get(), .choice = &choice};
      }
    }
  }
  return {};
}

bool Scheduler::awaits_prompt(const Job& job) const {
  return options_.prefix_cache.is_enabled && !job.is_prompt_read &&
         std::ranges::any_of(running_, [&](const auto& other) {
           return awaits_prompt_of(job, *other, model_.info().is_recurrent);
         });
}

std::size_t Scheduler::awaiting_jobs() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(running_, [this](const auto& job) { return awaits_prompt(*job); }));
}

Scheduler::Resident Scheduler::admit_front() {
  const auto found = waiting_.find(*queue_.front());
  queue_.pop();
  std::unique_ptr<Job> job = std::move(found->second);
  waiting_.erase(found);
  const auto at = std::ranges::find_if(
      running_, [&](const auto& other) { return other->request.priority < job->request.priority; });
  Job& admitted = **running_.insert(at, std::move(job));
  for (Choice& choice : admitted.choices) {
    if (!choice.is_over) {
      return {.job = &admitted, .choice = &choice};
    }
  }
  ZLLM_CHECK(false, "a waiting request without choices");
  return {};
}

std::vector<Scheduler::Resident> Scheduler::residents() const {
  std::vector<Resident> found;
  for (const auto& job : running_) {
    for (Choice& choice : job->choices) {
      if (choice.sequence) {
        found.push_back({.job = job.get(), .choice = &choice});
      }
    }
  }
  return found;
}

std::size_t Scheduler::active() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(residents(), [](const Resident& r) { return !r.is_paused(); }));
}

void Scheduler::finish_choice(Job& job, Choice& choice) {
  choice.is_over = true;
  residence_.leave(job, choice, true);
  blocked_.reset();
  job.events->push(*choice.finished);
  if (std::ranges::all_of(job.choices, &Choice::is_over)) {
    end(job, {});
  }
}

// Ends a request: without a failure, what has not finished was cancelled.
void Scheduler::end(Job& job, std::optional<Failed> failure) {
  if (job.is_ended) {
    return;
  }
  job.is_ended = true;
  const bool is_sound = !failure || failure->kind != FailureKind::failed;
  bool is_cancelled = false;
  for (Choice& choice : job.choices) {
    if (choice.is_over) {
      continue;
    }
    choice.is_over = true;
    is_cancelled = true;
    residence_.leave(job, choice, is_sound);
    if (!failure) {
      job.events->push(ChoiceFinished{.choice = choice.index, .reason = FinishReason::cancelled});
    }
  }
  blocked_.reset();
  if (failure) {
    ++statistics_.failed_requests;
  } else {
    ++(is_cancelled ? statistics_.cancelled_requests : statistics_.finished_requests);
  }
  ended_.emplace_back(job.events, Ended{.failure = std::move(failure),
                                        .timings = timings_of(job),
                                        .preemptions = job.preemptions});
}

void Scheduler::fail(Job& job, FailureKind kind, Error error) {
  end(job, Failed{.kind = kind, .error = std::move(error)});
}

void Scheduler::publish(bool has_work) {
  Statistics& now = statistics_;
  const std::vector<Resident> all = residents();
  now.queued_requests = waiting_.size();
  now.running_requests = static_cast<std::size_t>(
      std::ranges::count_if(running_, [](const auto& job) { return !job->is_ended; }));
  now.running_sequences = all.size();
  now.paused_sequences = static_cast<std::size_t>(
      std::ranges::count_if(all, [](const Resident& r) { return r.is_paused(); }));
  now.free_rows = model_.states().free_rows();
  now.used_rows = residence_.capacity_rows() - std::min(now.free_rows, residence_.capacity_rows());
  // Counting what the cache holds takes time by its size.
  constexpr std::uint64_t kRoundsBetween = 64;
  if (!ended_.empty() || !has_work || now.rounds % kRoundsBetween == 0) {
    publish_cache();
  }
  publish_(now);
}

void Scheduler::publish_cache() {
  Statistics& now = statistics_;
  const PrefixCacheStatistics cache = residence_.cache().statistics();
  now.cache_bytes = cache.bytes;
  now.cache_entries = cache.entries;
  now.cache_evictions = cache.evictions;
  now.disk_bytes = cache.disk_bytes;
}

// Tells readers last of all, so that whoever knows of the end finds its pages free.
void Scheduler::flush() {
  for (auto& [events, ended] : ended_) {
    events->push(std::move(ended));
  }
  ended_.clear();
  std::erase_if(running_, [](const auto& job) { return job->is_ended; });
}

}  // namespace zllm::engine
