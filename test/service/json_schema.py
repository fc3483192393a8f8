"""Whether a value satisfies a JSON schema: a second opinion on what fences enforce."""

import re

TYPES = {"object": dict, "array": list, "string": str, "null": type(None), "boolean": bool}
KNOWN = {"$defs", "$ref", "additionalProperties", "allOf", "anyOf", "const", "description", "enum",
         "items", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "oneOf",
         "pattern", "prefixItems", "properties", "required", "title", "type", "exclusiveMinimum",
         "exclusiveMaximum", "multipleOf", "patternProperties", "default", "definitions"}


def same(a, b):
    return type(a) is type(b) and a == b


def is_type(name, value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "number":
        return number
    if name == "integer":
        return number and float(value).is_integer()
    return isinstance(value, TYPES[name])


def errors(schema, value, root=None, path="$"):
    """All that is wrong with the value, as texts."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        return [] if schema else [path + " must not be"]
    unknown = set(schema) - KNOWN
    assert not unknown, f"the checker of the tests does not know {unknown}"
    wrong = []

    def need(condition, what):
        if not condition:
            wrong.append(f"{path}: {value!r} against {what}")

    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#").strip("/").split("/"):
            target = target[int(part) if isinstance(target, list) else part] if part else target
        wrong += errors(target, value, root, path)
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        need(any(is_type(name, value) for name in names), names)
    if "enum" in schema:
        need(any(same(value, one) for one in schema["enum"]), schema["enum"])
    if "const" in schema:
        need(same(value, schema["const"]), schema["const"])
    for each in schema.get("allOf", []):
        wrong += errors(each, value, root, path)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            right = sum(not errors(each, value, root, path) for each in schema[key])
            need(right == 1 if key == "oneOf" else right > 0, key)
    if isinstance(value, str):
        need(len(value) >= schema.get("minLength", 0), "minLength")
        need(len(value) <= schema.get("maxLength", 1 << 60), "maxLength")
        need("pattern" not in schema or re.search(schema["pattern"], value), schema.get("pattern"))
    if is_type("number", value):
        need(value >= schema.get("minimum", value), "minimum")
        need(value <= schema.get("maximum", value), "maximum")
        need("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"], "minimum")
        need("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"], "maximum")
        need(value % schema.get("multipleOf", value or 1) == 0, "multipleOf")
    if isinstance(value, list):
        need(len(value) >= schema.get("minItems", 0), "minItems")
        need(len(value) <= schema.get("maxItems", 1 << 60), "maxItems")
        prefix = schema.get("prefixItems", [])
        for i, item in enumerate(value):
            part = prefix[i] if i < len(prefix) else schema.get("items", True)
            wrong += errors(part, item, root, f"{path}[{i}]")
    if isinstance(value, dict):
        for name in schema.get("required", []):
            need(name in value, "required " + name)
        for name, member in value.items():
            parts = [schema["properties"][name]] if name in schema.get("properties", {}) else []
            parts += [part for pattern, part in schema.get("patternProperties", {}).items()
                      if re.search(pattern, name)]
            for part in parts or [schema.get("additionalProperties", True)]:
                wrong += errors(part, member, root, f"{path}.{name}")
    return wrong
