#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/engine/event.h>
#include <zllm/engine/event_buffer.h>
#include <zllm/engine/fence/fence.h>
#include <zllm/engine/request.h>
#include <zllm/runtime/sequence_states.h>
#include <zllm/sampling/log_probabilities.h>

namespace zllm::engine {

// One answer of a request. Whatever it lacks, its state catches up with `history`; where it has, a
// token is chosen. So a prompt, forced tokens and a state that was given up are all the same.
struct Choice {
  std::uint32_t index = 0;
  std::vector<TokenId> history;  // prompt and answer; empty until it starts
  // Tokens of the history that the reader was told of. Those after it are forced ones that wait for
  // the logits of the rows before them.
  std::uint64_t sent = 0;
  std::unique_ptr<Fence> fence;

  std::optional<SequenceId> sequence;  // nothing: it waits for a place
  std::uint64_t rows = 0;              // of the history, that the sequence or the snapshot holds
  std::optional<runtime::SequenceSnapshot> swapped;
  bool is_reading = true;        // not caught up since it got its sequence
  std::uint64_t last_round = 0;  // in which it had rows

  std::optional<FinishReason> ending;      // once everything was sent
  std::optional<ChoiceFinished> finished;  // nothing more is computed
  bool is_over = false;                    // ... and the reader knows

  // Rows that its state must come to hold: what follows the last token is not asked for at the end.
  std::uint64_t wanted_rows() const { return history.size() - (ending ? 1 : 0); }
  std::uint64_t rows_left() const { return wanted_rows() - rows; }
};

// A request and how far it is.
struct Job {
  Job(std::uint64_t number, Request asked, std::shared_ptr<EventBuffer> buffer)
      : id(number), request(std::move(asked)), events(std::move(buffer)) {
    choices.resize(request.choices);
    for (std::uint32_t i = 0; i < request.choices; ++i) {
      choices[i].index = i;
    }
  }

  std::uint64_t id = 0;  // ascends in order of arrival
  Request request;
  std::shared_ptr<EventBuffer> events;
  std::vector<Choice> choices;

  bool is_prompt_read = false;
  std::uint64_t cached_tokens = 0;
  std::uint64_t branch_rows = 0;  // where a copy helps prompts that start alike
  std::vector<sampling::LogProbabilities> prompt_scores;
  std::uint32_t preemptions = 0;
  bool is_ended = false;

  Clock::time_point submitted = Clock::now();
  std::optional<Clock::time_point> first_round;
  std::optional<Clock::time_point> first_answer;

  std::uint64_t prompt_size() const { return request.prompt.size(); }
  std::uint64_t answer_size(const Choice& choice) const {
    return choice.history.size() - prompt_size();
  }
  // The choice that reads the prompt for all.
  const Choice *leader() const {
    for (const Choice& choice : choices) {
      if (!choice.is_over) {
        return &choice;
      }
    }
    return nullptr;
  }
};

}  // namespace zllm::engine
