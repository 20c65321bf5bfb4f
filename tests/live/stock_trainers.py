"""Stock trainers with a tiny model, which report to trackio: `report_to` is the only line about it.

    python stock_trainers.py transformers|trl FOLDER_OF_TRACKIO OUTPUT_FOLDER

trackio is installed in an environment of its own; its folder is the last place where packages are looked for.
"""

# mypy: ignore-errors

import sys

sys.path.append(sys.argv[2])

import torch
from datasets import Dataset

torch.set_num_threads(1)
COMMON = {
    "output_dir": sys.argv[3],
    "run_name": sys.argv[1],
    "report_to": "trackio",
    "logging_steps": 1,
    "max_steps": 3,
    "per_device_train_batch_size": 4,
    "use_cpu": True,
    "save_strategy": "no",
    "disable_tqdm": True,
}


def transformers():
    """Trainer on rows of numbers."""
    from transformers import Qwen3Config, Qwen3ForCausalLM, Trainer, TrainingArguments

    config = Qwen3Config(vocab_size=16, hidden_size=16, intermediate_size=32, num_hidden_layers=1, head_dim=8,
                         num_attention_heads=2, num_key_value_heads=2)  # fmt: skip
    rows = [{"input_ids": [1, 2, 3, 4], "labels": [1, 2, 3, 4]}] * 16
    model = Qwen3ForCausalLM(config)
    Trainer(model=model, args=TrainingArguments(**COMMON), train_dataset=Dataset.from_list(rows)).train()


def trl():
    """GRPO on a prompt, with the share of one letter as the reward."""
    from trl import GRPOConfig, GRPOTrainer

    import gem
    from examples.tiny_model import make_tiny

    model, tokenizer = make_tiny(lambda: gem.make("game:GuessTheNumber-v0-easy", max_number=3, max_turns=2), steps=1)
    data = Dataset.from_dict({"prompt": [[{"role": "user", "content": "Guess."}]] * 16})
    settings = GRPOConfig(**COMMON, num_generations=4, max_completion_length=8, bf16=False)
    GRPOTrainer(
        model=model,
        reward_funcs=[lambda completions, **_: [float(len(str(each))) for each in completions]],
        args=settings,
        train_dataset=data,
        processing_class=tokenizer,
    ).train()


{"transformers": transformers, "trl": trl}[sys.argv[1]]()
