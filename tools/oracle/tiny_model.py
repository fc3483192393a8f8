"""Tiny random models of transformers: how they are built, filled and run."""

import copy

import torch
import transformers

from selection_borders import DoublePrecision, SelectionBorders

FAMILIES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
    "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    "qwen2_moe": (transformers.Qwen2MoeConfig, transformers.Qwen2MoeForCausalLM),
    "qwen3_moe": (transformers.Qwen3MoeConfig, transformers.Qwen3MoeForCausalLM),
    "glm4_moe": (transformers.Glm4MoeConfig, transformers.Glm4MoeForCausalLM),
    "deepseek_v3": (transformers.DeepseekV3Config, transformers.DeepseekV3ForCausalLM),
    "deepseek_v32": (transformers.DeepseekV32Config, transformers.DeepseekV32ForCausalLM),
    "glm_moe_dsa": (transformers.GlmMoeDsaConfig, transformers.GlmMoeDsaForCausalLM),
    "kimi_linear": (transformers.KimiLinearConfig, transformers.KimiLinearForCausalLM),
    "glm5_next": (transformers.Glm5NextConfig, transformers.Glm5NextForConditionalGeneration),
}
# The smallest vision tower that a GLM-5.3-Flash file may have; text never runs it.
TINY_VISION = {"depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 2,
               "patch_size": 2, "image_size": 4, "temporal_patch_size": 1,
               "projection_intermediate_size": 8}
LOGIT_SPREAD = 1.5


def config_of(family, settings):
    config_class, _ = FAMILIES[family]
    settings = copy.deepcopy(settings)
    if family != "glm5_next":
        return config_class(**settings)
    tied = settings.get("tie_word_embeddings", False)
    vision = {**TINY_VISION, "out_hidden_size": settings["hidden_size"]}
    return config_class(text_config=settings, vision_config=vision, tie_word_embeddings=tied)


def build(family, settings):
    config = config_of(family, settings)
    for part in (config, getattr(config, "text_config", config)):
        part._attn_implementation = "eager"
        part._experts_implementation = "eager"
    return FAMILIES[family][1](config).eval()


def named_weights(model):
    """Everything that a checkpoint stores, selection biases too, which are buffers."""
    stored = model.state_dict()
    yield from model.named_parameters()
    for name, buffer in model.named_buffers():
        if name in stored:
            yield name, buffer


def value_of(name, shape, generator):
    """Random values of a spread like a real model's; nothing is left at zeros or ones."""

    def normal(spread):
        return torch.randn(shape, generator=generator) * spread

    kind = name.rsplit(".", 1)[-1]
    if kind.endswith("bias"):
        return normal(0.3)
    if "norm" in name:
        return 1.0 + normal(0.2)
    if kind == "scale":
        return 1.0 + normal(0.3)
    if kind in ("base", "A_log", "index_kpool_compress_ape"):
        return normal(0.5)
    if "conv1d" in name:
        return normal(0.7)
    if "embed_tokens" in name or "lm_head" in name:
        return normal(LOGIT_SPREAD / shape[-1] ** 0.5)
    return normal(1.4 / shape[-1] ** 0.5)


def neutral_value(name):
    """What a weight has when a model does without it, or None where nothing is that."""
    kind = name.rsplit(".", 1)[-1]
    if "visual" in name or name.endswith("k_proj.bias"):
        # Text never sees the first. Softmax cancels most of the second; rope leaves a little of it.
        return None
    if kind.endswith("bias") or kind in ("base", "A_log", "index_kpool_compress_ape",
                                         "index_kpool_compress_gate"):
        return 0.0
    return 1.0 if "norm" in name or kind == "scale" else None


def randomise(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in named_weights(model):
            weight.copy_(value_of(name, weight.shape, generator))


def round_weights(model, dtype):
    with torch.no_grad():
        for _, weight in named_weights(model):
            weight.copy_(weight.to(dtype).to(weight.dtype))


def start_anew(model):
    # Dynamic rope remembers the longest forward until one is shorter than the context.
    inner = getattr(model.model, "language_model", model.model)
    rotary = getattr(inner, "rotary_emb", None)
    if rotary is not None:
        inner.rotary_emb = type(rotary)(model.config)


def logits_of(model, tokens, borders=None):
    """One forward without a cache; a double model runs in double from end to end."""
    start_anew(model)
    is_double = next(model.parameters()).dtype == torch.float64
    with torch.no_grad(), borders or SelectionBorders():
        if is_double:
            with DoublePrecision():
                return model(torch.tensor([tokens]), use_cache=False).logits[0]
        return model(torch.tensor([tokens]), use_cache=False).logits[0]


def append_logits_of(model, tokens):
    """The logits of two forwards on one cache."""
    start_anew(model)
    split = max(1, len(tokens) * 2 // 3)
    with torch.no_grad(), SelectionBorders():
        first = model(torch.tensor([tokens[:split]]), use_cache=True)
        if split == len(tokens):
            return first.logits[0]
        rest = model(torch.tensor([tokens[split:]]), use_cache=True,
                     past_key_values=first.past_key_values)
    return torch.cat([first.logits[0], rest.logits[0]])


def greedy_of(model, prompt, count):
    """The tokens and the smallest distance between the best and the second logit."""
    sequence = list(prompt)
    gap = float("inf")
    for _ in range(count):
        padding = [0] * (len(prompt) + count - len(sequence))
        row = logits_of(model, sequence + padding)[len(sequence) - 1]
        best = torch.topk(row, 2)
        gap = min(gap, (best.values[0] - best.values[1]).item())
        sequence.append(best.indices[0].item())
    return sequence[len(prompt) :], gap
