#include <algorithm>
#include <utility>

#include <zllm/base/check.h>
#include <zllm/engine/scheduler.h>

namespace zllm::engine {
namespace {

// Every row of such a prompt has logits of the whole vocabulary.
constexpr std::uint64_t kScoredRows = 64;

runtime::SegmentKind kind_of(const Choice& choice, std::uint64_t rows) {
  if (choice.rows == 0) {
    return runtime::SegmentKind::new_prefill;
  }
  return choice.is_reading || rows > 1 ? runtime::SegmentKind::append_prefill
                                       : runtime::SegmentKind::decode;
}

}  // namespace

std::vector<Scheduler::Turn> Scheduler::plan() {
  std::vector<Resident> ready = residents();
  std::erase_if(ready, [](const Resident& r) { return r.is_paused(); });
  std::vector<PendingRows> rows;
  rows.reserve(ready.size());
  for (const Resident& resident : ready) {
    rows.push_back(pending(resident));
  }
  std::vector<Turn> turns;
  for (const PlannedRows& planned : plan_round(rows, plan_limits(rows))) {
    const Resident& resident = ready[planned.index];
    turns.push_back({.job = resident.job, .choice = resident.choice, .rows = planned.rows});
  }
  return turns;
}

PlanLimits Scheduler::plan_limits(std::span<const PendingRows> pending) const {
  std::uint64_t answer_rows = 0;
  for (const PendingRows& one : pending) {
    answer_rows += one.kind == PendingRows::Kind::answer ? one.rows : 0;
  }
  const std::uint64_t anchor = model_.info().is_recurrent ? kAnchorRows : 0;
  const std::uint64_t most = model_.info().limits.rows;
  PromptBudget::Share share = budget_.share(answer_rows, most);
  if (options_.prefill_rows != 0) {
    share = {.most_rows = answer_rows == 0 ? most : options_.prefill_rows};
  }
  return {.rows = most,
          .sequences = options_.sequences,
          .prompt_rows = std::max(share.most_rows, anchor),
          .prompt_seconds = share.seconds,
          .least_rows = std::max(share.least_rows, anchor),
          .anchor = anchor,
          // Each gets half of the rounds at least: the long ones go on whatever else comes, and the
          // short ones need not wait for the end of a long one.
          .prefers_short = statistics_.rounds % 2 == 1};
}

PendingRows Scheduler::pending(const Resident& resident) const {
  const Choice& choice = *resident.choice;
  const bool is_scored =
      resident.job->request.wants_prompt_log_probabilities && !resident.job->is_prompt_read;
  return {.kind = choice.is_reading ? PendingRows::Kind::prompt : PendingRows::Kind::answer,
          .start = choice.rows,
          .rows = choice.rows_left(),
          .most = is_scored ? kScoredRows : 0,
          .cut = residence_.cut(*resident.job),
          .last_round = choice.last_round,
          .row_seconds = options_.prefill_rows == 0 ? budget_.row_seconds(choice.rows) : 0,
          .priority = resident.job->request.priority};
}

runtime::Round Scheduler::round_of(const std::vector<Turn>& turns) const {
  runtime::Round round;
  for (const Turn& turn : turns) {
    const Choice& choice = *turn.choice;
    const auto first = choice.history.begin() + static_cast<std::ptrdiff_t>(choice.rows);
    runtime::Segment segment{.sequence = *choice.sequence,
                             .start = choice.rows,
                             .kind = kind_of(choice, turn.rows),
                             .tokens = {first, first + static_cast<std::ptrdiff_t>(turn.rows)},
                             .logit_rows = {}};
    for (std::uint32_t row = 0; row < turn.rows; ++row) {
      if (AnswerWriter::wants(*turn.job, choice, choice.rows + row)) {
        segment.logit_rows.push_back(row);
      }
    }
    round.segments.push_back(std::move(segment));
  }
  return round;
}

// Runs a round, with less and less in it as long as memory is short.
void Scheduler::run(std::vector<Turn> turns) {
  for (;;) {
    std::erase_if(turns, [](const Turn& turn) { return !turn.choice->sequence; });
    if (turns.empty()) {
      return;
    }
    const runtime::Round round = round_of(turns);
    const Clock::time_point begin = Clock::now();
    for (const Turn& turn : turns) {
      turn.job->first_round = turn.job->first_round.value_or(begin);
    }
    const Result<runtime::RoundOutput> output = model_.submit(round);
    if (output.ok()) {
      ++statistics_.rounds;
      note_round(turns, begin);
      digest(turns, round, *output);
      statistics_.last_round_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      statistics_.busy_seconds += statistics_.last_round_seconds;
      return;
    }
    if (output.error().code == Code::resource_exhausted && free_memory(round.rows())) {
      continue;
    }
    if (turns.size() > 1) {
      run_alone(turns);
      return;
    }
    const bool is_memory = output.error().code == Code::resource_exhausted;
    fail(*turns.front().job, is_memory ? FailureKind::no_memory : FailureKind::failed,
         output.error());
    return;
  }
}

void Scheduler::note_round(const std::vector<Turn>& turns, Clock::time_point begin) {
  RoundWork work;
  for (const Turn& turn : turns) {
    if (turn.choice->is_reading) {
      work.prompt_rows += turn.rows;
      work.prompt_positions += turn.rows * (turn.choice->rows + turn.rows / 2);
    } else {
      work.answer_rows += turn.rows;
    }
  }
  budget_.note(work, std::chrono::duration<double>(Clock::now() - begin).count());
}

// Evicts, else preempts a paused choice, else the last one; never the first.
bool Scheduler::free_memory(std::uint64_t rows) {
  if (residence_.make_room(rows)) {
    return true;
  }
  const std::vector<Resident> all = residents();
  if (all.size() < 2) {
    return false;
  }
  const auto paused = std::find_if(all.rbegin(), std::prev(all.rend()),
                                   [](const Resident& r) { return r.is_paused(); });
  const Resident& victim = paused == std::prev(all.rend()) ? all.back() : *paused;
  residence_.preempt(*victim.job, *victim.choice);
  blocked_.reset();
  return true;
}

// Finds the one that makes a round fail.
void Scheduler::run_alone(const std::vector<Turn>& turns) {
  for (const Turn& turn : turns) {
    if (!turn.job->is_ended) {
      run({turn});
    }
  }
}

void Scheduler::digest(const std::vector<Turn>& turns, const runtime::Round& round,
                       const runtime::RoundOutput& output) {
  if (!check(turns)) {
    return;
  }
  for (const Turn& turn : turns) {
    commit(turn);
  }
  std::size_t first = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    if (!turn.job->is_ended) {
      Status read = read_logits(turn, round.segments[i], output, first);
      if (!read.ok()) {
        fail(*turn.job, FailureKind::failed, std::move(read).error());
      }
    }
    first += round.segments[i].logit_rows.size();
  }
}

// Nothing of a round counts when the check after it fails.
bool Scheduler::check(const std::vector<Turn>& turns) {
  Status checked = options_.check ? options_.check() : Status();
  if (checked.ok()) {
    return true;
  }
  for (const Turn& turn : turns) {
    ZLLM_CHECK(model_.states().rollback(*turn.choice->sequence).ok(), "rollback of a round");
  }
  for (const auto& job : running_) {
    fail(*job, FailureKind::failed, checked.error());
  }
  residence_.cache().clear();
  return false;
}

void Scheduler::commit(const Turn& turn) {
  Job& job = *turn.job;
  Choice& choice = *turn.choice;
  const Status committed = model_.states().commit(*choice.sequence, turn.rows);
  if (!committed.ok()) {
    fail(job, FailureKind::failed, committed.error());
    return;
  }
  choice.rows += turn.rows;
  choice.last_round = statistics_.rounds;
  if (choice.is_reading) {
    statistics_.prompt_tokens += turn.rows;
  }
  queue_.charge(job.request.caller, turn.rows);
  const bool is_recurrent = model_.info().is_recurrent;
  // The cache thins out anchors that nothing else starts from.
  const bool is_kept =
      is_recurrent ? anchor_before(choice.rows) == choice.rows : choice.rows == job.prompt_size();
  if (is_kept && choice.is_reading) {
    residence_.keep_prompt(job, choice);
  }
  choice.is_reading = choice.is_reading && choice.rows_left() != 0;
}

Status Scheduler::read_logits(const Turn& turn, const runtime::Segment& segment,
                              const runtime::RoundOutput& output, std::size_t first) {
  Job& job = *turn.job;
  Choice& choice = *turn.choice;
  for (std::size_t i = 0; i < segment.logit_rows.size(); ++i) {
    const std::uint64_t row = segment.start + segment.logit_rows[i];
    const std::span<const float> logits = output.row(first + i);
    if (row + 1 == job.prompt_size() && !job.is_prompt_read) {
      ZLLM_TRY(begin_answers(job, choice, logits));
    } else {
      ZLLM_TRY(writer_.take(job, choice, row, logits));
    }
  }
  if (choice.finished && !choice.is_over) {
    finish_choice(job, choice);
  }
  return {};
}

// The prompt is computed: the other choices fork its state as far as there is room, and all choose
// their first token.
Status Scheduler::begin_answers(Job& job, Choice& leader, std::span<const float> logits) {
  job.is_prompt_read = true;
  job.first_answer = Clock::now();
  statistics_.cached_tokens += job.cached_tokens;
  job.events->push(PromptRead{.prompt_tokens = job.prompt_size(),
                              .cached_tokens = job.cached_tokens,
                              .log_probabilities = std::move(job.prompt_scores)});
  const std::uint64_t last_row = job.prompt_size() - 1;
  std::vector<Choice *> others;
  for (Choice& other : job.choices) {
    if (&other == &leader || other.is_over || active() >= options_.sequences) {
      continue;
    }
    if (!residence_.seat_beside(leader, other)) {
      break;
    }
    other.history = job.request.prompt;
    other.sent = other.history.size();
    other.fence = job.request.fence == nullptr ? nullptr : job.request.fence->clone();
    others.push_back(&other);
  }
  ZLLM_TRY(writer_.take(job, leader, last_row, logits));
  for (Choice *const other : others) {
    ZLLM_TRY(writer_.take(job, *other, last_row, logits));
    if (other->finished) {
      finish_choice(job, *other);
    }
  }
  return {};
}

}  // namespace zllm::engine
