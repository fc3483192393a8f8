"""A Hub-layout folder with random weights, a fixture tokenizer and a chat template."""

import array
import json
import pathlib
import random
import shutil
import struct

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VOCABULARY, HIDDEN, INTERMEDIATE, HEADS, HEAD = 902, 32, 64, 2, 16


def tensors():
    yield "model.embed_tokens.weight", [VOCABULARY, HIDDEN]
    yield "model.norm.weight", [HIDDEN]
    layer = "model.layers.0."
    yield layer + "input_layernorm.weight", [HIDDEN]
    yield layer + "post_attention_layernorm.weight", [HIDDEN]
    for name in "qkvo":
        yield layer + f"self_attn.{name}_proj.weight", [HIDDEN, HIDDEN]
    yield layer + "mlp.gate_proj.weight", [INTERMEDIATE, HIDDEN]
    yield layer + "mlp.up_proj.weight", [INTERMEDIATE, HIDDEN]
    yield layer + "mlp.down_proj.weight", [HIDDEN, INTERMEDIATE]


def write_weights(path, replaced):
    source = random.Random(1)
    header, data = {}, b""
    for name, shape in tensors():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = array.array("f", (source.gauss(0, 0.5) for _ in range(count)))
        for index, value in replaced.get(name, {}).items():
            values[index] = value
        header[name] = {
            "dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * count]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def make(folder, context=256, template=TEMPLATE, generation_config=None, replaced=None):
    folder.mkdir(parents=True)
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCABULARY,
        "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE, "num_hidden_layers": 1,
        "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": HEAD,
        "max_position_embeddings": context, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "hidden_act": "silu", "tie_word_embeddings": True, "eos_token_id": 2, "bos_token_id": 1,
        "torch_dtype": "float32",
    }
    (folder / "config.json").write_text(json.dumps(config))
    shutil.copy(FIXTURES / "text" / "byte_level.tokenizer.json", folder / "tokenizer.json")
    tokenizer = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "add_bos_token": False}
    if template is not None:
        tokenizer["chat_template"] = template
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    if generation_config is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation_config))
    write_weights(folder / "model.safetensors", replaced or {})
    return folder
