"""What the official clients' types say of events and bodies, held to strictly: every required member,
every word of a Literal. The clients themselves pass over what does not fit."""

import typing

import anthropic.types
import openai.types.responses
import pydantic


def _variants(union):
    """The members of a union of models, by what their `type` is."""
    found, left = {}, [union]
    while left:
        one = left.pop()
        origin = typing.get_origin(one)
        if origin is typing.Annotated:
            left.append(typing.get_args(one)[0])
        elif origin is typing.Union:
            left += typing.get_args(one)
        else:
            found[typing.get_args(one.model_fields["type"].annotation)[0]] = one
    return found


_RESPONSE_EVENTS = _variants(openai.types.responses.ResponseStreamEvent)
_OUTPUT_ITEMS = _variants(openai.types.responses.ResponseOutputItem)
_MESSAGE_EVENTS = _variants(anthropic.types.RawMessageStreamEvent)


def _check(case, model, value):
    try:
        model.model_validate(value, strict=True)
    except pydantic.ValidationError as error:
        case.fail(f"{model.__name__}: {error}\n{value}")


def check_response(case, response):
    _check(case, openai.types.responses.Response, response)
    for item in response["output"]:
        _check(case, _OUTPUT_ITEMS[item["type"]], item)


def check_response_event(case, event):
    _check(case, _RESPONSE_EVENTS[event["type"]], event)
    if "response" in event:
        check_response(case, event["response"])
    if "item" in event:
        _check(case, _OUTPUT_ITEMS[event["item"]["type"]], event["item"])


def check_message(case, message):
    _check(case, anthropic.types.Message, message)


def check_message_event(case, event):
    _check(case, _MESSAGE_EVENTS[event["type"]], event)
