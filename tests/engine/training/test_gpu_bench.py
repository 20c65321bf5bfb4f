"""`bench.training.gpu` where there is no GPU: it says so, and its code works with a small model."""

import pytest

from bench.training import gpu

torch = pytest.importorskip("torch", reason="training is not installed")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU, which it would measure")
def test_without_a_gpu_it_says_that_it_was_not_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gpu"])
    assert gpu.main() == 0
    assert capsys.readouterr().out == "not run: there is no CUDA device here\n"


def test_a_small_model_goes_the_same_way(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--episodes", "2", "--updates", "2", "--max-tokens", "8"]
    monkeypatch.setattr("sys.argv", ["gpu", "--smoke", *sizes])
    assert gpu.main() == 0
    printed = capsys.readouterr().out
    assert "generation: " in printed
    assert "learning: " in printed


def test_its_large_model_has_the_size_of_qwen3_0_6b() -> None:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    with torch.device("meta"):
        model = Qwen3ForCausalLM(Qwen3Config(**gpu.SIZES, tie_word_embeddings=True))
    assert sum(one.numel() for one in model.parameters()) == pytest.approx(0.596e9, rel=0.01)
