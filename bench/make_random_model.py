#!/usr/bin/env python3
"""Writes a model with random weights for measuring: GLM-5.2's attention in a GGUF file.

    bench/make_random_model.py sparse.gguf                 # glm-dsa: selects keys
    bench/make_random_model.py dense.gguf --dense          # deepseek2: the same weights, all keys

Experts are Q4_0, other matrices Q8_0, the router and vectors F32. A tensor's values depend on its
name and --seed alone, so the two forms agree. Needs numpy and gguf. The defaults have about 1.1 B
parameters; they keep GLM-5.2's ratios: twice as many heads as index heads, latents of 512 + 64,
index keys of 128.
"""

import argparse
import hashlib

import gguf
import numpy

F32 = gguf.GGMLQuantizationType.F32
Q4_0 = gguf.GGMLQuantizationType.Q4_0
Q8_0 = gguf.GGMLQuantizationType.Q8_0
BLOCK = 32
# Standard deviations of the integers that fill a block.
DEVIATION = {Q4_0: 4.61, Q8_0: 73.9}
DENSE_LAYERS = 1  # that come first


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("path")
    parser.add_argument("--dense", action="store_true", help="deepseek2 without an indexer")
    for name, default in [
        ("layers", 8), ("hidden", 2048), ("vocabulary", 32768), ("context", 1048576),
        ("heads", 32), ("nope", 192), ("rope", 64), ("value", 256), ("latent", 512),
        ("query-rank", 1024), ("index-heads", 16), ("index-width", 128), ("index-top-k", 2048),
        ("intermediate", 6144), ("experts", 64), ("experts-used", 8), ("expert-intermediate", 256),
        ("seed", 1),
    ]:
        parser.add_argument("--" + name, type=int, default=default, help=f"default {default}")
    return parser.parse_args()


def is_full(layer):
    """The published schedule: a selection of its own, or that of a layer before."""
    return max(layer + 1 - 3, 0) % 4 == 0


def quantised(source, shape, encoding, deviation):
    """Random blocks of about the deviation; signs of scales even the mean out."""
    *rows, columns = shape
    assert columns % BLOCK == 0, f"{columns} columns are no multiple of {BLOCK}"
    blocks = columns // BLOCK
    scale = deviation / DEVIATION[encoding]
    scales = source.choice(numpy.array([-scale, scale], numpy.float16), size=(*rows, blocks, 1))
    width = BLOCK // 2 if encoding == Q4_0 else BLOCK
    values = numpy.frombuffer(source.bytes(scales.size * width), numpy.uint8)
    packed = numpy.concatenate([scales.view(numpy.uint8), values.reshape(*rows, blocks, width)], -1)
    return packed.reshape(*rows, -1)


class Writer:
    def __init__(self, options):
        self.seed = options.seed
        name = "deepseek2" if options.dense else "glm-dsa"
        self.file = gguf.GGUFWriter(options.path, name)
        self.parameters = 0

    def matrix(self, name, *shape, encoding=Q8_0, gain=1.0):
        """Gives rows of unit deviation `gain` times that."""
        digest = hashlib.sha256(f"{self.seed} {name}".encode()).digest()
        source = numpy.random.default_rng(int.from_bytes(digest[:8], "little"))
        deviation = gain / shape[-1] ** 0.5
        self.parameters += int(numpy.prod(shape))
        if encoding == F32:
            values = source.standard_normal(shape, numpy.float32) * numpy.float32(deviation)
            self.file.add_tensor(name, values)
        else:
            data = quantised(source, shape, encoding, deviation)
            self.file.add_tensor(name, data, raw_dtype=encoding)

    def vector(self, name, size, value=1.0):
        self.file.add_tensor(name, numpy.full(size, value, numpy.float32))
        self.parameters += size

    def mlp(self, block, suffix, sizes, down_gain, encoding=Q8_0):
        *experts, intermediate, hidden = sizes
        self.matrix(f"{block}ffn_gate{suffix}.weight", *experts, intermediate, hidden,
                    encoding=encoding)
        self.matrix(f"{block}ffn_up{suffix}.weight", *experts, intermediate, hidden,
                    encoding=encoding)
        self.matrix(f"{block}ffn_down{suffix}.weight", *experts, hidden, intermediate,
                    encoding=encoding, gain=down_gain)

    def finish(self):
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


def write_metadata(file, options):
    file.add_vocab_size(options.vocabulary)
    file.add_context_length(options.context)
    file.add_embedding_length(options.hidden)
    file.add_block_count(options.layers)
    file.add_feed_forward_length(options.intermediate)
    file.add_leading_dense_block_count(DENSE_LAYERS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_head_count(options.heads)
    file.add_head_count_kv(1)
    file.add_q_lora_rank(options.query_rank)
    file.add_kv_lora_rank(options.latent)
    file.add_key_length(options.latent + options.rope)
    file.add_value_length(options.latent)
    file.add_key_length_mla(options.nope + options.rope)
    file.add_value_length_mla(options.value)
    file.add_rope_dimension_count(options.rope)
    file.add_rope_freq_base(1e6)
    file.add_expert_count(options.experts)
    file.add_expert_used_count(options.experts_used)
    file.add_expert_feed_forward_length(options.expert_intermediate)
    file.add_expert_shared_count(1)
    file.add_expert_weights_scale(2.5)
    file.add_expert_weights_norm(True)
    file.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    if not options.dense:
        indexer = "glm-dsa.attention.indexer."
        file.add_uint32(indexer + "head_count", options.index_heads)
        file.add_uint32(indexer + "key_length", options.index_width)
        file.add_uint32(indexer + "top_k", options.index_top_k)
        file.add_array(indexer + "types", [is_full(layer) for layer in range(options.layers)])


def write_attention(writer, block, options, gain):
    hidden, rank, heads, latent = options.hidden, options.query_rank, options.heads, options.latent
    writer.matrix(block + "attn_q_a.weight", rank, hidden)
    writer.vector(block + "attn_q_a_norm.weight", rank)
    writer.matrix(block + "attn_q_b.weight", heads * (options.nope + options.rope), rank)
    writer.matrix(block + "attn_kv_a_mqa.weight", latent + options.rope, hidden)
    writer.vector(block + "attn_kv_a_norm.weight", latent)
    writer.matrix(block + "attn_k_b.weight", heads, latent, options.nope,
                  gain=(options.nope / latent) ** 0.5)
    writer.matrix(block + "attn_v_b.weight", heads, options.value, latent)
    writer.matrix(block + "attn_output.weight", hidden, heads * options.value, gain=gain)


def write_indexer(writer, block, options):
    width, heads = options.index_width, options.index_heads
    writer.matrix(block + "indexer.attn_q_b.weight", heads * width, options.query_rank)
    writer.matrix(block + "indexer.attn_k.weight", width, options.hidden)
    writer.vector(block + "indexer.k_norm.weight", width)
    writer.vector(block + "indexer.k_norm.bias", width, 0.0)
    writer.matrix(block + "indexer.proj.weight", heads, options.hidden)


def write_feed_forward(writer, block, layer, options, gain):
    hidden, intermediate = options.hidden, options.expert_intermediate
    if layer < DENSE_LAYERS:
        writer.mlp(block, "", (options.intermediate, hidden), gain)
        return
    writer.matrix(block + "ffn_gate_inp.weight", options.experts, hidden, encoding=F32)
    writer.vector(block + "exp_probs_b.bias", options.experts, 0.0)
    writer.mlp(block, "_exps", (options.experts, intermediate, hidden), gain, Q4_0)
    writer.mlp(block, "_shexp", (intermediate, hidden), gain)


def main():
    options = parse_options()
    writer = Writer(options)
    write_metadata(writer.file, options)
    gain = (2 * options.layers) ** -0.5  # so that the residual stream stays of about unit size
    writer.matrix("token_embd.weight", options.vocabulary, options.hidden,
                  gain=options.hidden ** 0.5)
    for layer in range(options.layers):
        block = f"blk.{layer}."
        writer.vector(block + "attn_norm.weight", options.hidden)
        write_attention(writer, block, options, gain)
        if is_full(layer) and not options.dense:
            write_indexer(writer, block, options)
        writer.vector(block + "ffn_norm.weight", options.hidden)
        write_feed_forward(writer, block, layer, options, gain)
    writer.vector("output_norm.weight", options.hidden)
    writer.matrix("output.weight", options.vocabulary, options.hidden)
    writer.finish()
    print(f"{options.path}: {writer.parameters / 1e6:.0f} M parameters")


if __name__ == "__main__":
    main()
