"""Structured output: schemas, patterns and grammars over HTTP."""

import concurrent.futures
import itertools
import json
import re
import unittest

import json_schema
from harness import Case, at_once, user

CHAT = "/v1/chat/completions"


def schema_format(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "thing", "schema": schema, **more}}


def properties(**members):
    return {"type": "object", "properties": members, "required": list(members),
            "additionalProperties": False}


class Structured(Case):
    def body(self, **fields):
        return {"model": self.model, "messages": [user("A thing, please.")], "max_tokens": 300,
                "temperature": 1.2, "seed": 1, **fields}

    def content(self, finish="stop", **fields):
        choice = self.post(CHAT, self.body(**fields))["choices"][0]
        if finish:
            self.assertEqual(choice["finish_reason"], finish, choice)
        return choice["message"]["content"]

    def satisfies(self, schema, seeds=range(3), **fields):
        texts = at_once(lambda seed: self.content(
            seed=seed, response_format=schema_format(schema), **fields), seeds)
        values = [json.loads(text) for text in texts]
        for value in values:
            self.assertEqual(json_schema.errors(schema, value), [])
        return values


class Schemas(Structured):
    def test_kinds_of_values(self):
        schemas = [
            properties(name={"type": "string", "maxLength": 5}, age={"type": "integer",
                                                                     "minimum": 0, "maximum": 9}),
            properties(a={"enum": ["x", "\u00e4\u00f6", "\U0001f600\U0001f680", "quote\"back\\slash/",
                                   "line\nend"]}),
            properties(a={"const": "\U0001f1e9\U0001f1ea"}, b={"const": 3}, c={"const": None},
                       d={"const": True}, e={"const": {"k": [1, "two"]}}),
            properties(a={"type": "integer", "minimum": -17, "maximum": 123},
                       b={"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}),
            properties(a={"type": "number", "minimum": 0.5, "maximum": 1}),
            properties(a={"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9},
                          "minItems": 2, "maxItems": 4}),
            properties(a={"type": "array", "prefixItems": [{"const": 1}, {"enum": ["p", "q"]}],
                          "items": False, "minItems": 2}),
            properties(a={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"}),
            properties(a={"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1,
                                                       "maximum": 4}]}),
            properties(a={"oneOf": [properties(kind={"const": "x"}, v={"type": "boolean"}),
                                    properties(kind={"const": "y"}, v={"type": "null"})]}),
            properties(a={"allOf": [{"type": "integer", "minimum": 3},
                                    {"type": "integer", "maximum": 8}]}),
            {"type": "object", "additionalProperties": {"type": "boolean"},
             "properties": {"z": {"type": "null"}}, "required": ["z"]},
            {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 3},
            {"type": "string", "maxLength": 6},
            {"enum": [1, "1", True, None]},
            {"type": "boolean"},
        ]
        for schema in schemas:
            with self.subTest(schema=schema):
                try:
                    self.satisfies(schema)
                except AssertionError as error:
                    if "additionalProperties" not in schema or "length" not in str(error):
                        raise

    def test_order_of_members_is_that_of_the_schema(self):
        schema = properties(zebra={"type": "boolean"}, apple={"type": "boolean"},
                            mango={"type": "boolean"})
        (value,) = self.satisfies(schema, [4])
        self.assertEqual(list(value), ["zebra", "apple", "mango"])

    def test_references(self):
        tree = {"$ref": "#/$defs/node",
                "$defs": {"kind": {"enum": ["leaf", "node"]},
                          "node": {"type": "object", "required": ["kind", "children"],
                                   "additionalProperties": False,
                                   "properties": {"kind": {"$ref": "#/$defs/kind"},
                                                  "children": {"type": "array", "maxItems": 1,
                                                               "items": {"$ref": "#/$defs/node"}}}}}}
        for answer in self.posts(CHAT, [self.body(
                seed=seed, response_format=schema_format(tree)) for seed in range(6)]):
            if answer["choices"][0]["finish_reason"] == "stop":
                value = json.loads(answer["choices"][0]["message"]["content"])
                self.assertEqual(json_schema.errors(tree, value), [])
        self.satisfies({**properties(a={"$ref": "#/definitions/u"}, b={"$ref": "#/properties/a"}),
                        "definitions": {"u": {"enum": ["C", "F"]}}})
        self.satisfies(properties(list={"type": "array", "minItems": 1, "maxItems": 2,
                                        "items": properties(u={"enum": ["C"]})},
                                  one={"$ref": "#/properties/list/items"}))

    def test_an_empty_object(self):
        for schema in ({"type": "object", "properties": {}, "additionalProperties": False},):
            self.assertEqual(self.satisfies(schema, [0]), [{}])
        choice = self.post(CHAT, self.body(response_format=schema_format(
            {"type": "object", "properties": {}})))["choices"][0]
        if choice["finish_reason"] == "stop":
            self.assertIsInstance(json.loads(choice["message"]["content"]), dict)

    def test_json_object(self):
        for answer in self.posts(CHAT, [self.body(
                seed=seed, max_tokens=200, messages=[user("Write an array of numbers as JSON")],
                response_format={"type": "json_object"}) for seed in range(8)]):
            choice = answer["choices"][0]
            self.assertTrue(choice["message"]["content"].startswith("{"))
            if choice["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(choice["message"]["content"]), dict)

    def refuses(self, schema, *words):
        error = self.refused(CHAT, self.body(response_format=schema_format(schema)), words[0])
        for word in words:
            self.assertIn(word, error["message"])
        self.assertEqual(error["param"], "response_format")
        self.assertEqual(error["type"], "invalid_request_error")

    def test_what_is_not_enforced_is_refused_by_name(self):
        string = {"type": "string"}
        for key, value in {"not": string, "if": string, "uniqueItems": True, "contains": string,
                           "dependentSchemas": {"a": string}, "dependentRequired": {"a": ["b"]},
                           "dependencies": {"a": ["b"]},
                           "unevaluatedProperties": False, "unevaluatedItems": False,
                           "$dynamicRef": "#a", "$recursiveRef": "#", "propertyNames": string,
                           "minContains": 1, "then": string, "frobnicate": 3}.items():
            with self.subTest(key=key):
                self.refuses({"type": "object", "properties": {"a": {key: value}}}, key,
                             "/properties/a/" + key)
        self.refuses(properties(a={"type": "string", "format": "sesame"}), "sesame",
                     "/properties/a/format")
        for reference in ("http://example.org/x.json", "other.json#/a", "#/nowhere", "#nowhere"):
            self.refuses(properties(a={"$ref": reference}), reference, "/properties/a/$ref")

    def test_what_is_no_schema_is_refused(self):
        for schema in ({"type": "text"}, {"type": 3}, {"type": []}, {"properties": []},
                       {"properties": {"a": 3}}, {"required": "a"}, {"required": [3]}, {"enum": 3},
                       {"enum": []}, {"items": 3}, {"anyOf": []}, {"anyOf": {}}, {"maxLength": -1},
                       {"maxLength": "a"}, {"maxLength": 1.5}, {"minimum": "a"}, {"pattern": 3},
                       {"$ref": 3}, {"$ref": "#"}, {"additionalProperties": 3},
                       {"type": "string", "minLength": 5, "maxLength": 2},
                       {"type": "integer", "minimum": 5, "maximum": 2},
                       {"type": "integer", "minimum": 0.2, "maximum": 0.8},
                       {"type": "array", "minItems": 3, "maxItems": 1, "items": {}},
                       {"multipleOf": 0}, {"multipleOf": -2}, {"multipleOf": "a"}, {"$defs": 3},
                       {"type": "string", "enum": [1, 2]}, {"allOf": 3}, {"allOf": [{"type": "null"},
                                                                                    {"type": "string"}]},
                       {"patternProperties": {"(": {}}}, {"prefixItems": {}}):
            with self.subTest(schema=schema):
                whole = properties(a=schema)
                reply = self.http.post(CHAT, json=self.body(
                    max_tokens=4, response_format=schema_format(whole)))
                self.assertEqual(reply.status_code, 400, f"{schema} {reply.text}")
                self.assertEqual(reply.json()["error"]["param"], "response_format")
        for schema in (3, "a", [], True):
            self.refused(CHAT, self.body(response_format=schema_format(schema)), "schema")
        self.refused(CHAT, self.body(response_format={"type": "json_schema"}), "json_schema")
        self.refused(CHAT, self.body(response_format={"type": "xml"}), "type")
        self.refused(CHAT, self.body(response_format={}), "type")
        self.refused(CHAT, self.body(response_format="json"), "response_format")
        self.refused(CHAT, self.body(guided_json=False), "guided_json")

    def test_bad_patterns_are_blamed(self):
        for pattern in ("(?<=a)*b", "(?=a)b", "(a", "[a", "a{3,1}", "*", "a**", "(?P<n", "\\1(a)", "\\",
                        "a)|(b"):
            with self.subTest(pattern=pattern):
                schema = properties(ok={"type": "string", "pattern": "^a$"},
                                    bad={"type": "string", "pattern": pattern})
                if pattern in ("a**",):  # some dialects read it
                    reply = self.http.post(CHAT, json=self.body(
                        response_format=schema_format(schema)))
                    self.assertIn(reply.status_code, (200, 400))
                else:
                    self.refuses(schema, "/properties/bad/pattern")

    def test_pattern_after_pattern(self):
        for pattern in ("^(.*)$", "^(|.*)$", "^(.*)$"):
            reply = self.http.post(CHAT, json=self.body(max_tokens=20, guided_regex=pattern))
            self.assertEqual(reply.status_code, 200, reply.text)
            self.assertNotIn("\n", reply.json()["choices"][0]["message"]["content"])
            schema = properties(a={"type": "string", "pattern": pattern})
            reply = self.http.post(CHAT, json=self.body(max_tokens=20,
                                                        response_format=schema_format(schema)))
            self.assertEqual(reply.status_code, 200, reply.text)

    def test_limits(self):
        deep = {"type": "string"}
        for _ in range(100):
            deep = {"type": "array", "items": deep}
        self.refuses(deep, "deep")
        for _ in range(100):
            deep = {"type": "array", "items": deep}
        self.refused(CHAT, self.body(response_format=schema_format(deep)), "deep")
        big = properties(**{f"name{i}": {"type": "string", "description": "x" * 100}
                            for i in range(4000)})
        self.refuses(big, "bytes")

    def test_false_allows_nothing(self):
        self.refuses(properties(a=False), "nsatisfiable")

    def test_real_schemas_compile(self):
        scrape = {
            "type": "object", "additionalProperties": False, "required": ["url"],
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {
                "url": {"type": "string", "format": "uri", "description": "What to read"},
                "formats": {"type": "array", "default": ["markdown"], "items": {"anyOf": [
                    {"type": "string", "enum": ["markdown", "html", "rawHtml", "screenshot", "links"]},
                    {"type": "object", "additionalProperties": True, "required": ["type"],
                     "properties": {"type": {"type": "string", "const": "json"},
                                    "prompt": {"type": "string", "maxLength": 10000},
                                    "schema": {"type": "object", "additionalProperties": {}}}}]}},
                "prompt": {"type": "string", "maxLength": 100000},
                "waitFor": {"type": "number", "minimum": 0, "maximum": 60000},
                "headers": {"type": "object", "additionalProperties": {"type": "string"}},
                "actions": {"type": "array", "maxItems": 50, "items": {
                    "type": "object", "additionalProperties": False, "required": ["type"],
                    "properties": {
                        "type": {"type": "string", "enum": ["wait", "click", "write", "press"]},
                        "selector": {"type": "string", "minLength": 1, "maxLength": 5000},
                        "milliseconds": {"type": "integer", "minimum": 0, "maximum": 600000}}}},
                **{f"option{i}": {"type": ["string", "null"], "maxLength": 2000, "default": None}
                   for i in range(50)}}}
        answer = self.post(CHAT, self.body(max_tokens=1, response_format=schema_format(scrape)))
        tool = {"type": "function", "function": {"name": "scrape", "parameters": scrape,
                                                 "strict": True}}
        self.post(CHAT, self.body(max_tokens=1, tools=[tool], tool_choice="required"))
        for _ in range(3):
            self.post(CHAT, self.body(max_tokens=1, tools=[tool], tool_choice="required"))
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")

    def test_a_bad_schema_costs_only_its_request(self):
        good = schema_format(properties(n={"type": "integer", "minimum": 10, "maximum": 99}))
        bad = [schema_format(s) for s in (
            {"not": {}}, {"type": "string", "pattern": "("}, {"$ref": "#/x"}, {"type": "what"},
            properties(a=False), {"type": "string", "pattern": "(?<=a)*"},
            {"type": "string", "maxLength": 100000000}, {"$ref": "#"})]
        alone = [self.content(seed=i, response_format=good) for i in range(20)]

        def ask(i):
            if i % 2 == 0:
                return self.http.post(CHAT, json=self.body(seed=i // 2, response_format=good))
            return self.http.post(CHAT, json=self.body(
                max_tokens=4, response_format=bad[i // 2 % len(bad)]))

        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            replies = list(pool.map(ask, range(40)))
        for i in range(0, 40, 2):
            self.assertEqual(replies[i].status_code, 200, replies[i].text)
            self.assertEqual(replies[i].json()["choices"][0]["message"]["content"], alone[i // 2])
        for i in range(1, 40, 2):
            if "maxLength" in bad[i // 2 % len(bad)]["json_schema"]["schema"]:
                self.assertIn(replies[i].status_code, (200, 400))  # what a fence can count
            else:
                self.assertEqual(replies[i].status_code, 400, replies[i].text)
        self.assertEqual(self.http.get("/health").status_code, 200)

    def test_seeds_and_streams(self):
        schema = schema_format(properties(a={"type": "string", "maxLength": 20},
                                          b={"enum": ["x", "\U0001f600"]}))
        for seed in range(3):
            body = self.body(seed=seed, response_format=schema)
            first = self.post(CHAT, body)
            again = self.post(CHAT, body)
            text = first["choices"][0]["message"]["content"]
            self.assertEqual(text, again["choices"][0]["message"]["content"])
            streamed = "".join(choice["delta"].get("content") or ""
                               for _, data in self.events(CHAT, body) if data != "[DONE]"
                               for choice in data["choices"])
            self.assertEqual(text, streamed)

    def test_several_choices(self):
        schema = properties(a={"type": "string", "maxLength": 10}, n={"type": "integer",
                                                                      "minimum": 0, "maximum": 99})
        answer = self.post(CHAT, self.body(n=4, response_format=schema_format(schema)))
        for choice in answer["choices"]:
            self.assertEqual(choice["finish_reason"], "stop")
            self.assertEqual(json_schema.errors(schema, json.loads(choice["message"]["content"])),
                             [])

    def test_cut_by_length(self):
        schema = properties(a={"type": "string", "minLength": 200, "maxLength": 400})
        answer = self.post(CHAT, self.body(max_tokens=10, response_format=schema_format(schema)))
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["usage"]["completion_tokens"], 10)
        self.assertTrue(answer["choices"][0]["message"]["content"].startswith('{"a": "'))

    def test_forced_tokens_are_counted_and_told(self):
        schema = properties(a_rather_long_name={"const": "a_rather_long_value_too"})
        answer = self.post(CHAT, self.body(logprobs=True, response_format=schema_format(schema)))
        choice = answer["choices"][0]
        text = '{"a_rather_long_name": "a_rather_long_value_too"}'
        self.assertEqual(choice["message"]["content"], text)
        self.assertEqual("".join(t["token"] for t in choice["logprobs"]["content"]), text)
        spelled = len(self.post("/tokenize", {"content": text})["tokens"])
        self.assertIn(answer["usage"]["completion_tokens"] - spelled, range(-2, 8))

    def test_a_stop_string_ends_it(self):
        schema = properties(a={"const": "one two three"})
        choice = self.post(CHAT, self.body(stop=[" two"], response_format=schema_format(
            schema)))["choices"][0]
        self.assertEqual(choice["finish_reason"], "stop")
        self.assertEqual(choice["message"]["content"], '{"a": "one')

    def test_bias_and_minimum(self):
        schema = properties(a={"enum": ["yes", "no"]})
        tokens = self.post("/tokenize", {"content": '"yes yes no no'})["tokens"]
        bias = {str(token): -100 for token in tokens}
        self.satisfies(schema, [1], logit_bias=bias)
        # The grammar ends before that many tokens: it stays what the answer is.
        self.satisfies(schema, [1], min_tokens=100)
        self.satisfies(schema, [1], ignore_eos=True)

    def test_penalties_do_not_break_it(self):
        schema = properties(list={"type": "array", "items": {"enum": [1, 2]}, "minItems": 8,
                                  "maxItems": 8})
        self.satisfies(schema, [1, 2], frequency_penalty=2, presence_penalty=2,
                       repetition_penalty=1.8)
        self.satisfies(schema, [1], top_k=1)
        self.satisfies(schema, [1], top_p=0.01)
        self.satisfies(schema, [1], min_p=0.9)

    def test_other_dialects(self):
        schema = properties(n={"type": "integer", "minimum": 1, "maximum": 3})
        answer = self.post("/v1/responses", {
            "model": self.model, "input": "A number", "max_output_tokens": 60,
            "text": {"format": {"type": "json_schema", "name": "n", "schema": schema,
                                "strict": True}}})
        text = answer["output"][-1]["content"][0]["text"]
        self.assertEqual(json_schema.errors(schema, json.loads(text)), [])
        self.refused("/v1/responses", {
            "model": self.model, "input": "A number", "max_output_tokens": 6,
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {"not": {}}}}}, "not")
        answer = self.post("/v1/completions", {
            "model": self.model, "prompt": "A number: ", "max_tokens": 60,
            "response_format": schema_format(schema)})
        self.assertEqual(json_schema.errors(schema, json.loads(answer["choices"][0]["text"])), [])
        reply = self.http.post("/v1/messages", json={
            "model": self.model, "messages": [user("A number")], "max_tokens": 60,
            "output_config": {"format": {"type": "json_schema", "schema": schema}}})
        self.assertEqual(reply.status_code, 200, reply.text)
        self.assertEqual(json_schema.errors(schema, json.loads(reply.json()["content"][0]["text"])),
                         [])


class Grammars(Structured):
    def test_patterns(self):
        for pattern in ("[A-Z]{3}-[0-9]{2,4}", "(yes|no|maybe)", "^[a-f]{4}$", "\\d{3}/\\d{3}",
                        "(\u00e4|\U0001f600){2}", "a?b{2}"):
            for seed in range(3):
                text = self.content(guided_regex=pattern, seed=seed)
                self.assertTrue(re.fullmatch(pattern, text), (pattern, text))
                text = self.content(structured_outputs={"regex": pattern}, seed=seed)
                self.assertTrue(re.fullmatch(pattern, text), (pattern, text))

    def test_bad_patterns(self):
        for pattern in ("(", "[a", "(?<=a)b", "a{2", "*a", "(?!x)y", "a)|(b", "a\\",
                        "(" * 3000 + ")" * 3000, "((a{0,1000}){0,1000}){0,1000}"):
            reply = self.http.post(CHAT, json=self.body(max_tokens=4, guided_regex=pattern))
            if pattern in ("a{2", "((a{0,1000}){0,1000}){0,1000}") and reply.status_code == 200:
                continue  # ECMAScript reads the one as text; the other is large, and that is all
            self.assertEqual(reply.status_code, 400, pattern[:40] + reply.text)
            self.assertEqual(reply.json()["error"]["param"], "guided_regex")

    def test_choices(self):
        choices = ["red", "green (light)", "\u00e4", "a+b", "C:\\x"]
        for seed in range(6):
            self.assertIn(self.content(guided_choice=choices, seed=seed), choices)
        self.refused(CHAT, self.body(guided_choice=[]), "guided_choice")
        self.refused(CHAT, self.body(guided_choice=[3]), "guided_choice")

    def test_gbnf(self):
        grammar = 'root ::= expr\nexpr ::= term ([-+*/] term)*\nterm ::= num | "(" expr ")"\n' \
                  'num ::= [0-9]{1,3}\n'
        ended = 0
        for seed in itertools.takewhile(lambda seed: seed < 3 or ended == 0, range(30)):
            for answer in self.posts(CHAT, [self.body(seed=seed, max_tokens=60, **{field: grammar})
                                            for field in ("grammar", "guided_grammar")]):
                choice = answer["choices"][0]
                text = choice["message"]["content"]
                self.assertTrue(re.fullmatch("[-+*/()0-9]+", text), text)
                if choice["finish_reason"] == "stop":
                    ended += 1
                    self.assertEqual(text.count("("), text.count(")"))
                    compile(text.lstrip("0") or "0", "<answer>", "eval") if "0" not in text else None
        self.assertGreater(ended, 0)
        emoji = 'root ::= ("\U0001f600" | "\u00e4" | [\u0430-\u044f])+ "."'
        text = self.content(None, grammar=emoji, max_tokens=40)
        self.assertTrue(re.fullmatch("[\U0001f600\u00e4\u0430-\u044f\ufffd]*\\.?", text), text)

    def test_bad_gbnf_tells_the_line(self):
        for grammar, line in (('root ::= "a"\nb ::= (', "2"), ('root ::= missing', "1"),
                              ('root ::= "a\n', "1"), ('root ::= "a"\n\n\nx = 3', "4"),
                              ("root ::= [z-a]", "1")):
            error = self.refused(CHAT, self.body(max_tokens=4, grammar=grammar), "line")
            self.assertIn("line " + line, error["message"])
        for grammar in ("", "x ::= \"a\"", "root ::= root", "root ::= root \"a\""):
            reply = self.http.post(CHAT, json=self.body(max_tokens=4, grammar=grammar))
            if "root ::= root \"a\"" == grammar and reply.status_code == 200:
                continue
            self.assertEqual(reply.status_code, 400, grammar + reply.text)

    def test_lark(self):
        text = self.content(structured_outputs={"grammar": 'start: "x" NUM\nNUM: /[0-9]{2}/'})
        self.assertTrue(re.fullmatch("x[0-9]{2}", text), text)
        self.refused(CHAT, self.body(max_tokens=4, guided_grammar='start: missing'), "missing")
        self.refused(CHAT, self.body(max_tokens=4, guided_grammar='start: ('), "Lark")
        reply = self.http.post(CHAT, json=self.body(max_tokens=4,
                                                    guided_grammar='start: %import common.X'))
        self.assertEqual(reply.status_code, 400, reply.text)

    def test_only_one_format(self):
        self.refused(CHAT, self.body(guided_regex="a", grammar='root ::= "a"'), "grammar")
        self.refused(CHAT, self.body(guided_regex="a", response_format={"type": "json_object"}),
                     "guided_regex")

    def test_others_go_on_while_a_large_grammar_compiles(self):
        large = schema_format(properties(**{
            f"n{i}": {"type": "string", "pattern": f"^[a-z]{{1,{20 + i}}}(x|y|z){{0,30}}$"}
            for i in range(200)}))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            slow = [pool.submit(self.http.post, CHAT, json=self.body(
                max_tokens=1, response_format=large)) for _ in range(2)]
            self.chat(max_tokens=2)
            for reply in slow:
                self.assertIn(reply.result().status_code, (200, 400))


if __name__ == "__main__":
    unittest.main()
