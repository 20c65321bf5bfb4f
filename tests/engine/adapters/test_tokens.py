"""Episodes as tokens: what the policy said, what the environment said, and nothing decoded and encoded again."""

from typing import Any

import pytest

import gem
from gem.adapters.tokens import TokenEpisode, follow_up, opening
from gem.errors import EpisodeOver, InvalidArgument
from gem.wrappers.wrapper_factory import get_wrapper_fns

ENV_ID = "game:GuessTheNumber-v0-easy"
END = "<end>"


class Letters:
    """A tokenizer with a token for each character and one that ends a message; its chats are ChatML's."""

    eos_token = END

    def apply_chat_template(
        self, conversation: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        text = "".join(f"<{message['role']}>\n{message['content']}{END}\n" for message in conversation)
        return text + ("<assistant>\n" if add_generation_prompt else "")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        parts = [list(map(ord, part)) for part in text.split(END)]
        return [token for i, part in enumerate(parts) for token in ([0] if i else []) + part]

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> Any:
        end = "" if skip_special_tokens else END
        return "".join(chr(token) if token else end for token in token_ids)


class Forgetful(Letters):
    """A chat template that shows only the last message."""

    def apply_chat_template(
        self, conversation: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        return super().apply_chat_template(
            conversation[-1:], tokenize=tokenize, add_generation_prompt=add_generation_prompt
        )


TOKENIZER = Letters()


def reply(text: str, end: str = END) -> list[int]:
    return TOKENIZER.encode(text + end, add_special_tokens=False)


def episode(max_tokens: int | None = None, **kwargs: Any) -> TokenEpisode:
    made = TokenEpisode(gem.make(ENV_ID, **kwargs), TOKENIZER, max_tokens)
    made.reset(seed=3)
    return made


@pytest.mark.parametrize("env_id", [ENV_ID, "game:Hangman-v0-easy", "dialogue:Retail-v0-easy"])
def test_the_sequence_is_the_chat_that_the_wrapper_concat_chat_writes(env_id: str) -> None:
    [wrapper] = get_wrapper_fns("concat_chat", tokenizer=TOKENIZER)
    chat = wrapper(gem.make(env_id))
    prompt, info = chat.reset(seed=5)
    suffix = info.get("suffix", "")
    tokens = TokenEpisode(gem.make(env_id), TOKENIZER)
    tokens.reset(seed=5)
    over = False
    while not over:
        read = TOKENIZER.decode(tokens.ids, skip_special_tokens=False)
        assert read.replace(suffix, "") == prompt.replace(suffix, "") if suffix else read == prompt
        action = chat.sample_random_action()
        prompt, reward, terminated, truncated, info = chat.step(action)
        suffix = info.get("suffix", "")
        assert tokens.step(reply(action)) == reward
        over = terminated or truncated
        if suffix:
            break  # boards stay in every message here, and only in the last one there
    assert tokens.done == over


def test_the_mask_marks_exactly_the_replies() -> None:
    tokens = episode()
    replies = [reply("\\boxed{9}"), reply("I say \\boxed{1}.")]
    for ids in replies:
        tokens.step(ids)
    said = [token for token, mask in zip(tokens.response_ids, tokens.response_mask, strict=True) if mask]
    assert said == replies[0] + replies[1]
    assert tokens.turn_ends[0] == len(replies[0]) - 1
    assert [tokens.response_ids[end] for end in tokens.turn_ends] == [0, 0]
    assert len(tokens.logprobs) == len(tokens.response_ids)


def test_a_reply_that_was_cut_is_ended_by_the_template() -> None:
    whole, cut = episode(), episode()
    whole.step(reply("\\boxed{9}"))
    cut.step(reply("\\boxed{9}", end=""))
    assert whole.response_ids == cut.response_ids
    assert sum(whole.response_mask) == sum(cut.response_mask) + 1


def test_the_tokens_of_a_reply_are_kept_as_they_were_sampled() -> None:
    """Another encoding of the same text stays that encoding."""

    class Doubling(Letters):
        def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> Any:
            letters = [token - 500_000 if token >= 500_000 else token for token in token_ids]
            return super().decode(letters, skip_special_tokens=skip_special_tokens)

    tokens = TokenEpisode(gem.make(ENV_ID), Doubling())
    tokens.reset(seed=3)
    odd = [token + 500_000 if token else 0 for token in reply("\\boxed{9}")]
    tokens.step(odd)
    assert tokens.response_ids[: len(odd)] == odd
    assert "error" not in tokens.info


def test_log_probabilities_stand_at_the_replies_and_nowhere_else() -> None:
    tokens = episode()
    ids = reply("\\boxed{9}")
    tokens.step(ids, [-1.5] * len(ids))
    assert tokens.logprobs == [-1.5 if mask else 0.0 for mask in tokens.response_mask]
    with pytest.raises(InvalidArgument, match="as many logprobs"):
        tokens.step(ids, [0.0])


def test_it_ends_when_no_room_is_left_for_another_reply() -> None:
    ids = reply("\\boxed{9}")
    tokens = episode(max_tokens=len(ids) + 20)
    tokens.step(ids)
    assert (tokens.done, tokens.out_of_room) == (True, True)
    assert tokens.response_ids == ids
    assert tokens.room == 20


def test_the_reward_is_the_sum_over_the_turns_and_info_says_whether_it_was_solved() -> None:
    tokens = episode()
    guesses = iter(range(1, 11))
    while not tokens.done:
        tokens.step(reply(f"\\boxed{{{next(guesses)}}}"))
    assert tokens.reward == sum(tokens.rewards)
    assert tokens.info["success"] is (tokens.rewards[-1] == 1)
    with pytest.raises(EpisodeOver):
        tokens.step(reply("\\boxed{1}"))


def test_a_reset_begins_anew() -> None:
    tokens = episode()
    tokens.step(reply("no number"))
    assert tokens.done
    assert tokens.reset(seed=3) == tokens.ids
    assert (tokens.rewards, tokens.done) == ([], False)


def test_the_end_of_a_reply_is_not_repeated_in_texts() -> None:
    observation, _, _, _, info = _first_turn()
    rest = follow_up(TOKENIZER, observation, info)
    assert rest.startswith(f"{END}\n<user>\n")
    assert follow_up(TOKENIZER, observation, info, reply=f"\\boxed{{9}}{END}") == rest.removeprefix(END)
    assert opening(TOKENIZER, observation, info).endswith(f"{END}\n<assistant>\n")


def test_what_a_tool_says_has_the_role_of_a_tool() -> None:
    assert follow_up(TOKENIZER, "42", {"use_tool": True}).startswith(f"{END}\n<tool>\n42{END}")


def test_a_template_without_the_history_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="leaves out"):
        follow_up(Forgetful(), "higher", {})


def test_an_environment_with_open_seats_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="opponent"):
        TokenEpisode(gem.make("duel:TicTacToe-v0"), TOKENIZER)
    against = TokenEpisode(gem.make("duel:TicTacToe-v0", opponent="expert"), TOKENIZER)
    assert against.reset(seed=1)


def _first_turn() -> Any:
    env = gem.make(ENV_ID)
    env.reset(seed=3)
    return env.step("\\boxed{9}")
