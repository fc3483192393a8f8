// The npm clients against a running server: node clients.mjs URL MODEL. Prints "ok NAME" or
// "not ok NAME: why" for each case and ends with the number of failures as its exit code.

import assert from "node:assert/strict";

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { generateObject, generateText, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

const [url, model] = process.argv.slice(2);
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
const compatible = createOpenAICompatible({ name: "zllm", baseURL: `${url}/v1`, supportsStructuredOutputs: true });
const responses = createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
const messages = createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" });

const question = [{ role: "user", content: "Name three colours." }];
const weather = {
  name: "get_weather",
  description: "The weather of a city",
  schema: {
    type: "object",
    properties: { city: { type: "string", maxLength: 20 } },
    required: ["city"],
    additionalProperties: false,
  },
};

const cases = {
  async "openai: chat and stream agree"() {
    const fields = { model, messages: question, max_tokens: 16, temperature: 0 };
    const whole = await openai.chat.completions.create(fields);
    let text = "";
    for await (const chunk of await openai.chat.completions.create({ ...fields, stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? "";
    }
    assert.equal(text, whole.choices[0].message.content);
    assert.ok(text.length > 0);
  },
  async "openai: a required tool streams valid arguments"() {
    const runner = openai.chat.completions.stream({
      model,
      messages: question,
      max_tokens: 200,
      temperature: 0,
      tool_choice: "required",
      tools: [{ type: "function", function: { name: weather.name, parameters: weather.schema } }],
    });
    const final = await runner.finalChatCompletion();
    const call = final.choices[0].message.tool_calls[0];
    assert.ok("city" in JSON.parse(call.function.arguments));
  },
  async "openai: responses stream"() {
    const stream = await openai.responses.create({ model, input: "Hello", max_output_tokens: 16, temperature: 0, stream: true });
    const types = [];
    for await (const event of stream) types.push(event.type);
    assert.equal(types[0], "response.created");
    assert.ok(["response.completed", "response.incomplete"].includes(types.at(-1)));
  },
  async "openai: errors"() {
    await assert.rejects(
      openai.chat.completions.create({ model, messages: question, top_p: 7 }),
      (error) => error.status === 400 && error.param === "top_p",
    );
  },
  async "anthropic: message and stream agree"() {
    const fields = { model, messages: question, max_tokens: 16, temperature: 0 };
    const whole = await anthropic.messages.create(fields);
    const final = await anthropic.messages.stream(fields).finalMessage();
    assert.equal(final.content[0].text, whole.content[0].text);
  },
  async "anthropic: a tool"() {
    const message = await anthropic.messages.create({
      model,
      messages: question,
      max_tokens: 200,
      temperature: 0,
      tools: [{ name: weather.name, description: weather.description, input_schema: weather.schema }],
      tool_choice: { type: "any" },
    });
    const use = message.content.find((block) => block.type === "tool_use");
    assert.ok("city" in use.input);
  },
  async "ai: text and stream through openai-compatible"() {
    const options = { model: compatible(model), prompt: "Name three colours.", maxOutputTokens: 16, temperature: 0 };
    const whole = await generateText(options);
    let text = "";
    for await (const piece of streamText(options).textStream) text += piece;
    assert.equal(text, whole.text);
  },
  async "ai: an object by schema"() {
    const { object } = await generateObject({
      model: compatible(model),
      schema: z.object({ count: z.number().int().min(0).max(9) }),
      prompt: "A number, please.",
      temperature: 0,
    });
    assert.ok(Number.isInteger(object.count));
  },
  async "ai: a tool call through chat"() {
    const { toolCalls } = await generateText({
      model: compatible(model),
      prompt: "The weather in Rome?",
      temperature: 0,
      maxOutputTokens: 200,
      toolChoice: "required",
      tools: { get_weather: tool({ description: weather.description, inputSchema: z.object({ city: z.string().max(20) }) }) },
    });
    assert.equal(toolCalls[0].toolName, "get_weather");
  },
  async "ai: responses"() {
    const { text } = await generateText({ model: responses.responses(model), prompt: "Hello", maxOutputTokens: 16, temperature: 0 });
    assert.ok(text.length > 0);
  },
  async "ai: messages"() {
    const options = { model: messages(model), prompt: "Hello", maxOutputTokens: 16, temperature: 0 };
    const whole = await generateText(options);
    let text = "";
    for await (const piece of streamText(options).textStream) text += piece;
    assert.equal(text, whole.text);
    assert.ok(text.length > 0);
  },
};

let failures = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failures += 1;
    console.log(`not ok ${name}: ${error?.stack ?? error}`.replaceAll("\n", " "));
  }
}
process.exit(failures);
