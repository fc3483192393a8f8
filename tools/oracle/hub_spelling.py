"""Rewrites a checkpoint that transformers 5 saved into the ways in which other files on the Hub are
written."""

import json

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def read_config(folder):
    return json.loads((folder / "config.json").read_text())


def write_config(folder, config):
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def read_tensors(folder):
    with safe_open(folder / "model.safetensors", "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def write_tensors(folder, tensors):
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()},
              folder / "model.safetensors", metadata={"format": "pt"})


def transformers4(folder):
    """Rope in rope_theta and rope_scaling, layer kinds as counts, routers named as DeepSeek does."""
    config = read_config(folder)
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.57.0"
    rope = config.pop("rope_parameters", None)
    if rope is not None:
        config["rope_theta"] = rope.pop("rope_theta")
        rope.pop("partial_rotary_factor", None)
        kind = rope.pop("rope_type")
        config["rope_scaling"] = None if kind == "default" else {"type": kind, **rope}
    mlp = config.pop("mlp_layer_types", None)
    if mlp is not None:
        config["first_k_dense_replace"] = mlp.index("sparse") if "sparse" in mlp else len(mlp)
    config.pop("layer_types", None)
    if "num_local_experts" in config:
        config["num_experts"] = config.pop("num_local_experts")
    if "n_routed_experts" in config:
        config.update(scoring_func="sigmoid", topk_method="noaux_tc", moe_layer_freq=1)
    write_config(folder, config)


def index_pattern(folder):
    """Owners of an indexer as a pattern of letters."""
    config = read_config(folder)
    kinds = config.pop("indexer_types")
    config["index_topk_pattern"] = "".join({"full": "F", "shared": "S"}[kind] for kind in kinds)
    write_config(folder, config)


def kimi_k2(folder):
    """DeepSeek-V3 under Kimi K2's name."""
    config = read_config(folder)
    config["model_type"] = "kimi_k2"
    write_config(folder, config)


def kimi_hub(folder):
    """Kimi Linear as published: layer lists that count from 1, A_log flat."""
    config = read_config(folder)
    types = config.pop("layer_types")
    numbers = {kind: [layer + 1 for layer, item in enumerate(types) if item == kind]
               for kind in ("linear_attention", "full_attention")}
    config["linear_attn_config"] = {
        "kda_layers": numbers["linear_attention"],
        "full_attn_layers": numbers["full_attention"],
        "head_dim": config.pop("linear_head_dim"),
        "num_heads": config.pop("linear_num_heads"),
        "short_conv_kernel_size": config.pop("linear_conv_kernel_dim"),
    }
    config["first_k_dense_replace"] = config.pop("mlp_layer_types").index("sparse")
    config.update(mla_use_nope=True, moe_layer_freq=1, moe_router_activation_func="sigmoid",
                  use_grouped_topk=True, rope_theta=10000.0, rope_scaling=None,
                  torch_dtype=config.pop("dtype"), num_nextn_predict_layers=0)
    write_config(folder, config)
    tensors = read_tensors(folder)
    write_tensors(folder, {name: tensor.flatten() if name.endswith("A_log") else tensor
                           for name, tensor in tensors.items()})


def fused_experts(folder):
    """The experts of a layer in gate_up_proj [experts, 2 width, hidden] and down_proj."""
    tensors = read_tensors(folder)
    stacks = {}
    for name in [name for name in tensors if ".mlp.experts." in name]:
        prefix, rest = name.split(".mlp.experts.")
        expert, matrix, _ = rest.split(".")
        stacks.setdefault(prefix, {}).setdefault(matrix, {})[int(expert)] = tensors.pop(name)
    for prefix, matrices in stacks.items():
        gate, up, down = (torch.stack([matrices[matrix][i] for i in range(len(matrices[matrix]))])
                          for matrix in ("gate_proj", "up_proj", "down_proj"))
        tensors[f"{prefix}.mlp.experts.gate_up_proj"] = torch.cat([gate, up], dim=1)
        tensors[f"{prefix}.mlp.experts.down_proj"] = down
    write_tensors(folder, tensors)


def no_vision(folder):
    """Text alone."""
    config = read_config(folder)
    config.pop("vision_config")
    write_config(folder, config)
    write_tensors(folder, {name: tensor for name, tensor in read_tensors(folder).items()
                           if ".visual." not in name})


SPELLINGS = {function.__name__: function
             for function in (transformers4, index_pattern, kimi_k2, kimi_hub, fused_experts,
                              no_vision)}
