#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/engine/answer_writer.h>
#include <zllm/engine/job.h>
#include <zllm/engine/loop.h>
#include <zllm/engine/prefix_cache.h>
#include <zllm/engine/prompt_budget.h>
#include <zllm/engine/request_queue.h>
#include <zllm/engine/residence.h>
#include <zllm/engine/round_planner.h>
#include <zllm/engine/statistics.h>
#include <zllm/runtime/any_model.h>

namespace zllm::engine {

// What the loop's thread does, step by step; knows no threads itself.
class Scheduler {
 public:
  // Sees the statistics of a step before any reader hears that a request ended in it.
  using Publish = std::function<void(const Statistics&)>;

  Scheduler(runtime::AnyModel& model, std::unique_ptr<PrefixCache> cache, LoopOptions options,
            Publish publish);

  // Takes a request that passed Loop::submit into the queue.
  void accept(std::unique_ptr<Job> job);
  // Ends what was cancelled or is late, starts what has room, and runs a round. False when there
  // was nothing to compute.
  bool step(Clock::time_point now);
  // When step has something to do though nobody asks.
  std::optional<Clock::time_point> next_deadline() const;
  // Ends everything as shut_down.
  void shut_down();

 private:
  using Resident = Residence::Resident;
  struct Turn {  // of a choice in a round
    Job *job = nullptr;
    Choice *choice = nullptr;
    std::uint64_t rows = 0;
  };

  void sweep(Clock::time_point now);
  void sweep_queue(Clock::time_point now);
  void cancel_choices(Job& job);

  void admit();
  bool start_next();
  bool has_place(std::int32_t priority) const;
  bool make_place(std::int32_t priority);
  std::optional<Resident> first_parked();
  bool awaits_prompt(const Job& job) const;
  std::size_t awaiting_jobs() const;
  Resident admit_front();
  std::vector<Resident> residents() const;
  std::size_t active() const;

  std::vector<Turn> plan();
  PlanLimits plan_limits(std::span<const PendingRows> pending) const;
  PendingRows pending(const Resident& resident) const;
  void run(std::vector<Turn> turns);
  runtime::Round round_of(const std::vector<Turn>& turns) const;
  void note_round(const std::vector<Turn>& turns, Clock::time_point begin);
  bool free_memory(std::uint64_t rows);
  void run_alone(const std::vector<Turn>& turns);
  void digest(const std::vector<Turn>& turns, const runtime::Round& round,
              const runtime::RoundOutput& output);
  bool check(const std::vector<Turn>& turns);
  void commit(const Turn& turn);
  Status read_logits(const Turn& turn, const runtime::Segment& segment,
                     const runtime::RoundOutput& output, std::size_t first);
  Status begin_answers(Job& job, Choice& leader, std::span<const float> logits);

  void finish_choice(Job& job, Choice& choice);
  void end(Job& job, std::optional<Failed> failure);
  void fail(Job& job, FailureKind kind, Error error);
  void publish(bool has_work);
  void publish_cache();
  void flush();

  runtime::AnyModel& model_;
  LoopOptions options_;
  Publish publish_;
  Statistics statistics_;
  Residence residence_;
  AnswerWriter writer_;
  RequestQueue queue_;
  PromptBudget budget_;
  std::map<std::uint64_t, std::unique_ptr<Job>> waiting_;
  std::vector<std::unique_ptr<Job>> running_;  // higher priority first, then as they were admitted
  std::vector<std::pair<std::shared_ptr<EventBuffer>, Ended>> ended_;
  // Paused choices when a choice found no place; nothing = since then one was given up.
  std::optional<std::size_t> blocked_;
};

}  // namespace zllm::engine
