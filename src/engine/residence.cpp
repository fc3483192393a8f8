#include <zllm/engine/residence.h>

#include <algorithm>
#include <span>
#include <utility>

#include <zllm/base/check.h>
#include <zllm/base/text.h>

namespace zllm::engine {
namespace {

// Rows that every answer is left for what it will say: two pages, so that one that just began is
// not the next to be preempted.
constexpr std::uint64_t kHeadroomRows = 32;

std::span<const TokenId> computed(const Choice& choice) {
  return std::span(choice.history).first(static_cast<std::size_t>(choice.rows));
}

// Rows that residents are still going to append soon.
std::uint64_t promised(const std::vector<Residence::Resident>& residents) {
  std::uint64_t rows = 0;
  for (const Residence::Resident& resident : residents) {
    rows += resident.is_paused() ? 0 : resident.choice->rows_left() + kHeadroomRows;
  }
  return rows;
}

}  // namespace

Residence::Residence(runtime::AnyModel& model, std::unique_ptr<PrefixCache> cache,
                     std::uint64_t swap_bytes, Statistics& statistics)
    : model_(model),
      cache_(std::move(cache)),
      swap_bytes_(swap_bytes),
      capacity_rows_(model.states().free_rows()),
      statistics_(statistics) {}

std::optional<Residence::Resident> Residence::last_below(std::int32_t priority,
                                                         std::span<const Resident> residents) {
  const auto last = std::find_if(residents.rbegin(), residents.rend(), [&](const Resident& one) {
    return !one.is_paused() && one.job->request.priority < priority;
  });
  return last == residents.rend() ? std::nullopt : std::optional(*last);
}

Result<Residence::Seating> Residence::seat(Job& job, Choice& choice,
                                           std::vector<Resident> residents) {
  if (choice.history.empty()) {
    choice.history = job.request.prompt;
    choice.sent = choice.history.size();
    choice.fence = job.request.fence == nullptr ? nullptr : job.request.fence->clone();
  }
  ZLLM_TRY(const Seating seating,
           choice.swapped ? swap_in(job, choice, residents) : acquire(job, choice, residents));
  choice.is_reading = true;
  return seating;
}

Result<Residence::Seating> Residence::swap_in(const Job& job, Choice& choice,
                                              std::vector<Resident>& residents) {
  if (!has_room(job, choice.wanted_rows() + kHeadroomRows, residents)) {
    return Seating::full;
  }
  for (;;) {
    Result<SequenceId> sequence = model_.states().import_state(*choice.swapped);
    if (sequence.ok()) {
      choice.sequence = *sequence;
      forget_snapshot(choice);
      return Seating::seated;
    }
    if (sequence.error().code != Code::resource_exhausted) {
      return std::move(sequence).error();
    }
    if (!cache_->evict_one() && !preempt_for(job, residents)) {
      return residents.empty() ? Result<Seating>(std::move(sequence).error()) : Seating::full;
    }
  }
}

Result<Residence::Seating> Residence::acquire(Job& job, Choice& choice,
                                              std::vector<Resident>& residents) {
  const bool reads_cache = job.request.reads_cache &&
                           (job.is_prompt_read || !job.request.wants_prompt_log_probabilities);
  // The logits after the last token that was sent are needed.
  const std::uint64_t most = reads_cache ? choice.sent - 1 : 0;
  const std::uint64_t context = model_.info().limits.context;
  const std::uint64_t expected =
      std::min(job.prompt_size() + std::min(job.request.max_tokens, context), context);
  Result<CachedPrefix> prefix = cache_->acquire(choice.history, most, expected);
  while (!prefix.ok() && prefix.error().code == Code::resource_exhausted &&
         preempt_for(job, residents)) {
    prefix = cache_->acquire(choice.history, most, expected);
  }
  if (!prefix.ok()) {
    const bool is_full = prefix.error().code == Code::resource_exhausted && !residents.empty();
    return is_full ? Result<Seating>(Seating::full) : std::move(prefix).error();
  }
  choice.sequence = prefix->sequence;
  choice.rows = prefix->rows;
  job.branch_rows = std::min(prefix->branch_rows, anchor_before(job.prompt_size() - 1));
  if (!has_room(job, choice.rows_left() + kHeadroomRows, residents)) {
    release(choice);
    return Seating::full;
  }
  if (!job.is_prompt_read) {
    // What a request computed before it was preempted was computed all the same.
    job.cached_tokens =
        job.preemptions == 0 ? choice.rows : std::min(job.cached_tokens, choice.rows);
  }
  return Seating::seated;
}

bool Residence::seat_beside(const Choice& other, Choice& choice) {
  Result<SequenceId> sequence = model_.states().fork(*other.sequence);
  while (!sequence.ok() && sequence.error().code == Code::resource_exhausted &&
         cache_->evict_one()) {
    sequence = model_.states().fork(*other.sequence);
  }
  if (!sequence.ok()) {
    return false;
  }
  choice.sequence = *sequence;
  choice.rows = other.rows;
  choice.is_reading = false;
  return true;
}

void Residence::preempt(Job& job, Choice& choice) {
  if (choice.rows != 0 && swapped_bytes_ < swap_bytes_) {
    const Result<std::uint64_t> size = model_.states().size_bytes(*choice.sequence);
    if (size.ok() && *size <= swap_bytes_ - swapped_bytes_) {
      Result<runtime::SequenceSnapshot> snapshot = model_.states().export_state(*choice.sequence);
      if (snapshot.ok() && snapshot->bytes.size() <= swap_bytes_ - swapped_bytes_) {
        swapped_bytes_ += snapshot->bytes.size();
        statistics_.swapped_bytes += snapshot->bytes.size();
        choice.swapped = *std::move(snapshot);
      }
    }
  }
  if (!choice.swapped && job.request.writes_cache && choice.rows != 0) {
    // It comes back for it; the cache gives it up where memory is short.
    const Status kept = cache_->keep(*choice.sequence, computed(choice));
    static_cast<void>(kept);
    choice.sequence.reset();
  } else {
    release(choice);
  }
  choice.rows = choice.swapped ? choice.swapped->rows : 0;
  ++job.preemptions;
  ++statistics_.preemptions;
}

void Residence::leave(const Job& job, Choice& choice, bool is_sound) {
  forget_snapshot(choice);
  if (!choice.sequence) {
    return;
  }
  if (!is_sound || !job.request.writes_cache || choice.rows == 0) {
    release(choice);
    return;
  }
  // A prompt that was computed up to an anchor: what decoding makes of it is not kept.
  if (model_.info().is_recurrent && choice.is_reading && choice.rows < job.prompt_size() &&
      anchor_before(choice.rows) == choice.rows) {
    keep_prompt(job, choice);
  }
  // A state that the cache cannot keep is no matter of the request's.
  const Status kept = cache_->keep(*choice.sequence, computed(choice));
  static_cast<void>(kept);
  choice.sequence.reset();
}

void Residence::keep_prompt(const Job& job, const Choice& choice) {
  if (!job.request.writes_cache) {
    return;
  }
  const Status kept = cache_->keep_copy(*choice.sequence, computed(choice));
  static_cast<void>(kept);
}

bool Residence::make_room(std::uint64_t rows) {
  const std::uint64_t before = model_.states().free_rows();
  cache_->make_room(before + rows);
  return model_.states().free_rows() > before;
}

std::uint64_t Residence::cut(const Job& job) const {
  if (!model_.info().is_recurrent) {
    return 0;
  }
  const Choice *const reader = job.leader();
  const std::uint64_t read = reader == nullptr ? 0 : reader->rows;
  const std::uint64_t size = job.prompt_size();
  std::uint64_t next = anchor_before(size - 1);
  const auto note = [&](std::uint64_t rows) {
    const std::uint64_t anchor = anchor_before(rows);
    next = anchor > read ? std::min(next, anchor) : next;
  };
  note(job.branch_rows);
  // Where the next prompt will part from this one is not known; its quarters leave it at least half
  // of what both share, or nearly.
  if (job.request.writes_cache) {
    note(size / 4);
    note(size / 2);
    note(size - size / 4);
  }
  return next;
}

// Whether `rows` more rows find room beside what residents are going to need. A choice that is
// alone tries anyway.
bool Residence::has_room(const Job& job, std::uint64_t rows, std::vector<Resident>& residents) {
  for (;;) {
    const std::uint64_t needed = promised(residents) + rows;
    if (model_.states().free_rows() >= needed ||
        (needed <= capacity_rows_ && cache_->make_room(needed))) {
      return true;
    }
    if (!preempt_for(job, residents)) {
      return residents.empty();
    }
  }
}

bool Residence::preempt_for(const Job& job, std::vector<Resident>& residents) {
  const auto last = std::find_if(residents.rbegin(), residents.rend(),
                                 [](const Resident& resident) { return resident.is_paused(); });
  std::optional<Resident> victim = last_below(job.request.priority, residents);
  if (last != residents.rend()) {
    victim = *last;
  }
  if (!victim) {
    return false;
  }
  preempt(*victim->job, *victim->choice);
  std::erase_if(residents, [](const Resident& resident) { return !resident.choice->sequence; });
  return true;
}

void Residence::release(Choice& choice) {
  ZLLM_CHECK(model_.states().release(*choice.sequence).ok(), "release of a choice's sequence");
  choice.sequence.reset();
  choice.rows = 0;
}

void Residence::forget_snapshot(Choice& choice) {
  if (choice.swapped) {
    swapped_bytes_ -= choice.swapped->bytes.size();
    choice.swapped.reset();
  }
}

}  // namespace zllm::engine
