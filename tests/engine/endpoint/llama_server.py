"""llama.cpp's own server with nano-base: `python llama_server.py FOLDER PORT`, with xllamacpp and gguf installed."""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import xllamacpp  # type: ignore[import-not-found]
from gguf import GGUFWriter, TokenType  # type: ignore[import-not-found]
from safetensors.numpy import load_file

BLOCK = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""A layer's tensors: how transformers calls them, and llama.cpp."""


def write_gguf(folder: Path, path: Path) -> None:
    """A Qwen3 model with a byte-level tokenizer in llama.cpp's format."""
    config, tokenizer, template = (
        json.loads((folder / name).read_text()) for name in ("config.json", "tokenizer.json", "tokenizer_config.json")
    )
    gguf = GGUFWriter(path, "qwen3")
    gguf.add_context_length(config["max_position_embeddings"])
    gguf.add_embedding_length(config["hidden_size"])
    gguf.add_block_count(config["num_hidden_layers"])
    gguf.add_feed_forward_length(config["intermediate_size"])
    gguf.add_head_count(config["num_attention_heads"])
    gguf.add_head_count_kv(config["num_key_value_heads"])
    gguf.add_key_length(config["head_dim"])
    gguf.add_value_length(config["head_dim"])
    gguf.add_layer_norm_rms_eps(config["rms_norm_eps"])
    gguf.add_rope_freq_base(config["rope_theta"])
    special = {one["id"]: one["content"] for one in tokenizer["added_tokens"]}
    tokens = {number: text for text, number in tokenizer["model"]["vocab"].items()} | special
    gguf.add_tokenizer_model("gpt2")
    gguf.add_tokenizer_pre("default")
    gguf.add_token_list([tokens[number] for number in range(config["vocab_size"])])
    kinds = (TokenType.NORMAL, TokenType.CONTROL)
    gguf.add_token_types([kinds[number in special] for number in range(config["vocab_size"])])
    gguf.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    gguf.add_eos_token_id(config["eos_token_id"])
    gguf.add_add_bos_token(False)
    gguf.add_chat_template(template["chat_template"])
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm"}
    for layer in range(config["num_hidden_layers"]):
        names |= {f"model.layers.{layer}.{theirs}": f"blk.{layer}.{ours}" for theirs, ours in BLOCK.items()}
    for name, tensor in load_file(folder / "model.safetensors").items():
        gguf.add_tensor(f"{names[name.removesuffix('.weight')]}.weight", tensor.astype(np.float32))
    gguf.write_header_to_file()
    gguf.write_kv_data_to_file()
    gguf.write_tensors_to_file()
    gguf.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nano-base.gguf"
        write_gguf(Path(sys.argv[1]), path)
        settings = xllamacpp.CommonParams()
        settings.model.path, settings.port = str(path), int(sys.argv[2])
        settings.n_parallel, settings.n_ctx, settings.cpuparams.n_threads = 2, 1024, 1
        settings.warmup = False
        server = xllamacpp.Server(settings)
        print(server.listening_address, flush=True)
        while True:
            time.sleep(3600)


main()
