"""Answers of OpenAI's two older routes in one form, however they were asked for."""

import dataclasses

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"


@dataclasses.dataclass
class Choice:
    text: str = ""
    reason: str | None = None
    scores: list | dict | None = None
    pieces: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Answer:
    choices: list
    usage: dict | None

    @property
    def text(self):
        return self.choices[0].text

    @property
    def reason(self):
        return self.choices[0].reason

    def told(self):
        """What a stream and a whole answer must have in common."""
        return [(c.text, c.reason, c.scores) for c in self.choices]


def _scores_of(choice, path):
    found = choice["logprobs"]
    return found["content"] if path == CHAT and found is not None else found


def whole(case, path, **body):
    reply = case.post(path, body)
    case.assertEqual([c["index"] for c in reply["choices"]], list(range(len(reply["choices"]))))
    choices = [Choice(c["message"]["content"] if path == CHAT else c["text"], c["finish_reason"],
                      _scores_of(c, path)) for c in reply["choices"]]
    return Answer(choices, reply["usage"])


def _add_scores(old, new):
    if new is None:
        return old
    if old is None:
        return new
    return old + new if isinstance(new, list) else {k: old[k] + new[k] for k in new}


def streamed(case, path, **body):
    """The sum of a stream, whose form is checked on the way."""
    events = case.events(path, {**body, "stream_options": {"include_usage": True}})
    case.assertEqual(events[-1], ("", "[DONE]"))
    case.assertTrue(all(name == "" for name, _ in events))
    chunks = [data for _, data in events[:-1]]
    case.assertEqual(chunks[-1]["choices"], [])
    choices = {}
    for chunk in chunks[:-1]:
        case.assertIsNone(chunk["usage"])
        case.assertEqual({k: chunk[k] for k in ("id", "object", "created", "model")},
                         {k: chunks[0][k] for k in ("id", "object", "created", "model")})
        for part in chunk["choices"]:
            is_first = part["index"] not in choices
            choice = choices.setdefault(part["index"], Choice())
            case.assertIsNone(choice.reason, "a chunk after the end")
            if path == CHAT:
                case.assertEqual("role" in part["delta"], is_first)
                piece = part["delta"].get("content") or ""
            else:
                piece = part["text"]
            choice.pieces.append(piece)
            choice.text += piece
            choice.scores = _add_scores(choice.scores, _scores_of(part, path))
            choice.reason = part["finish_reason"]
    return Answer([choices[i] for i in range(len(choices))], chunks[-1]["usage"])


def both(case, path, **body):
    """The answer, which must be the same as a stream."""
    answer, stream = whole(case, path, **body), streamed(case, path, **body)
    case.assertEqual(stream.told(), answer.told())
    for field in ("prompt_tokens", "completion_tokens", "total_tokens"):
        case.assertEqual(stream.usage[field], answer.usage[field])
    case.assertEqual(answer.usage["total_tokens"],
                     answer.usage["prompt_tokens"] + answer.usage["completion_tokens"])
    return answer
